"""JSON lines and JSON arrays: frames at every cutting, limits, and what is left at the end."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater_codecs.json_array import JsonArrayParser
from headwater_codecs.ndjson import LineParser
from headwater_codecs.neutral import FrameTooLarge
from headwater_codecs.sse import Frame
from helpers import every_split, feed_all


def test_lines() -> None:
    """Lines of every ending; blank ones and a byte order mark are nothing."""
    data = b'\xef\xbb\xbf{"a":1}\r\n\n  \t\n{"b":"\xc3\xa9"} \n{"c"'
    wanted = [Frame(b'{"a":1}'), Frame('{"b":"é"}'.encode()), Frame(b'{"c"', terminated=False)]
    for chunks in every_split(data):
        assert feed_all(LineParser(), chunks) == wanted


def test_a_line_beyond_the_limit() -> None:
    """The good lines before it are returned, the next call raises."""
    parser = LineParser(max_frame=10)
    assert parser.feed(b"1\n" + b"2" * 11 + b"\n3\n") == [Frame(b"1")]
    with pytest.raises(FrameTooLarge):
        parser.feed(b"")
    endless = LineParser(max_frame=10)
    for _ in range(3):
        endless.feed(b"1234")
    assert isinstance(endless.fault, FrameTooLarge)


@pytest.mark.rows("WIRE-16")
def test_array() -> None:
    """Each element as soon as it is whole, with brackets and quotes inside of strings."""
    elements = [b'{"a":"]},{\\"\\\\"}', b"[1,[2]]", b'"x,]"', b"12", b"null", b'{"b":{}}']
    data = b" \n[" + b" ,\r\n ".join(elements) + b"]\n trailing"
    for chunks in every_split(data):
        assert feed_all(JsonArrayParser(), chunks) == [Frame(element) for element in elements]


@pytest.mark.rows("WIRE-16")
def test_array_elements_do_not_wait() -> None:
    """An object is handed over with its last bracket, not with what follows it."""
    parser = JsonArrayParser()
    assert [parser.feed(piece) for piece in (b"[{", b'"a":1', b"}", b",", b'{"b":2}', b"]")] == [
        [],
        [],
        [Frame(b'{"a":1}')],
        [],
        [Frame(b'{"b":2}')],
        [],
    ]


@pytest.mark.parametrize(
    ("data", "frames"), [(b"", []), (b"[]", []), (b'{"a":[1]}', [Frame(b'{"a":[1]}')]), (b'[{"a"', [Frame(b'{"a"', terminated=False)])]
)
def test_array_edges(data: bytes, frames: list[Frame]) -> None:
    """Nothing, an object in place of the array, and an element that was cut."""
    for chunks in every_split(data):
        assert feed_all(JsonArrayParser(), chunks) == frames


def test_an_element_beyond_the_limit() -> None:
    """The good elements before it are returned, the next call raises."""
    parser = JsonArrayParser(max_frame=10)
    assert parser.feed(b'[{"a":1},{"a":"' + b"x" * 20) == [Frame(b'{"a":1}')]
    with pytest.raises(FrameTooLarge):
        parser.feed(b"")


ITEMS = st.text(max_size=6) | st.integers() | st.lists(st.booleans(), max_size=2)


@pytest.mark.rows("WIRE-16")
@settings(max_examples=100)
@given(st.lists(st.dictionaries(st.text(max_size=4), ITEMS, max_size=3), max_size=4), st.integers(1, 9))
def test_any_array(values: list[dict[str, object]], size: int) -> None:
    """Any array of objects, in reads of any size."""
    data = json.dumps(values).encode()
    frames = feed_all(JsonArrayParser(), [data[start : start + size] for start in range(0, len(data), size)])
    assert [json.loads(frame.data) for frame in frames] == values
