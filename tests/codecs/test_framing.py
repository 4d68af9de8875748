"""The first stage: what a body is, whatever its headers say, and faults behind the good frames."""

from __future__ import annotations

import gzip

import pytest

from headwater_codecs.framing import SNIPPET, BoundedFraming, Fault, Framing, snippet
from headwater_codecs.neutral import ErrorInfo, error_info
from headwater_codecs.sse import Frame
from helpers import every_split

STREAM = b"data: a\n\nevent: x\ndata: b\n\n"
FRAMES: list[Frame | Fault] = [Frame(b"a"), Frame(b"b", "x")]
PAGE = b"<!doctype html><html><body>Sign in</body></html>"


def frames_of(framing: Framing, chunks: list[bytes]) -> list[Frame | Fault]:
    """Everything the stage gives, one read per batch."""
    items: list[Frame | Fault] = []
    for chunk in chunks:
        items += framing.feed([chunk])
    return items + framing.finish()


def page_fault(content_type: str, page: bytes) -> Fault:
    """The fault that quotes a page."""
    said = f"the body is no event stream (content type {content_type}): {page.decode()[:SNIPPET]!r}"
    return Fault(ErrorInfo("malformed", said, phase="stream"))


BODIES: dict[str, tuple[str, bytes, list[Frame | Fault]]] = {
    "event stream": ("text/event-stream; charset=utf-8", STREAM, FRAMES),
    "event stream labelled JSON": ("application/json", STREAM, FRAMES),
    "event stream without a label": ("", STREAM, FRAMES),
    "event stream that begins with a comment": ("text/plain", b": hi\n\n" + STREAM, FRAMES),
    "event stream after blank lines": ("application/json", b"\n\r\n \n\n" + STREAM, FRAMES),
    "event stream after an indented line": ("application/json", b"    data: no\n\n" + STREAM, FRAMES),
    "event stream after a byte order mark": ("", b"\xef\xbb\xbf" + STREAM, FRAMES),
    "event stream with an unknown field first": ("text/event-stream", b"foo: 1\n\n" + STREAM, FRAMES),
    "JSON document": ("application/json", b' {"a": 1}\n', [Frame(b'{"a": 1}', terminated=False)]),
    "JSON document labelled event stream": ("text/event-stream", b'{"error": 1}', [Frame(b'{"error": 1}', terminated=False)]),
    "JSON array": ("application/json", b"[1,\n\n2]", [Frame(b"[1,\n\n2]", terminated=False)]),
    "JSON document cut": ("application/json", b'{"a": ', [Frame(b'{"a":', terminated=False)]),
    "page": ("text/html; charset=utf-8", PAGE, [page_fault("text/html", PAGE)]),
    "page labelled event stream": ("text/event-stream", PAGE, [page_fault("text/event-stream", PAGE)]),
    "long page": ("text/html", PAGE * 20, [page_fault("text/html", PAGE * 20)]),
    "plain text": ("", b"date: today", [page_fault("not given", b"date: today")]),
    "the beginning of a field name": ("", b"dat", [page_fault("not given", b"dat")]),
    "nothing": ("text/event-stream", b"", []),
    "white space": ("", b" \n\n", []),
}


@pytest.mark.rows("WIRE-17")
@pytest.mark.parametrize("name", BODIES)
def test_body(name: str) -> None:
    """Each body is read as what it is, wherever it is cut."""
    content_type, data, expected = BODIES[name]
    for chunks in every_split(data, two_way=len(data) < 200):
        assert frames_of(Framing("sse", content_type), chunks) == expected


def test_reads_of_one_batch() -> None:
    """A batch of several reads gives what the reads give one by one."""
    framing = Framing()
    assert framing.feed([STREAM[:5], b"", STREAM[5:]]) == FRAMES
    assert framing.finish() == []


def test_fault_of_the_transport_passes_through_last() -> None:
    """What the transport reports comes behind the good frames, and nothing is read after it."""
    fault = Fault(error_info("network", "reset"))
    framing = Framing()
    assert framing.feed([STREAM, fault, STREAM]) == [*FRAMES, fault]
    assert framing.feed([STREAM]) == []
    assert framing.finish() == []


@pytest.mark.rows("WIRE-09")
def test_frame_too_large_comes_behind_the_good_frames() -> None:
    """The limit is told as a fault in the same batch, once."""
    framing = Framing(max_frame=20)
    said = "a frame passed the limit of 20 bytes: raise max_frame if this is expected"
    assert framing.feed([STREAM + b"data: " + b"x" * 30]) == [*FRAMES, Fault(ErrorInfo("malformed", said, "frame_too_large", phase="stream"))]
    assert framing.feed([b"\n\n"]) == []
    assert framing.finish() == []


@pytest.mark.rows("WIRE-09")
def test_document_too_large() -> None:
    """A document has the same limit."""
    said = "the body passed the limit of 20 bytes: raise max_frame if this is expected"
    assert frames_of(Framing(max_frame=20), [b"{" * 10] * 3) == [Fault(ErrorInfo("malformed", said, "frame_too_large", phase="stream"))]


@pytest.mark.rows("B255")
def test_answer_too_large() -> None:
    """Frames within the bound are read, wherever the bytes were cut; the fault is told once."""
    said = f"the answer passed the limit of {len(STREAM)} bytes: raise max_answer if this is expected"
    fault = Fault(ErrorInfo("malformed", said, "answer_too_large", phase="stream"))
    for chunks in every_split(STREAM + STREAM):
        assert frames_of(BoundedFraming(len(STREAM)), chunks) == [*FRAMES, fault]
    for chunks in every_split(STREAM):
        assert frames_of(BoundedFraming(len(STREAM)), chunks) == FRAMES


@pytest.mark.rows("B255")
def test_answer_too_large_once_its_encoding_is_undone() -> None:
    """A small body may hold a large one."""
    framing = BoundedFraming(len(STREAM), content_encoding="gzip")
    frames = frames_of(framing, [gzip.compress(STREAM + b": " + b"x" * 100_000 + b"\n\n")])
    assert [type(frame) for frame in frames] == [*(type(frame) for frame in FRAMES), Fault]


@pytest.mark.rows("WIRE-20")
def test_compressed() -> None:
    """A compressed body gives the same frames, wherever it is cut."""
    for chunks in every_split(gzip.compress(STREAM, mtime=0)):
        assert frames_of(Framing("sse", "text/event-stream", "gzip"), chunks) == FRAMES


def test_compressed_body_broke_off() -> None:
    """What came is handed over, an open frame too, and then the fault."""
    data = gzip.compress(STREAM + b"data: c", mtime=0)[:-4]
    fault = Fault(error_info("truncated", "the gzip data of the body broke off", phase="stream"))
    assert frames_of(Framing("sse", "text/event-stream", "gzip"), [data]) == [*FRAMES, Frame(b"c", terminated=False), fault]


def test_compressed_body_is_corrupt() -> None:
    """The frames before the bad bytes are given, and then the fault."""
    data = gzip.compress(STREAM, mtime=0)
    damaged = data[:-8] + bytes([data[-8] ^ 1]) + data[-7:]
    for chunks in every_split(damaged):
        *frames, fault = frames_of(Framing("sse", "text/event-stream", "gzip"), chunks)
        assert frames == FRAMES
        assert isinstance(fault, Fault)
        assert fault.error.kind == "malformed"


def test_unknown_content_encoding_is_told_in_the_stream() -> None:
    """A header that cannot be honoured is a fault like any other, also of an empty body."""
    fault = Fault(
        ErrorInfo("malformed", "the body has the unknown content encoding 'zip'; known are gzip, x-gzip, deflate, br and identity", phase="stream")
    )
    assert frames_of(Framing("sse", "", "zip"), [STREAM]) == [fault]
    assert frames_of(Framing("sse", "", "zip"), []) == [fault]


def test_endless_white_space_is_not_kept() -> None:
    """Blank lines and spaces before the first frame are no reason to hold memory."""
    framing = Framing("sse", "application/json")
    for _ in range(100):
        assert framing.feed([b" " * 1000, b"\n" * 1000]) == []
    assert len(framing._start) <= 3
    assert framing.feed([STREAM]) == FRAMES


def test_snippet() -> None:
    """The start of the bytes, marked when it is not all."""
    assert snippet(b"ab\xff") == "ab\ufffd"
    assert snippet(b"x" * 300) == "x" * SNIPPET + "..."
