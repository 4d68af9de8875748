"""The AWS event stream (`application/vnd.amazon.eventstream`): binary messages with typed headers and two checksums. Rows WIRE-30 to 37.

A message is its length, the length of its headers, a CRC-32 of these eight bytes, headers, payload, and a CRC-32 of all before it; numbers are
big-endian. The first checksum and the limits are looked at as soon as twelve bytes are there: a corrupt length must not make the reader wait.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TypeAlias
from zlib import crc32

import msgspec
from msgspec import Struct

from headwater_codecs.neutral.errors import FrameTooLarge, HeadwaterError, MalformedError, TruncatedError
from headwater_codecs.sse import Frame

MAX_HEADERS = 128 << 10  # bytes (WIRE-32)
MAX_PAYLOAD = 24 << 20  # bytes; botocore's limit
_PRELUDE = struct.Struct(">III")
_OVERHEAD = 16  # bytes of a message that are neither headers nor payload
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INTEGERS = {2: struct.Struct(">b"), 3: struct.Struct(">h"), 4: struct.Struct(">i"), 5: struct.Struct(">q"), 8: struct.Struct(">q")}

HeaderValue: TypeAlias = "bool | int | bytes | str | datetime | uuid.UUID"


class Message(Struct, frozen=True):
    """One message. Times are aware datetimes in UTC, or milliseconds where a datetime cannot hold them.

    Messages with the same headers share the dict: it is not to be changed.
    """

    headers: dict[str, HeaderValue]
    payload: bytes


class EventStreamParser:
    """Split bytes into messages. The good ones before a fault are returned; the next call raises it, and `fault` holds it until then.

    Faults: MalformedError (a checksum, a length, a header), FrameTooLarge, and at the end of the bytes TruncatedError. There is no way on after one.
    """

    def __init__(self, max_headers: int = MAX_HEADERS, max_payload: int = MAX_PAYLOAD) -> None:
        self.fault: HeadwaterError | None = None
        self._max_headers = max_headers
        self._max_payload = max_payload
        self._data = bytearray()
        self._checked = False  # the prelude of the message that is coming in
        self._raw_headers = b""  # those of the message before: most messages of a stream have the same
        self._headers: dict[str, HeaderValue] = {}

    def feed(self, data: bytes, /) -> list[Message]:
        """The messages that these bytes complete."""
        if self.fault is not None:
            raise self.fault
        buffer = self._data
        buffer += data
        messages: list[Message] = []
        start = 0
        try:
            while len(buffer) - start >= _PRELUDE.size:
                total, headers, checksum = _PRELUDE.unpack_from(buffer, start)
                if not self._checked:
                    self._check_prelude(bytes(buffer[start : start + 8]), total, headers, checksum)
                    self._checked = True
                if len(buffer) - start < total:
                    break
                messages.append(self._message(bytes(buffer[start : start + total]), headers))
                start += total
                self._checked = False
        except HeadwaterError as error:
            self.fault = error
            start = len(buffer)
        del buffer[:start]
        return messages

    def finish(self) -> list[Message]:
        """The bytes have ended. Raises TruncatedError in the middle of a message."""
        if self.fault is not None:
            raise self.fault
        if self._data:
            self.fault = TruncatedError(f"the stream ended inside a message, {len(self._data)} bytes after its start")
            raise self.fault
        return []

    def _message(self, data: bytes, headers: int) -> Message:
        if crc32(data[:-4]) != int.from_bytes(data[-4:], "big"):
            raise MalformedError("the checksum of a message is wrong")
        end = _PRELUDE.size + headers
        raw = data[_PRELUDE.size : end]
        if raw != self._raw_headers:
            try:
                self._headers = _headers(raw)
            except (struct.error, IndexError, UnicodeDecodeError) as error:
                raise MalformedError(f"the headers of a message cannot be read: {error}") from error
            self._raw_headers = raw
        return Message(self._headers, data[end:-4])

    def _check_prelude(self, prelude: bytes, total: int, headers: int, checksum: int) -> None:
        if crc32(prelude) != checksum:
            raise MalformedError("the checksum of a message's prelude is wrong")
        payload = total - headers - _OVERHEAD
        if payload < 0:
            raise MalformedError(f"a message of {total} bytes cannot have headers of {headers} bytes")
        if headers > self._max_headers or payload > self._max_payload:
            raise FrameTooLarge(
                f"a message has {headers} bytes of headers and {payload} of payload; allowed are {self._max_headers} and {self._max_payload}"
            )


class MessageFrames:
    """Messages as frames, for `framing`. What says by its headers that it is a failure is an `exception` frame (WIRE-37)."""

    def __init__(self, max_frame: int = MAX_PAYLOAD) -> None:
        self._parser = EventStreamParser(max_payload=min(max_frame, MAX_PAYLOAD))
        self._fault: HeadwaterError | None = None

    @property
    def fault(self) -> HeadwaterError | None:
        """What is wrong with the bytes."""
        return self._fault or self._parser.fault

    def feed(self, data: bytes, /) -> list[Frame]:
        """The frames that these bytes complete."""
        return [_frame(message) for message in self._parser.feed(data)]

    def finish(self) -> list[Frame]:
        """Nothing; `fault` says whether the bytes ended inside a message."""
        try:
            self._parser.finish()
        except HeadwaterError as error:
            self._fault = error
        return []


def encode_message(headers: Mapping[str, HeaderValue], payload: bytes) -> bytes:
    """One message. Texts become strings, bytes byte arrays, integers 32 bits or 64, times milliseconds."""
    encoded = b"".join([_encode_header(name, value) for name, value in headers.items()])
    prelude = struct.pack(">II", len(encoded) + len(payload) + _OVERHEAD, len(encoded))
    body = prelude + struct.pack(">I", crc32(prelude)) + encoded + payload
    return body + struct.pack(">I", crc32(body))


def _frame(message: Message) -> Frame:
    headers = message.headers
    kind = headers.get(":message-type")
    if kind == "error":
        told = {"code": str(headers.get(":error-code", "")), "message": str(headers.get(":error-message", ""))}
        return Frame(msgspec.json.encode(told), told["code"], exception=True)
    if kind == "exception":
        return Frame(message.payload or b"{}", str(headers.get(":exception-type", "exception")), exception=True)
    return Frame(message.payload, str(headers.get(":event-type", "")))


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
