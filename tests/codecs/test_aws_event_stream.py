"""The AWS event stream: every header type, every cutting, and every way to be wrong."""

from __future__ import annotations

import struct
import uuid
from datetime import UTC, datetime
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater_codecs.aws_event_stream import EventStreamParser, HeaderValue, Message, MessageFrames, encode_message
from headwater_codecs.neutral import FrameTooLarge, HeadwaterError, MalformedError, TruncatedError
from headwater_codecs.sse import Frame
from helpers import every_split, feed_all

HEADERS: dict[str, HeaderValue] = {
    "yes": True,
    "no": False,
    "int": -5,
    "long": 1 << 40,
    "bytes": b"\x00\xff",
    "text": "é🚀",
    "time": datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC),
    "uuid": uuid.UUID(int=7),
}
DATA = encode_message(HEADERS, b'{"a":1}') + encode_message({}, b"") + encode_message({"x": ""}, b"z" * 300)
WANTED = [Message(HEADERS, b'{"a":1}'), Message({}, b""), Message({"x": ""}, b"z" * 300)]


def packed(headers: bytes, payload: bytes = b"") -> bytes:
    """A message whose headers are these bytes, with right checksums."""
    prelude = struct.pack(">II", len(headers) + len(payload) + 16, len(headers))
    body = prelude + struct.pack(">I", crc32(prelude)) + headers + payload
    return body + struct.pack(">I", crc32(body))


def test_every_cutting() -> None:
    """The messages are the same wherever the bytes are cut."""
    for chunks in every_split(DATA):
        assert feed_all(EventStreamParser(), chunks) == WANTED


def test_small_integers() -> None:
    """Types that our encoder does not write: one byte, two bytes."""
    data = packed(b"\x01a\x02\xff" + b"\x01b\x03\xff\xfe")
    assert EventStreamParser().feed(data) == [Message({"a": -1, "b": -2}, b"")]


def test_a_time_that_no_datetime_holds() -> None:
    """It stays a number of milliseconds."""
    assert EventStreamParser().feed(packed(b"\x01a\x08" + struct.pack(">q", 1 << 60)))[0].headers == {"a": 1 << 60}


def test_every_flipped_byte_is_noticed() -> None:
    """Whatever byte is wrong, nothing wrong is handed over, and nobody waits for ever."""
    good = encode_message({"a": "b"}, b"payload")
    for position in range(len(good)):
        spoiled = bytearray(good)
        spoiled[position] ^= 0x20
        parser = EventStreamParser()
        with pytest.raises(HeadwaterError):
            assert feed_all(parser, [bytes(spoiled)]) == []


@pytest.mark.parametrize(
    "headers",
    [
        b"\x00\x00",  # no name
        b"\x01a\x00\x01a\x00",  # twice
        b"\x01a\x0a",  # unknown type
        b"\x01a\x07\x00\x05ab",  # ends behind the headers
        b"\x01a\x04\x00",  # cut integer
        b"\x05a",  # cut name
        b"\x01a",  # no type
        b"\x01\xff\x00",  # a name that is not UTF-8
        b"\x01a\x07\x00\x01\xff",  # a text that is not UTF-8
    ],
)
def test_bad_headers(headers: bytes) -> None:
    """Each is malformed; the good messages before it are returned."""
    parser = EventStreamParser()
    assert parser.feed(DATA + packed(headers)) == WANTED
    assert isinstance(parser.fault, MalformedError)
    with pytest.raises(MalformedError):
        parser.feed(b"")


def test_limits_are_looked_at_before_the_rest_comes() -> None:
    """Twelve bytes are enough to refuse a length."""
    for total, headers, error in ((1 << 30, 0, FrameTooLarge), ((1 << 20) + 100, 1 << 20, FrameTooLarge), (20, 10, MalformedError)):
        prelude = struct.pack(">II", total, headers)
        parser = EventStreamParser()
        assert parser.feed(prelude + struct.pack(">I", crc32(prelude))) == []
        assert isinstance(parser.fault, error)


def test_the_end_in_a_message() -> None:
    """It is a truncation, at every place but between two messages."""
    for position in range(1, len(DATA)):
        parser = EventStreamParser()
        parser.feed(DATA[:position])
        if parser.feed(b"") == [] and not parser._data:
            assert parser.finish() == []
        else:
            with pytest.raises(TruncatedError):
                parser.finish()


def test_frames() -> None:
    """Events, exceptions and errors as frames, in their order."""
    data = (
        encode_message({":message-type": "event", ":event-type": "messageStart"}, b"{}")
        + encode_message({":message-type": "exception", ":exception-type": "throttlingException"}, b'{"message":"m"}')
        + encode_message({":message-type": "error", ":error-code": "E", ":error-message": "said"}, b"")
    )
    wanted = [Frame(b"{}", "messageStart"), Frame(b'{"message":"m"}', "throttlingException", exception=True)]
    wanted.append(Frame(b'{"code":"E","message":"said"}', "E", exception=True))
    for chunks in every_split(data, two_way=False):
        frames = MessageFrames()
        assert feed_all(frames, chunks) == wanted
        assert frames.fault is None


HEADER_VALUES = st.text(max_size=9) | st.binary(max_size=9) | st.booleans()
MESSAGES = st.tuples(st.dictionaries(st.text(min_size=1, max_size=5), HEADER_VALUES, max_size=3), st.binary(max_size=40))


@settings(max_examples=50, deadline=None)
@given(st.lists(MESSAGES))
def test_round_trip(messages: list[tuple[dict[str, HeaderValue], bytes]]) -> None:
    """What is encoded is read again."""
    data = b"".join([encode_message(headers, payload) for headers, payload in messages])
    assert feed_all(EventStreamParser(), [data[:7], data[7:]]) == [Message(headers, payload) for headers, payload in messages]
