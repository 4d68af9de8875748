"""The event-stream parser against the standard's rules, at every cutting."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater_codecs.neutral import FrameTooLarge
from headwater_codecs.sse import MAX_UNFRAMED, Frame, SSEParser
from helpers import every_split, feed_all, with_rows

CASES: dict[str, tuple[bytes, list[Frame]]] = {
    "one frame": (b"data: a\n\n", [Frame(b"a")]),
    "many frames": (b"data: a\n\ndata: b\n\ndata: c\n\n", [Frame(b"a"), Frame(b"b"), Frame(b"c")]),
    "no space after the colon": (b"data:a\n\n", [Frame(b"a")]),
    "one space is dropped, the next is data": (b"data:  a\n\n", [Frame(b" a")]),
    "several data lines are joined by LF": (b"data: a\ndata:\ndata: b\n\n", [Frame(b"a\n\nb")]),
    "field without a colon": (b"data\ndata\n\n", [Frame(b"\n")]),
    "empty data is left out": (b"data:\n\ndata: \n\ndata\n\nevent: x\n\n", []),
    "event type, after the data too": (b"data: 1\nevent: x\n\n", [Frame(b"1", "x")]),
    "event and data in one line each": (
        b"event: x\ndata: 1\n\nid: 5\n\nevent:  y\ndata:  2\n\nevent: \ndata: 3\n\n",
        [Frame(b"1", "x"), Frame(b" 2", " y", "5"), Frame(b"3", id="5")],
    ),
    "last event type counts": (b"event: a\nevent: b\ndata: 1\n\n", [Frame(b"1", "b")]),
    "event type ends with its frame": (b"event: a\ndata: 1\n\ndata: 2\n\n", [Frame(b"1", "a"), Frame(b"2")]),
    "event type of a frame without data": (b"event: a\n\ndata: 2\n\n", [Frame(b"2")]),
    "id stays": (b"id: 7\ndata: a\n\ndata: b\n\n", [Frame(b"a", id="7"), Frame(b"b", id="7")]),
    "id of a frame without data": (b"id: 7\n\ndata: b\n\n", [Frame(b"b", id="7")]),
    "id is emptied": (b"id: 7\ndata: a\n\nid\ndata: b\n\n", [Frame(b"a", id="7"), Frame(b"b")]),
    "id with NUL is ignored": (b"id: 7\ndata: a\n\nid: 8\x009\ndata: b\n\n", [Frame(b"a", id="7"), Frame(b"b", id="7")]),
    "retry": (b"retry: 1500\ndata: a\n\ndata: b\n\n", [Frame(b"a", retry=1500), Frame(b"b")]),
    "retry that is no number": (b"retry: 15s\ndata: a\n\nretry:\ndata: b\n\nretry: -1\ndata: c\n\n", [Frame(b"a"), Frame(b"b"), Frame(b"c")]),
    "retry with thousands of digits": (b"retry: " + b"9" * 5000 + b"\ndata: a\n\n", [Frame(b"a")]),
    "comments": (b": hi\n\n:\n\n:data: no\ndata: a\n: in between\ndata: b\n\n", [Frame(b"a\nb")]),
    "unknown fields": (b"dat: a\nDATA: b\n data: c\ndata : d\ndata: e\n\n", [Frame(b"e")]),
    "colon in the value": (b"data: a: b\n\n", [Frame(b"a: b")]),
    "CRLF": (b"data: a\r\n\r\ndata: b\r\ndata: c\r\n\r\n", [Frame(b"a"), Frame(b"b\nc")]),
    "CR": (b"data: a\r\rdata: b\rdata: c\r\r", [Frame(b"a"), Frame(b"b\nc")]),
    "LF then CRLF": (b"data: a\n\r\ndata: b\r\n\n", [Frame(b"a"), Frame(b"b")]),
    "LF then CR": (b"data: a\n\rdata: b\r\ndata: c\n\r", [Frame(b"a"), Frame(b"b\nc")]),
    "LF CR LF is one line end and a blank line": (b"data: a\n\r\ndata: b\n\n", [Frame(b"a"), Frame(b"b")]),
    "blank lines before, between and after": (b"\n\n\r\n\rdata: a\n\n\n\n\ndata: b\n\n\n", [Frame(b"a"), Frame(b"b")]),
    "byte order mark": (b"\xef\xbb\xbfdata: a\n\n", [Frame(b"a")]),
    "two byte order marks": (b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\ndata: b\n\n", [Frame(b"b")]),
    "byte order mark further on is data": (b"data: \xef\xbb\xbfa\n\n\xef\xbb\xbfdata: b\n\n", [Frame(b"\xef\xbb\xbfa")]),
    "half a byte order mark": (b"\xef\xbbdata: a\n\ndata: b\n\n", [Frame(b"b")]),
    "line separators of Unicode are data": ("data: a\u2028b\u0085c\x0bd\n\n".encode(), [Frame("a\u2028b\u0085c\x0bd".encode())]),
    "bytes that are not UTF-8": (b"data: \xff\nevent: \xff\n\n", [Frame(b"\xff", "\ufffd")]),
    "last frame without its blank line": (b"data: a\n\ndata: b\n", [Frame(b"a"), Frame(b"b", terminated=False)]),
    "last frame cut in its line": (b"data: a\n\nevent: x\nid: 1\ndata: b", [Frame(b"a"), Frame(b"b", "x", "1", terminated=False)]),
    "last line cut in its name": (b"data: a\n\ndat", [Frame(b"a")]),
    "nothing": (b"", []),
    "half a byte order mark and the end": (b"\xef\xbb", []),
    "bare JSON error": (b'data: a\n\n{"error":{"code":500}}\n', [Frame(b"a"), Frame(b'{"error":{"code":500}}', "error")]),
    "bare JSON error without a line end": (b'data: a\n\n{"error":1}', [Frame(b"a"), Frame(b'{"error":1}', "error")]),
    "bare JSON error over lines": (b'data: a\n\n{\n  "error": {\n\n  }\n}\n', [Frame(b"a")]),
    "bare JSON error over lines, not empty": (
        b'data: a\n\n{\n  "error": {\n    "code": 1\n  }\n}\ndata: b\n\n',
        [Frame(b"a"), Frame(b'{\n  "error": {\n    "code": 1\n  }\n}', "error"), Frame(b"b")],
    ),
    "bare JSON error after an open frame": (b'data: a\n{"error":1}\n\n', [Frame(b"a"), Frame(b'{"error":1}', "error")]),
    "bare JSON error whose first line looks whole": (
        b': hi\n{"a":{},"b":{}\n,"error":2\n}\n',
        [Frame(b'{"a":{},"b":{}\n,"error":2\n}', "error")],
    ),
    "bare JSON without an error": (b'data: a\n\n{"ok":1}\n{"error":null}\ndata: b\n\n', [Frame(b"a"), Frame(b"b")]),
    "bare JSON that never ends": (b'data: a\n\n{"error":\n{\n}\n{"x":1\ndata: b\n\n', [Frame(b"a"), Frame(b"b")]),
    "bare JSON error as the whole body": (b'{"error":1}\n', [Frame(b'{"error":1}', "error")]),
}


ROWS = {
    "one space is dropped, the next is data": "WIRE-03",
    "field without a colon": "WIRE-03",
    "unknown fields": "WIRE-03",
    "several data lines are joined by LF": "WIRE-05 ISS-52",
    "event type ends with its frame": "WIRE-05",
    "empty data is left out": "WIRE-06 ISS-52",
    "event type of a frame without data": "WIRE-06",
    "comments": "WIRE-04 OR-TR-01 ISS-37",
    "CRLF": "WIRE-02 ISS-52",
    "CR": "WIRE-02",
    "LF then CRLF": "WIRE-02",
    "byte order mark": "WIRE-02",
    "last frame without its blank line": "WIRE-07 OR-TR-02 AMB-60",
    "last frame cut in its line": "WIRE-07 AMB-60",
    "id stays": "WIRE-08",
    "id with NUL is ignored": "WIRE-08",
    "retry": "WIRE-08",
    "bytes that are not UTF-8": "WIRE-19",
}


@pytest.mark.parametrize("name", with_rows({name: name for name in CASES}, ROWS))
def test_rule(name: str) -> None:
    """Each rule gives its frames, wherever the bytes are cut."""
    data, expected = CASES[name]
    for chunks in every_split(data, two_way=len(data) < 2000):
        assert feed_all(SSEParser(), chunks) == expected


def test_frame_is_given_at_its_last_byte() -> None:
    """A frame comes out with the byte that ends its blank line, CR included, and not one read later."""
    for end in (b"\n\n", b"\r\r", b"\r\n\r", b"\n\r"):
        parser = SSEParser()
        assert parser.feed(b"data: a" + end[:-1]) == []
        assert parser.feed(end[-1:]) == [Frame(b"a")]
        assert parser.feed(b"\ndata: b\n\n") == [Frame(b"b")]


def test_bare_error_is_given_at_once_in_an_event_stream_only() -> None:
    """In a stream that has begun an error counts when its line ends; a body that is one JSON document waits for its end."""
    begun = SSEParser()
    assert begun.feed(b': ping\n\n{"error":1}\n') == [Frame(b'{"error":1}', "error")]
    document = SSEParser()
    assert document.feed(b'{"error":1}\n\n') == []
    assert document.finish() == [Frame(b'{"error":1}', "error")]


def test_unframed_lines_are_bounded() -> None:
    """Lines that are no fields are kept up to a limit; a stream of them costs no more, and frames go on."""
    parser = SSEParser()
    parser.feed(b"data: a\n\n{\n")
    line = b'"x": "' + b"y" * 1000 + b'",\n'
    for _ in range(200):
        assert parser.feed(line) == []
    assert parser._unframed_size <= MAX_UNFRAMED
    assert parser.feed(b"data: b\n\n") == [Frame(b"b")]


def test_finish_twice() -> None:
    """Ending twice gives nothing twice."""
    parser = SSEParser()
    parser.feed(b"\xef\xbbdata: a")
    assert parser.finish() == []
    assert parser.finish() == []


LIMITED: dict[str, tuple[bytes, list[Frame], bool]] = {
    "fits exactly": (b"data: 0123456789\n\ndata: a\n\n", [Frame(b"0123456789"), Frame(b"a")], False),
    "one byte more": (b"data: a\n\ndata: 01234567890\n\ndata: b\n\n", [Frame(b"a")], True),
    "endless line": (b"data: a\n\n" + b"x" * 40, [Frame(b"a")], True),
    "endless comment": (b"data: a\n\n:" + b"x" * 40 + b"\n\n", [Frame(b"a")], True),
    "many data lines": (b"data: a\n\n" + b"data: b\n" * 9 + b"\n", [Frame(b"a")], True),
    "few data lines": (b"data: a\n\n" + b"data: b\n" * 4 + b"\n", [Frame(b"a"), Frame(b"b\nb\nb\nb")], False),
    "many comments": (b"data: a\n" + b": b\n" * 20 + b"\n", [Frame(b"a")], False),
}


@pytest.mark.rows("WIRE-09")
@pytest.mark.parametrize("name", LIMITED)
def test_frame_limit(name: str) -> None:
    """The good frames before one that is too large are given, the next call raises, and the cutting changes nothing."""
    data, expected, too_large = LIMITED[name]
    for chunks in every_split(data):
        parser = SSEParser(max_frame=16)
        frames: list[Frame] = []
        for chunk in chunks:
            if parser.fault is not None:
                break
            frames += parser.feed(chunk)
        if not too_large:
            assert frames + parser.finish() == expected
            continue
        assert frames == expected
        assert isinstance(parser.fault, FrameTooLarge)
        assert parser.fault.info.message == "a frame passed the limit of 16 bytes: raise max_frame if this is expected"
        with pytest.raises(FrameTooLarge):
            parser.feed(b"data: b\n\n")
        with pytest.raises(FrameTooLarge):
            parser.finish()


def test_long_line_is_copied_once() -> None:
    """A long line in small reads is held in one growing buffer and split once: nothing is scanned or joined again per read."""
    splits = 0

    class Counted(SSEParser):
        def _blocks(self, data: bytes, frames: list[Frame]) -> None:
            nonlocal splits
            splits += 1
            super()._blocks(data, frames)

    parser = Counted()
    line = b"data: " + b"x" * 1_000_000
    buffer = parser._line
    for start in range(0, len(line), 512):
        assert parser.feed(line[start : start + 512]) == []
        assert parser._line is buffer
        assert len(buffer) == min(start + 512, len(line))
    assert splits == 0
    assert parser.feed(b"\n\n") == [Frame(b"x" * 1_000_000)]
    assert splits == 1


# --- against a slow parser written from the standard, line by line and character by character


def reference(data: bytes) -> list[Frame]:
    """WHATWG HTML 9.2.6 as it is written; frames with empty data left out, and a pending last frame handed over, as ours are."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    lines: list[bytes] = []
    line = b""
    position = 0
    while position < len(data):
        byte = data[position : position + 1]
        position += 1
        if byte not in (b"\r", b"\n"):
            line += byte
            continue
        if byte == b"\r" and data[position : position + 1] == b"\n":
            position += 1
        lines.append(line)
        line = b""
    rest = line
    frames: list[Frame] = []
    buffer, kind, last_id, retry = b"", "", "", None

    def dispatch(terminated: bool) -> None:
        nonlocal buffer, kind, retry
        if buffer not in (b"", b"\n"):
            frames.append(Frame(buffer.removesuffix(b"\n"), kind, last_id, retry, terminated))
        buffer, kind, retry = b"", "", None

    def field(line: bytes) -> None:
        nonlocal buffer, kind, last_id, retry
        name, colon, value = line.partition(b":")
        if colon and value.startswith(b" "):
            value = value[1:]
        if name == b"event":
            kind = value.decode("utf-8", "replace")
        elif name == b"data":
            buffer += value + b"\n"
        elif name == b"id" and b"\0" not in value:
            last_id = value.decode("utf-8", "replace")
        elif name == b"retry" and value and all(digit in b"0123456789" for digit in value):
            retry = int(value)

    for line in lines:
        if line:
            field(line)
        else:
            dispatch(terminated=True)
    if rest:
        field(rest)
    dispatch(terminated=False)
    return frames


ODD = [b"\xef\xbb\xbf", b"\xef", b"\xff", "é".encode(), b"message"]
PIECES = st.sampled_from(
    [b"data: ", b"data:", b"data", b"event: ", b"id: ", b"id", b"retry: ", b":", b" ", b"\n", b"\n", b"\r", b"\r\n", b"\n\n", b"a", b"7", b"\0", *ODD]
)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    """The bytes cut at these places, taken modulo their length."""
    cuts = sorted(place % (len(data) + 1) for place in places)
    return [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]


@pytest.mark.rows("WIRE-01", "WIRE-02", "ISS-52")
@settings(max_examples=400)
@given(st.lists(PIECES, max_size=40).map(b"".join), st.lists(st.integers(0, 1000), max_size=8))
def test_same_as_the_standard(data: bytes, places: list[int]) -> None:
    """What a parser written straight from the standard finds, ours finds at any cutting."""
    assert without_end(feed_all(SSEParser(), cut(data, places))) == without_end(reference(data))


@pytest.mark.rows("WIRE-01", "WIRE-19")
@settings(max_examples=200)
@given(st.binary(max_size=80), st.lists(st.integers(0, 1000), max_size=8))
def test_same_as_the_standard_for_any_bytes(data: bytes, places: list[int]) -> None:
    """Any bytes at all: no crash, and the standard's frames."""
    assert without_end(feed_all(SSEParser(), cut(data, places))) == without_end(reference(data))


def without_end(frames: list[Frame]) -> list[tuple[bytes, str, str, int | None, bool]]:
    """Frames as tuples."""
    return [(frame.data, frame.event, frame.id, frame.retry, frame.terminated) for frame in frames]


def test_an_error_field_is_an_error_frame() -> None:
    """Older llama.cpp servers write `error: {...}` where a data line should be; at any cutting it comes behind what it interrupted."""
    raw = b'data: {"a":1}\n\nerror: {"code":500,"message":"engine died"}\n\n'
    expected = [Frame(b'{"a":1}'), Frame(b'{"error": {"code":500,"message":"engine died"}}', "error")]
    for chunks in every_split(raw):
        assert feed_all(SSEParser(), chunks) == expected
