"""Blanks before a body say nothing: it reads the same without them, and however the bytes were cut."""

from __future__ import annotations

from headwater_codecs.aws_event_stream import encode_message
from headwater_codecs.framing import Fault, Framing
from helpers import every_split

BLANKS = b"\xef\xbb\xbf\r\n\r"


def read(format: str, chunks: list[bytes]) -> list[object]:
    """The frames, and a fault as what it says."""
    framing = Framing(format)  # type: ignore[arg-type]  # one of its formats
    items = [item for chunk in chunks for item in framing.feed([chunk])] + list(framing.finish())
    return [item.error.message if isinstance(item, Fault) else item.data for item in items]


def test_before_a_page() -> None:
    """The quotation begins with what can be read."""
    for chunks in every_split(BLANKS + b"\x08 oops"):
        assert read("ndjson", chunks) == ["the body is no event stream (content type not given): '\\x08 oops'"]


def test_before_a_message() -> None:
    """A binary message is one with blank lines before it too."""
    message = encode_message({":event-type": "e", ":message-type": "event"}, b"{}")
    for chunks in every_split(b"\n\n" + message):
        assert read("aws-event-stream", chunks) == [b"{}"]
