"""The display view of unfinished JSON: never false, never going back, never quadratic."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater_codecs.partial_json import PartialJson
from helpers import count_calls

OPEN: dict[str, object] = {
    "": None,
    "  ": None,
    "{": {},
    '{"': {},
    '{"a': {},
    '{"a"': {},
    '{"a":': {},
    '{"a":1': {},
    '{"a":12.': {},
    '{"a":tru': {},
    '{"a":true': {},
    '{"a":true ': {"a": True},
    '{"a":1,': {"a": 1},
    '{"a":1}': {"a": 1},
    '{"a":"': {"a": ""},
    '{"a":"hel': {"a": "hel"},
    '{"a":"hel\\': {"a": "hel"},
    '{"a":"hel\\u00e': {"a": "hel"},
    '{"a":"hel\\u00e9': {"a": "helé"},
    '{"a":"\\ud83d': {"a": ""},
    '{"a":"\\ud83d\\ude8': {"a": ""},
    '{"a":"\\ud83d\\ude80': {"a": "🚀"},
    '{"a":"\\ud83dx': {"a": "\ud83dx"},
    '{"a":[1,2': {"a": [1]},
    '{"a":[1,2 ': {"a": [1, 2]},
    '{"a":[[],{"b":': {"a": [[], {}]},
    "[-1.5e3,null,false,": [-1500.0, None, False],
    '"te': "te",
}
BROKEN: dict[str, object] = {
    '{"a":1} x': {"a": 1},
    '{"a":1}}': {"a": 1},
    '{"a":1,}': {"a": 1},
    "[1,]": [1],
    '[1 2, "b"]': [1],
    '{"a":01}': {},
    '{"a":1.}': {},
    '{"a":+1}': {},
    '{"a":NaN}': {},
    '{"a":truth}': {},
    '{"a":"x\\q"}': {"a": "x"},
    '{"a":"x\\u12g4"}': {"a": "x"},
    '{"a":"x\ny"}': {"a": "x"},
    '{"a" 1}': {},
    "{a:1}": {},
    "{'a':1}": {},
    "{1:2}": {},
    "]": None,
    "[1}": [1],
    '{"a":1]': {"a": 1},
    "[" + "9" * 5000 + "]": [],
}


def view(text: str, size: int | None = None) -> PartialJson:
    """A view that was fed the text in pieces of `size` characters."""
    partial = PartialJson()
    size = size or max(len(text), 1)
    for start in range(0, len(text), size):
        partial.feed(text[start : start + size])
    return partial


@pytest.mark.parametrize("text", OPEN)
def test_open(text: str) -> None:
    """Only what is certain is shown, at any cutting."""
    for size in (None, 1, 2, 3):
        partial = view(text, size)
        assert partial.value == OPEN[text]
        assert partial.complete is (text == '{"a":1}')


@pytest.mark.parametrize("text", BROKEN)
def test_broken(text: str) -> None:
    """What breaks the grammar ends the view at the longest good prefix; later fragments change nothing."""
    for size in (None, 1):
        partial = view(text, size)
        for later in ("", '"', "}", '{"b":2}'):
            partial.feed(later)
            partial.finish()
            assert partial.value == BROKEN[text]
            assert not partial.complete


def test_field_fault_of_numbers_shown_early() -> None:
    """12 is never shown as 1, and a list does not lose its last element again."""
    partial = PartialJson()
    seen = []
    for fragment in ('{"n": 1', '2, "l": [1, 2', ', 3], "s": "al', 'ice"}'):
        partial.feed(fragment)
        seen.append(json.loads(json.dumps(partial.value)))
    assert seen == [{}, {"n": 12, "l": [1]}, {"n": 12, "l": [1, 2, 3], "s": "al"}, {"n": 12, "l": [1, 2, 3], "s": "alice"}]
    assert partial.complete


def test_number_at_the_top_needs_the_end() -> None:
    """A number without a container around it is certain when the text has ended, and not before."""
    partial = view("-12")
    assert (partial.value, partial.complete) == (None, False)
    partial.finish()
    assert (partial.value, partial.complete) == (-12, True)


def test_finish_does_not_complete_what_is_open() -> None:
    """Ending the text closes nothing inside a container."""
    for text in ('{"a":1', '{"a":"b', "[true", '"a'):
        partial = view(text)
        before = partial.value
        partial.finish()
        assert (partial.value, partial.complete) == (before, False)


def test_looking_changes_nothing() -> None:
    """A view that is looked at after each character ends like one that is not."""
    text = '{"a":["x\\n\\ud83d\\ude80y",{"b":-0.5}],"c":null}'
    partial = PartialJson()
    for character in text:
        partial.feed(character)
        partial.value  # noqa: B018  # the look itself is what is tested
    assert partial.value == view(text).value == json.loads(text)


def test_deep_nesting() -> None:
    """Depth is bounded by nothing of ours: no recursion."""
    partial = view("[" * 100_000 + "]" * 100_000)
    assert partial.complete


def test_work_is_linear() -> None:
    """Ten times the characters, looked at one by one, are ten times the work: each look at a long string handles new pieces only."""
    assert work(20_000) <= 10 * work(2_000) + 100

    partial = PartialJson()
    partial.feed('{"content":"')
    for _ in range(100):
        partial.feed("x")
        assert partial.value is not None
        assert partial._pieces == []  # what was looked at is in the value and is not joined again


def work(length: int) -> int:
    """How many functions run while an argument of that many characters is fed and looked at one by one."""
    partial = PartialJson()
    partial.feed('{"content":"')

    def feed() -> None:
        for _ in range(length):
            partial.feed("x")
            partial.value  # noqa: B018  # the look itself is what is measured

    return count_calls(feed)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def contains(later: object, earlier: object) -> bool:
    """Whether nothing of the earlier view is gone in the later one: strings may have grown, containers too."""
    if isinstance(earlier, str):
        return isinstance(later, str) and later.startswith(earlier)
    if isinstance(earlier, list):
        return isinstance(later, list) and len(later) >= len(earlier) and all(map(contains, later, earlier))
    if isinstance(earlier, dict):
        return isinstance(later, dict) and all(key in later and contains(later[key], value) for key, value in earlier.items())
    return type(later) is type(earlier) and later == earlier


def copied(value: object) -> object:
    """The value at this moment."""
    if isinstance(value, list):
        return [copied(item) for item in value]
    return {key: copied(item) for key, item in value.items()} if isinstance(value, dict) else value


@settings(max_examples=150)
@given(VALUES, st.booleans(), st.integers(1, 5), st.sampled_from([None, 1]))
def test_ends_as_a_strict_parser_and_never_goes_back(value: object, ascii_only: bool, size: int, indent: int | None) -> None:
    """For any JSON at any cutting: no value disappears on the way, and the last view is what json.loads gives."""
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    partial = PartialJson()
    before: object = None
    for start in range(0, len(text), size):
        partial.feed(text[start : start + size])
        now = copied(partial.value)
        assert before is None or contains(now, before)
        before = now
    partial.finish()
    assert partial.complete
    assert partial.value == json.loads(text)


@settings(max_examples=200)
@given(st.text(alphabet='{}[]":,\\u0123abtrue nlfs-+.eE\n'), st.integers(1, 3))
def test_never_raises_and_agrees_with_a_strict_parser_on_what_is_whole(text: str, size: int) -> None:
    """Any text at all: no exception, and complete exactly when a strict parser takes it."""
    partial = view(text, size)
    partial.finish()
    try:
        value = json.loads(text)
    except ValueError:
        assert not partial.complete
    else:
        assert partial.complete
        assert partial.value == value
