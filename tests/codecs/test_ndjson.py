"""LineParser where bodies are odd: endings, marks, limits, and one document in place of lines."""

from __future__ import annotations

import json

import pytest

from headwater_codecs.ndjson import LineParser
from headwater_codecs.neutral import FrameTooLarge
from headwater_codecs.sse import Frame
from helpers import every_split, feed_all

CASES: dict[str, tuple[bytes, list[Frame]]] = {
    "nothing": (b"", []),
    "blank lines only": (b"\n\r\n \t\n", []),
    "CRLF, blank lines, and a mark": (b'\xef\xbb\xbf\r\n\n{"a":1}\r\n  \n{"b":2} \r\n', [Frame(b'{"a":1}'), Frame(b'{"b":2}')]),
    "a mark later is not one": (b"1\n\xef\xbb\xbf2\n", [Frame(b"1"), Frame(b"\xef\xbb\xbf2")]),
    "no LF at the end": (b"1\n2", [Frame(b"1"), Frame(b"2", terminated=False)]),
    "a CR at the end": (b"1\n2\r", [Frame(b"1"), Frame(b"2", terminated=False)]),
    "cut in a character": (b'{"a":1}\n{"a":"\xc3', [Frame(b'{"a":1}'), Frame(b'{"a":"\xc3', terminated=False)]),
    "only LF ends a line": ("1\u2028\u0085\x0b2\n".encode(), [Frame("1\u2028\u0085\x0b2".encode())]),
    "what is no JSON is handed over": (b"oops\n1\n", [Frame(b"oops"), Frame(b"1")]),
    "a document over lines": (b'{\n "a": 1\n}\n', [Frame(b'{\n "a": 1\n}', terminated=False)]),
    "one with CRLF behind a mark": (b'\xef\xbb\xbf\r\n{"a": [\r\n1]}\r\n', [Frame(b'{"a": [\r\n1]}', terminated=False)]),
    "one that was cut": (b'[ \n{"a": 1},\n', [Frame(b'[ \n{"a": 1},', terminated=False)]),
    "a line in the middle that does not end": (b'1\n{\n"a":1}\n', [Frame(b"1"), Frame(b"{"), Frame(b'"a":1}')]),
}


@pytest.mark.parametrize("name", CASES)
def test_lines_at_every_cutting(name: str) -> None:
    """The frames do not depend on the reads."""
    data, frames = CASES[name]
    for chunks in every_split(data):
        assert feed_all(LineParser(), chunks) == frames


def test_a_line_does_not_wait_for_the_next() -> None:
    """It is handed over with its LF."""
    parser = LineParser()
    assert [parser.feed(piece) for piece in (b'{"a"', b":1}", b"\n", b"{}\n{")] == [[], [], [Frame(b'{"a":1}')], [Frame(b"{}")]]


@pytest.mark.parametrize("data", [b"1\n" + b"2" * 11 + b"\n3\n", b"1\n" + b"2" * 11])
def test_a_line_over_the_limit_at_every_cutting(data: bytes) -> None:
    """The good lines before it come, whole; then the fault stands, and is raised by whatever is called next."""
    for chunks in every_split(data):
        parser = LineParser(max_frame=10)
        frames: list[Frame] = []
        for chunk in chunks:
            if parser.fault is None:
                frames += parser.feed(chunk)
        assert frames == [Frame(b"1")]
        for call in (lambda parser=parser: parser.feed(b""), parser.finish):
            with pytest.raises(FrameTooLarge, match="10 bytes"):
                call()


def test_a_line_of_just_the_limit() -> None:
    """The limit is in bytes, without the LF."""
    for chunks in every_split(b"1234567890\n"):
        assert feed_all(LineParser(max_frame=10), chunks) == [Frame(b"1234567890")]


def test_a_document_over_the_limit() -> None:
    """A document is bounded as a whole, however short its lines are."""
    parser = LineParser(max_frame=20)
    assert parser.feed(b"{\n") == []
    assert parser.feed(b'"a":1,\n' * 3) == []
    assert isinstance(parser.fault, FrameTooLarge)


def test_a_printed_document_is_what_it_was() -> None:
    """Whatever is in it, at every cutting."""
    value = {"a": [{"b": "{\n"}, []], "c": {"d": "é"}}
    for chunks in every_split(json.dumps(value, indent=1, ensure_ascii=False).encode()):
        (frame,) = feed_all(LineParser(), chunks)
        assert (json.loads(frame.data), frame.terminated) == (value, False)
