"""A call's arguments as an object: what each text comes to, and how."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater_codecs.recovered_json import Recovered, mend_strings, recover_object

EMPTY: dict[str, object] = {}


@pytest.mark.rows("OR-JX-01", "OR-JX-02", "OR-JX-03", "OR-JX-04", "OR-JX-05", "OR-JX-06", "G-42", "ISS-43", "AMB-70")
@pytest.mark.parametrize(
    ("text", "value", "mode"),
    [
        ("", EMPTY, "strict"),
        (" \n", EMPTY, "strict"),
        ("{}", EMPTY, "strict"),
        (' {"a": [1, {"b": null}]} ', {"a": [1, {"b": None}]}, "strict"),
        ('{"n": 123456789012345678901234567890}', {"n": 123456789012345678901234567890}, "strict"),
        ('{"a":1,"a":2}', {"a": 2}, "strict"),
        ('{"a":"\\ud83d"}', {"a": "\ufffd"}, "strict"),
        # not an object
        ("[1]", EMPTY, "invalid"),
        ("null", EMPTY, "invalid"),
        ("1", EMPTY, "invalid"),
        ('"{}"', EMPTY, "invalid"),
        ("[1", EMPTY, "invalid"),
        ("call f", EMPTY, "invalid"),
        # what models do inside of strings
        ('{"a":"x\\q"}', {"a": "x\\q"}, "repaired"),
        ('{"p":"C:\\dir\\temp"}', {"p": "C:\\dir\temp"}, "repaired"),
        ('{"a":"one\ntwo\tthree\x00"}', {"a": "one\ntwo\tthree\x00"}, "repaired"),
        ('{"a":"é\\d🚀\n"}', {"a": "é\\d🚀\n"}, "repaired"),
        ('{"a":"x\\\n"}', {"a": "x\\\n"}, "repaired"),
        ('{"a\\q":1}', {"a\\q": 1}, "repaired"),
        # cut
        ("{", EMPTY, "partial"),
        ('{"a', EMPTY, "partial"),
        ('{"a"', EMPTY, "partial"),
        ('{"a":', EMPTY, "partial"),
        ('{"a":1,', {"a": 1}, "partial"),
        ('{"a":1,"b', {"a": 1}, "partial"),
        ('{"a":"hel', {"a": "hel"}, "partial"),
        ('{"a":"hel\\', {"a": "hel"}, "partial"),
        ('{"a":"hel\\\\', {"a": "hel\\"}, "partial"),
        ('{"a":[1,2', {"a": [1, 2]}, "partial"),
        ('{"a":[{"b":"c"', {"a": [{"b": "c"}]}, "partial"),
        ('{"a":12', {"a": 12}, "partial"),
        ('{"a":1.', EMPTY, "partial"),
        ('{"a":1e', EMPTY, "partial"),
        ('{"a":-', EMPTY, "partial"),
        ('{"a":true', {"a": True}, "partial"),
        ('{"a":tru', EMPTY, "partial"),
        ('{"a":"x\\q', {"a": "x\\q"}, "partial"),
        ('{"a":"x\ny', {"a": "x\ny"}, "partial"),
        # something behind it, or in between
        ('{"a":1} and more', {"a": 1}, "partial"),
        ('{"a":1}{"a":2}', {"a": 1}, "partial"),
        ('{"a":1}}', {"a": 1}, "partial"),
        ('{"a":1, b', {"a": 1}, "partial"),
        ('{"a":NaN}', EMPTY, "partial"),
        # an escape without its digits says nothing
        ('{"a":"x\\u12', EMPTY, "invalid"),
        ('{"a":"x\\u12g4"}', EMPTY, "invalid"),
    ],
)
def test_recover_object(text: str, value: dict[str, object], mode: str) -> None:
    """The value and the mode."""
    assert recover_object(text) == Recovered(value, mode)


@pytest.mark.rows("OR-JX-02")
def test_mend_strings() -> None:
    """Only what is wrong and only inside of strings; a lone backslash at the end is doubled."""
    assert mend_strings('{"a": "\\n\\u00e9\\"\\d",\n"b\x01": "\x08\x0c\r"}') == '{"a": "\\n\\u00e9\\"\\\\d",\n"b\\u0001": "\\b\\f\\r"}'
    assert mend_strings('{"a": "x\\') == '{"a": "x\\\\'
    assert mend_strings("\n\\d\t") == "\n\\d\t"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10
)


@settings(max_examples=150)
@given(st.dictionaries(st.text(), VALUES), st.integers(0), st.booleans())
@pytest.mark.rows("OR-JX-01", "OR-JX-03")
def test_a_prefix_is_never_taken_for_the_whole(value: dict[str, object], length: int, ascii_only: bool) -> None:
    """The whole text is strict; one that misses its end is partial, or invalid where it is cut inside of an escape."""
    text = json.dumps(value, ensure_ascii=ascii_only)
    assert recover_object(text) == Recovered(value, "strict")
    cut = text[: 1 + length % max(len(text) - 1, 1)][: len(text) - 1]
    assert recover_object(cut).mode in ("partial", "invalid")


@settings(max_examples=150)
@given(st.text(alphabet='{}[]":,\\u01dq \n\ud83d'))
@pytest.mark.rows("OR-JX-01")
def test_never_raises_and_can_be_written(text: str) -> None:
    """Any text has a value that is JSON again."""
    json.dumps(recover_object(text).value).encode()
    json.dumps(recover_object("{" + text).value, ensure_ascii=False).encode()


@pytest.mark.rows("OR-JX-01")
def test_deep_nesting() -> None:
    """Depth is no reason to raise, and nothing is cut off silently: what is too deep is nothing."""
    assert recover_object('{"a":' * 100_000) == recover_object('{"a":' * 101 + "1" + "}" * 101) == Recovered({}, "invalid")
    assert recover_object('{"a":' * 100 + "1" + "}" * 100).mode == "strict"
    assert recover_object('{"a":' * 99 + "[1").mode == "partial"
