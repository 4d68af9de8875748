"""The AWS event stream (`application/vnd.amazon.eventstream`): binary messages with typed headers and two checksums. Rows WIRE-30 to 37.

A message is its length, the length of its headers, a CRC-32 of these eight bytes, headers, payload, and a CRC-32 of all before it; numbers are
big-endian. The first checksum and the limits are looked at as soon as twelve bytes are there: a corrupt length must not make the reader wait.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Generic, TypeAlias, TypeVar
from zlib import crc32

import msgspec
from msgspec import Struct

from headwater_codecs.neutral.errors import FrameTooLarge, HeadwaterError, MalformedError, TruncatedError
from headwater_codecs.sse import Frame

MAX_HEADERS = 128 << 10  # bytes (WIRE-32)
MAX_PAYLOAD = 24 << 20  # bytes; botocore's limit
_PRELUDE = struct.Struct(">III")
_CHECKSUM = struct.Struct(">I").unpack_from
_WRONG = "the checksum of a message is wrong"
_MOST_HEADS = 256  # heads kept, of at most so many bytes: a stream of ever new ones does not fill the memory
_LONGEST_HEAD = 1024
_OVERHEAD = 16  # bytes of a message that are neither headers nor payload
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INTEGERS = {2: struct.Struct(">b"), 3: struct.Struct(">h"), 4: struct.Struct(">i"), 5: struct.Struct(">q"), 8: struct.Struct(">q")}

_Item = TypeVar("_Item")
HeaderValue: TypeAlias = "bool | int | bytes | str | datetime | uuid.UUID"


class Message(Struct, frozen=True):
    """One message. Times are aware datetimes in UTC, or milliseconds where a datetime cannot hold them.

    Messages with the same headers share the dict: it is not to be changed.
    """

    headers: dict[str, HeaderValue]
    payload: bytes


class _Splitter(Generic[_Item]):
    """Split bytes into messages, and make an item of each.

    The messages of a stream have few different headers and lengths, so what stands before a payload (lengths, their checksum, headers) is often
    the same bytes as before some earlier payload. Such a head is looked up, with its part of the message's checksum, and only the payload is
    summed. A head that is not known is read in full; `test_aws_event_stream.py` compares with a reader that always does.
    """

    def __init__(self, maker: Callable[[dict[str, HeaderValue]], Callable[[bytes], _Item]], max_headers: int, max_payload: int) -> None:
        self.fault: HeadwaterError | None = None
        self._maker = maker
        self._max_headers = max_headers
        self._max_payload = max_payload
        self._waiting = bytearray()  # a message that is not whole yet: looked at only once it can go on, which keeps the cost linear
        self._need = 0  # bytes with which it can
        self._heads: dict[bytes, tuple[int, int, Callable[[bytes], _Item]]] = {}  # to the message's length, the sum so far, what makes the item
        self._size = 0  # of the head before
        self._raw_headers = b""  # those that were read last, and what makes items of payloads behind them
        self._make: Callable[[bytes], _Item] | None = None

    def feed(self, data: bytes, /) -> list[_Item]:
        """The items of the messages that these bytes complete."""
        if self.fault is not None:
            raise self.fault
        waiting = self._waiting
        if waiting:
            waiting += data
            if len(waiting) < self._need:
                return []
            data = bytes(waiting)
            waiting.clear()
        items: list[_Item] = []
        try:
            waiting += self._split(data, items)
        except HeadwaterError as error:
            self.fault = error
        return items

    def finish(self) -> list[_Item]:
        """The bytes have ended. Raises TruncatedError in the middle of a message."""
        if self.fault is not None:
            raise self.fault
        if self._waiting:
            self.fault = TruncatedError(f"the stream ended inside a message, {len(self._waiting)} bytes after its start")
            raise self.fault
        return []

    def _split(self, data: bytes, items: list[_Item]) -> bytes:
        """Make the items of all whole messages; what is left over. Raises the fault of the message at which it stops."""
        known = self._heads.get
        start, end, size = 0, len(data), self._size
        while start < end:
            head = known(data[start : start + size])
            if head is None:
                stop = self._read(data, start, items)
                size = self._size
            else:
                total, checksum, make = head
                stop = start + total
                if stop <= end:
                    payload = data[start + size : stop - 4]
                    if crc32(payload, checksum) != _CHECKSUM(data, stop - 4)[0]:
                        raise MalformedError(_WRONG)
                    items.append(make(payload))
                else:
                    self._need = total
            if stop > end:
                break
            start = stop
        return data[start:]

    def _read(self, data: bytes, start: int, items: list[_Item]) -> int:
        """The long way for one message: where it ends, which is behind the bytes if it is not whole."""
        self._need = _PRELUDE.size
        if len(data) - start < _PRELUDE.size:
            return start + _PRELUDE.size
        total: int
        headers: int
        total, headers, checksum = _PRELUDE.unpack_from(data, start)
        if crc32(data[start : start + 8]) != checksum:
            raise MalformedError("the checksum of a message's prelude is wrong")
        self._check_sizes(total, headers)
        self._need = total
        stop = start + total
        if stop > len(data):
            return stop
        size = _PRELUDE.size + headers
        head, payload = data[start : start + size], data[start + size : stop - 4]
        so_far = crc32(head)
        if crc32(payload, so_far) != _CHECKSUM(data, stop - 4)[0]:
            raise MalformedError(_WRONG)
        make = self._made_by(head[_PRELUDE.size :])
        if size <= _LONGEST_HEAD:
            if len(self._heads) >= _MOST_HEADS:
                self._heads.clear()
            self._heads[head] = total, so_far, make
            self._size = size
        items.append(make(payload))
        return stop

    def _made_by(self, raw: bytes) -> Callable[[bytes], _Item]:
        if self._make is None or raw != self._raw_headers:
            try:
                self._make = self._maker(_headers(raw))
            except (struct.error, IndexError, UnicodeDecodeError) as error:
                raise MalformedError(f"the headers of a message cannot be read: {error}") from error
            self._raw_headers = raw
        return self._make

    def _check_sizes(self, total: int, headers: int) -> None:
        payload = total - headers - _OVERHEAD
        if payload < 0:
            raise MalformedError(f"a message of {total} bytes cannot have headers of {headers} bytes")
        if headers > self._max_headers or payload > self._max_payload:
            raise FrameTooLarge(
                f"a message has {headers} bytes of headers and {payload} of payload; allowed are {self._max_headers} and {self._max_payload}"
            )


class EventStreamParser(_Splitter[Message]):
    """Split bytes into messages. The good ones before a fault are returned; the next call raises it, and `fault` holds it until then.

    Faults: MalformedError (a checksum, a length, a header), FrameTooLarge, and at the end of the bytes TruncatedError. There is no way on after one.
    """

    def __init__(self, max_headers: int = MAX_HEADERS, max_payload: int = MAX_PAYLOAD) -> None:
        super().__init__(lambda headers: partial(Message, headers), max_headers, max_payload)


class MessageFrames:
    """Messages as frames, for `framing`. What says by its headers that it is a failure is an `exception` frame (WIRE-37)."""

    def __init__(self, max_frame: int = MAX_PAYLOAD) -> None:
        self._splitter = _Splitter(_frame_maker, MAX_HEADERS, min(max_frame, MAX_PAYLOAD))

    @property
    def fault(self) -> HeadwaterError | None:
        """What is wrong with the bytes."""
        return self._splitter.fault

    def feed(self, data: bytes, /) -> list[Frame]:
        """The frames that these bytes complete."""
        return self._splitter.feed(data)

    def finish(self) -> list[Frame]:
        """Nothing; `fault` says whether the bytes ended inside a message."""
        with suppress(HeadwaterError):  # the splitter keeps it
            self._splitter.finish()
        return []


def encode_message(headers: Mapping[str, HeaderValue], payload: bytes) -> bytes:
    """One message. Texts become strings, bytes byte arrays, integers 32 bits or 64, times milliseconds."""
    encoded = b"".join([_encode_header(name, value) for name, value in headers.items()])
    prelude = struct.pack(">II", len(encoded) + len(payload) + _OVERHEAD, len(encoded))
    body = prelude + struct.pack(">I", crc32(prelude)) + encoded + payload
    return body + struct.pack(">I", crc32(body))


def _frame_maker(headers: dict[str, HeaderValue]) -> Callable[[bytes], Frame]:
    """What makes a frame of each payload behind these headers. Raises MalformedError where they do not say what the message is (WIRE-36)."""
    kind = headers.get(":message-type")
    if kind == "error":
        told = {"code": str(headers.get(":error-code", "")), "message": str(headers.get(":error-message", ""))}
        return lambda _: Frame(msgspec.json.encode(told), told["code"], exception=True)
    if kind == "exception":
        failure = str(headers.get(":exception-type", "exception"))
        return lambda payload: Frame(payload or b"{}", failure, exception=True)
    if kind != "event" or not headers.get(":event-type"):
        raise MalformedError(f"the headers of a message do not say what it is: type {kind!r}, event {headers.get(':event-type')!r}")
    event = str(headers[":event-type"])
    return lambda payload: Frame(payload, event)


def _headers(data: bytes) -> dict[str, HeaderValue]:
    headers: dict[str, HeaderValue] = {}
    position = 0
    while position < len(data):
        length = data[position]
        name = _cut(data, position + 1, length).decode()
        if not name:
            raise MalformedError("a header of a message has no name")
        if name in headers:
            raise MalformedError(f"a message has the header {name!r} twice")
        position += 1 + length
        kind = data[position]
        headers[name], position = _value(kind, data, position + 1)
    return headers


def _value(kind: int, data: bytes, position: int) -> tuple[HeaderValue, int]:
    if kind in (0, 1):
        return kind == 0, position
    if kind in _INTEGERS:
        number: int = _INTEGERS[kind].unpack_from(data, position)[0]
        return (_time(number) if kind == 8 else number), position + _INTEGERS[kind].size
    if kind in (6, 7):
        length = int.from_bytes(_cut(data, position, 2), "big")
        value = _cut(data, position + 2, length)
        return (value if kind == 6 else value.decode()), position + 2 + length
    if kind == 9:
        return uuid.UUID(bytes=_cut(data, position, 16)), position + 16
    raise MalformedError(f"a header of a message has the unknown type {kind}")


def _cut(data: bytes, start: int, length: int) -> bytes:
    if start + length > len(data):
        raise MalformedError("a header of a message ends behind the headers")
    return data[start : start + length]


def _time(milliseconds: int) -> datetime | int:
    try:
        return _EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return milliseconds


def _encode_header(name: str, value: HeaderValue) -> bytes:
    key = name.encode()
    head = bytes([len(key)]) + key
    if isinstance(value, bool):
        return head + (b"\0" if value else b"\1")
    if isinstance(value, int):
        small = -(1 << 31) <= value < 1 << 31
        return head + (b"\x04" + struct.pack(">i", value) if small else b"\x05" + struct.pack(">q", value))
    if isinstance(value, bytes):
        return head + b"\x06" + struct.pack(">H", len(value)) + value
    if isinstance(value, str):
        text = value.encode()
        return head + b"\x07" + struct.pack(">H", len(text)) + text
    if isinstance(value, datetime):
        return head + b"\x08" + struct.pack(">q", round((value - _EPOCH).total_seconds() * 1000))
    return head + b"\x09" + value.bytes
