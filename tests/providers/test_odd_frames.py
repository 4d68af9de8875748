"""Frames inside of a frame: streams wrapped in streams, and blank lines that were lost. One rule, the same for every protocol."""

from __future__ import annotations

import pytest

import headwater
from headwater_codecs.sse import Frame
from headwater_providers.odd_frames import MISSING_BLANK_LINE, REPEATED_PREFIX, frames_inside
from helpers import every_split, fixtures, plain_events

A, B, END = b'{"a":1}', b'{"b":2}', b"[DONE]"


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        # wrapped in another stream
        (Frame(b"data: " + A), (REPEATED_PREFIX, [Frame(A)])),
        (Frame(b"data:data:  data: " + A), (REPEATED_PREFIX, [Frame(A)])),
        (Frame(b"data: " + END), (REPEATED_PREFIX, [Frame(END)])),
        (Frame(b"data:"), (REPEATED_PREFIX, [])),
        (Frame(b": ping"), (REPEATED_PREFIX, [])),
        (Frame(b"event: x"), (REPEATED_PREFIX, [])),
        (Frame(b"event: x\ndata: " + A), (REPEATED_PREFIX, [Frame(A, "x")])),
        (Frame(b"event: x\ndata: data: " + A + b"\nid: 7", id="9"), (REPEATED_PREFIX, [Frame(A, "x", "9")])),
        (Frame(b"data: " + A, "x"), (REPEATED_PREFIX, [Frame(A, "x")])),
        (Frame(b"event: x\ndata: " + A + b"\nevent: y\ndata: " + B), (REPEATED_PREFIX, [Frame(A, "x"), Frame(B, "y")])),
        (Frame(b'data: {\ndata: "a": 1\ndata: }'), (REPEATED_PREFIX, [Frame(b'{\n"a": 1\n}')])),
        (Frame(b"data: oops"), (REPEATED_PREFIX, [Frame(b"oops")])),
        (Frame(b"data: oops\ndata: " + A), None),
        (Frame(b'data: {"a', terminated=False), (REPEATED_PREFIX, [Frame(b'{"a', terminated=False)])),
        # blank lines lost
        (Frame(A + b"\n" + B), (MISSING_BLANK_LINE, [Frame(A), Frame(B)])),
        (Frame(A + b"\n\n " + B + b"\n" + END), (MISSING_BLANK_LINE, [Frame(A), Frame(B), Frame(END)])),
        (Frame(A + b"\n" + B, "y"), (MISSING_BLANK_LINE, [Frame(A), Frame(B, "y")])),
        (Frame(A + b'\n{"b', terminated=False), (MISSING_BLANK_LINE, [Frame(A), Frame(b'{"b', terminated=False)])),
        (Frame(A + b'\n{"b'), None),
        (Frame(b'{"a\n' + B), None),
        (Frame(A + b"\n[1]"), None),
        (Frame(A + b"\n7"), None),
        # nothing inside
        (Frame(b"oops"), None),
        (Frame(b'{"a": oops}'), None),
        (Frame(b"upstream\nis down"), None),
        (Frame(b"retry: later"), None),
        (Frame(b""), None),
    ],
)
def test_frames_inside(frame: Frame, expected: tuple[str, list[Frame]] | None) -> None:
    """What is found, and with which name; where a line is no object, nothing is guessed."""
    assert frames_inside(frame) == expected


def test_many_prefixes_are_cheap() -> None:
    """Linear: what a server sends in one frame must not take minutes."""
    assert frames_inside(Frame(b"data: " * 1_000_000 + A)) == (REPEATED_PREFIX, [Frame(A)])
    assert frames_inside(Frame(b"data:\n" * 1_000_000 + b"data: " + A)) == (REPEATED_PREFIX, [Frame(A)])


WHOLE = {
    "anthropic-messages": "text",
    "cohere-chat": "text",
    "gemini": "text",
    "gemini-interactions": "thought-and-text",
    "openai-assistants": "text",
    "openai-chat": "text-reasoning-text",
    "openai-responses": "text",
    "openai-text": "text",
}


def one_of(protocol: str) -> tuple[bytes, list[dict[str, object]]]:
    """A plain answer of this protocol and its events."""
    found = next(fixture for fixture in fixtures(protocol) if fixture.name == WHOLE[protocol])
    return found.data.replace(b"\r\n", b"\n"), found.events


def wrapped_by_line(data: bytes) -> bytes:
    """Every line of the stream as an event of another one."""
    return b"".join(b"data: " + line + b"\n\n" for line in data.split(b"\n") if line)


def wrapped_by_event(data: bytes) -> bytes:
    """Every event of the stream as the data of one of another."""
    return b"".join(b"data: " + event.replace(b"\n", b"\ndata: ") + b"\n\n" for event in data.split(b"\n\n") if event.strip())


def prefixed(data: bytes) -> bytes:
    """The prefix twice."""
    return data.replace(b"data: ", b"data: data: ")


def without_blank_lines(data: bytes) -> bytes:
    """The first blank line is lost, and the fourth."""
    events = data.split(b"\n\n")
    return b"".join(event + (b"\n" if number in (0, 3) and number < len(events) - 2 else b"\n\n") for number, event in enumerate(events) if event)


@pytest.mark.parametrize("protocol", WHOLE)
@pytest.mark.parametrize(
    ("broken", "code"),
    [
        (prefixed, REPEATED_PREFIX),
        (wrapped_by_line, REPEATED_PREFIX),
        (wrapped_by_event, REPEATED_PREFIX),
        (without_blank_lines, MISSING_BLANK_LINE),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_every_protocol(protocol: str, broken: object, code: str) -> None:
    """The same events as of the stream that was not broken, wherever it is cut, and one note; in strict mode it is malformed."""
    assert callable(broken)
    data, expected = one_of(protocol)
    data = broken(data)
    for chunks in every_split(data, two_way=len(data) <= 1000):
        assert plain_events(headwater.decode_events(protocol, chunks, content_type="text/event-stream"), expected) == expected
    answer = headwater.decode(protocol, [data], content_type="text/event-stream")
    assert [diagnostic.code for diagnostic in answer.diagnostics].count(code) == 1
    strict = headwater.decode(protocol, [data], content_type="text/event-stream", options={"strict": True})
    assert strict.error is not None
    assert strict.error.kind == "malformed"
