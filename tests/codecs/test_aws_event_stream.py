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
PIECES = [encode_message(HEADERS, b'{"a":1}'), encode_message({}, b""), encode_message({"x": ""}, b"z" * 300)]
DATA = b"".join(PIECES)
WANTED = [Message(HEADERS, b'{"a":1}'), Message({}, b""), Message({"x": ""}, b"z" * 300)]


def packed(headers: bytes, payload: bytes = b"") -> bytes:
    """A message whose headers are these bytes, with right checksums."""
    prelude = struct.pack(">II", len(headers) + len(payload) + 16, len(headers))
    body = prelude + struct.pack(">I", crc32(prelude)) + headers + payload
    return body + struct.pack(">I", crc32(body))


@pytest.mark.rows("WIRE-30", "WIRE-31", "WIRE-34")
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


@pytest.mark.rows("WIRE-33")
def test_every_flipped_byte_is_noticed() -> None:
    """Whatever byte is wrong, nothing wrong is handed over, and nobody waits for ever."""
    good = encode_message({"a": "b"}, b"payload")
    for position in range(len(good)):
        spoiled = bytearray(good)
        spoiled[position] ^= 0x20
        parser = EventStreamParser()
        with pytest.raises(HeadwaterError):
            assert feed_all(parser, [bytes(spoiled)]) == []


@pytest.mark.rows("WIRE-31")
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


@pytest.mark.rows("WIRE-32")
def test_limits_are_looked_at_before_the_rest_comes() -> None:
    """Twelve bytes are enough to refuse a length."""
    for total, headers, error in ((1 << 30, 0, FrameTooLarge), ((1 << 20) + 100, 1 << 20, FrameTooLarge), (20, 10, MalformedError)):
        prelude = struct.pack(">II", total, headers)
        parser = EventStreamParser()
        assert parser.feed(prelude + struct.pack(">I", crc32(prelude))) == []
        assert isinstance(parser.fault, error)


@pytest.mark.rows("WIRE-35")
def test_the_end_in_a_message() -> None:
    """It is a truncation, at every place but between two messages."""
    borders = {len(b"".join(PIECES[:number])) for number in range(1, len(PIECES))}
    for position in range(1, len(DATA)):
        parser = EventStreamParser()
        parser.feed(DATA[:position])
        if position in borders:
            assert parser.finish() == []
        else:
            with pytest.raises(TruncatedError):
                parser.finish()


@pytest.mark.rows("WIRE-36", "WIRE-37")
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


def read_slowly(data: bytes) -> tuple[list[bytes], str]:
    """The payloads of whole messages, and what ends them, by the specification: one message after the other, nothing remembered."""
    payloads: list[bytes] = []
    while data:
        if len(data) < 12:
            return payloads, "TruncatedError"
        total, headers, checksum = struct.unpack(">III", data[:12])
        if crc32(data[:8]) != checksum:
            return payloads, "MalformedError"
        if len(data) < total:
            return payloads, "TruncatedError"
        if crc32(data[: total - 4]) != int.from_bytes(data[total - 4 : total], "big"):
            return payloads, "MalformedError"
        payloads.append(data[12 + headers : total - 4])
        data = data[total:]
    return payloads, ""


def read_frames(data: bytes, cuts: list[int]) -> tuple[list[bytes], str]:
    """The same by our parser, fed in these pieces; its frames tell the payload that their event names."""
    frames = MessageFrames()
    places = sorted(cut % (len(data) + 1) for cut in cuts)
    payloads: list[bytes] = []
    for start, end in zip([0, *places], [*places, len(data)], strict=True):
        if frames.fault is None:
            for frame in frames.feed(data[start:end]):
                assert frame.event == f"kind{len(frame.data)}"
                payloads.append(frame.data)
    frames.finish()
    return payloads, "" if frames.fault is None else type(frames.fault).__name__


ALIKE = st.sampled_from([b"", b"a", b"b", b"cd", b"ef", b"ghi" * 40, b"jkl" * 40])  # few lengths and headers: heads repeat


@settings(max_examples=200)
@given(st.lists(ALIKE, max_size=12), st.lists(st.integers(0, 3000), max_size=6), st.none() | st.integers(0, 3000), st.none() | st.integers(0, 3000))
def test_known_heads_are_read_as_unknown_ones(payloads: list[bytes], cuts: list[int], flipped: int | None, end: int | None) -> None:
    """Where heads repeat and are looked up, each message is read and checked as when nothing is remembered: also cut short, and with a wrong byte."""
    data = bytearray(b"".join([encode_message({":message-type": "event", ":event-type": f"kind{len(piece)}"}, piece) for piece in payloads]))
    if data and flipped is not None:
        data[flipped % len(data)] ^= 0x10
    whole = bytes(data if end is None else data[:end])
    assert read_frames(whole, cuts) == read_slowly(whole)


def test_a_wrong_byte_behind_a_known_head() -> None:
    """Whichever byte of a second message with the same head is wrong, the first is handed over and the second is not."""
    good = encode_message({"a": "b"}, b"payload")
    for position in range(len(good)):
        spoiled = bytearray(good)
        spoiled[position] ^= 0x20
        parser = EventStreamParser()
        assert feed_until_fault(parser, good + bytes(spoiled)) == [Message({"a": "b"}, b"payload")]
        assert parser.fault is not None


def feed_until_fault(parser: EventStreamParser, data: bytes) -> list[Message]:
    """The messages that come out, and the end of the bytes."""
    messages = parser.feed(data)
    if parser.fault is None:
        with pytest.raises(HeadwaterError):
            parser.finish()
    return messages


def test_ever_new_heads_are_not_all_kept() -> None:
    """A stream whose every message has other headers, or long ones, is read without keeping them all."""
    parser = EventStreamParser()
    for number in range(1000):
        headers: dict[str, HeaderValue] = {"number": number, "long": "x" * (number % 2 * 2000)}
        assert parser.feed(encode_message(headers, b"p")) == [Message(headers, b"p")]
    assert len(parser._heads) <= 256
    assert sum(map(len, parser._heads)) <= 256 * 1024


def test_a_message_in_small_reads_costs_no_more_than_its_length() -> None:
    """Bytes that wait for the rest of a message are looked at when it is whole, not at every read."""
    data = encode_message({"a": "b"}, b"x" * 200_000)
    parser = EventStreamParser()
    looked_at = 0
    split = parser._split

    def counted(data: bytes, items: list[Message]) -> bytes:
        nonlocal looked_at
        looked_at += len(data)
        return split(data, items)

    parser._split = counted  # type: ignore[method-assign]  # to count
    found = feed_all(parser, [data[at : at + 10] for at in range(0, len(data), 10)])
    assert found == [Message({"a": "b"}, b"x" * 200_000)]
    assert looked_at < len(data) + 100


HEADER_VALUES = st.text(max_size=9) | st.binary(max_size=9) | st.booleans()
MESSAGES = st.tuples(st.dictionaries(st.text(min_size=1, max_size=5), HEADER_VALUES, max_size=3), st.binary(max_size=40))


@pytest.mark.rows("WIRE-30", "WIRE-31")
@settings(max_examples=50)
@given(st.lists(MESSAGES))
def test_round_trip(messages: list[tuple[dict[str, HeaderValue], bytes]]) -> None:
    """What is encoded is read again."""
    data = b"".join([encode_message(headers, payload) for headers, payload in messages])
    assert feed_all(EventStreamParser(), [data[:7], data[7:]]) == [Message(headers, payload) for headers, payload in messages]
