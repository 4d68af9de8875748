"""JSON as some servers write it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater_codecs.tolerant_json import decode, encode_json, has_surrogates, join_surrogates

DECODED: dict[bytes, object] = {
    b'{"a": [1, 2.5, true, null]}': {"a": [1, 2.5, True, None]},
    b'{"a":"x\xffy"}': {"a": "x\ufffdy"},
    b'{"a":"\xe2\x82"}': {"a": "\ufffd"},
    b'{"a":"\\ud83d"}': {"a": "\ud83d"},
    b'{"a":"\\ud83d\\ude80"}': {"a": "🚀"},
    b'{"a":NaN,"b":Infinity,"c":-Infinity,"d":1e999}': {"a": None, "b": None, "c": None, "d": None},
    b'{"a":"line\nnext\ttab"}': {"a": "line\nnext\ttab"},
    b' "text" ': "text",
}


@pytest.mark.parametrize("data", DECODED)
def test_decode(data: bytes) -> None:
    """Bad bytes, lone surrogates, what is no number, raw control characters: each has a value."""
    assert decode(data) == DECODED[data]


@pytest.mark.parametrize("data", [b"", b"{", b"error: engine died", b'{"a":1} {"b":2}', b"\xef\xbb\xbf{}", b"[" * 100_000, b"9" * 5000])
def test_no_json_at_all(data: bytes) -> None:
    """What is no JSON, or cannot be held, is a ValueError and nothing else."""
    with pytest.raises(ValueError):
        decode(data)


JOINED = {
    ("", "plain"): ("plain", ""),
    ("", ""): ("", ""),
    ("", "a\ud83d"): ("a", "\ud83d"),
    ("\ud83d", "\ude80b"): ("🚀b", ""),
    ("\ud83d", "b"): ("\ufffdb", ""),
    ("\ud83d", ""): ("", "\ud83d"),
    ("\ud83d", "\ud83d"): ("\ufffd", "\ud83d"),
    ("", "\ude80b"): ("\ufffdb", ""),
    ("", "a\ud83d\ude80"): ("a🚀", ""),
    ("", "\ude80\ud83d"): ("\ufffd", "\ud83d"),
    ("", "🚀"): ("🚀", ""),
}


@pytest.mark.parametrize("given_pieces", JOINED)
def test_join_surrogates(given_pieces: tuple[str, str]) -> None:
    """A pair cut between two pieces is joined, a half at the end is held, a half without a partner is replaced."""
    assert join_surrogates(*given_pieces) == JOINED[given_pieces]


@given(st.lists(st.text(alphabet="a🚀\ud83d\ude80", max_size=4), max_size=6))
def test_join_surrogates_at_any_cutting(pieces: list[str]) -> None:
    """The pieces joined one by one are the text joined whole, and can be encoded at every step."""
    held, out = "", ""
    for piece in pieces:
        text, held = join_surrogates(held, piece)
        text.encode()
        out += text
    whole, rest = join_surrogates("", "".join(pieces))
    assert (out, held) == (whole, rest)


def test_has_surrogates() -> None:
    """Only halves of pairs count, not the characters that they make."""
    assert [has_surrogates(text) for text in ("", "abc", "é🚀", "a\ud83d", "\ude80", "\ud83d\ude80")] == [False, False, False, True, True, True]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"a": ["x", 1]}, b'{"a":["x",1]}'),
        ({"a": "\ud83d"}, '{"a":"\ufffd"}'.encode()),
        ({"\ud83d": {"\udc00": 1}}, '{"\ufffd":{"\ufffd":1}}'.encode()),
        ({"\ud83d\ude80": 1}, '{"🚀":1}'.encode()),
    ],
)
def test_encode(value: object, written: bytes) -> None:
    """Whatever was decoded can be written again, names too."""
    assert encode_json(value) == written


def test_encode_what_is_too_deep() -> None:
    """It is null."""
    value: object = "\ud800"
    for _ in range(100_000):
        value = [value]
    assert encode_json(value) == b"null"
