"""The simulator's end of an HTTP/1.1 connection: requests in by llhttp, answers out by hand, since a library would not let them be wrong."""

from __future__ import annotations

import http
import math
import socket
import struct
from collections.abc import Mapping

import anyio
import httptools
from anyio.abc import ByteStream, SocketAttribute
from msgspec import Struct

MAX_BODY = 64 << 20  # bytes
_REASONS = {status.value: status.phrase for status in http.HTTPStatus}


class HttpRequest(Struct):
    """One request."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes
    keep_alive: bool


class _Collector:
    """What llhttp tells of one request."""

    def __init__(self) -> None:
        self.url = b""
        self.headers: dict[str, str] = {}
        self.body: list[bytes] = []
        self.size = 0
        self.done = False

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_body(self, body: bytes) -> None:
        self.body.append(body)
        self.size += len(body)

    def on_message_complete(self) -> None:
        self.done = True


class Connection:
    """One client. Requests are read one after the other; nobody pipelines them."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._early: list[bytes] = []  # came while an answer was being written

    async def request(self) -> HttpRequest | None:
        """The next request; None when the client is gone, or does not speak HTTP."""
        collector = _Collector()
        parser = httptools.HttpRequestParser(collector)
        try:
            while not collector.done:
                parser.feed_data(self._early.pop(0) if self._early else await self._stream.receive())
                if collector.size > MAX_BODY:
                    return None
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, httptools.HttpParserError):
            return None
        path, _, query = collector.url.decode("latin-1").partition("?")
        keep_alive = parser.should_keep_alive()
        return HttpRequest(parser.get_method().decode(), path, query, collector.headers, b"".join(collector.body), keep_alive)

    async def head(self, status: int, headers: Mapping[str, str]) -> None:
        """Status line and headers."""
        lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Status')}", *(f"{name}: {value}" for name, value in headers.items())]
        await self._stream.send("\r\n".join([*lines, "", ""]).encode("latin-1"))

    async def answer(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        """A whole answer."""
        await self.head(status, {**headers, "content-length": str(len(body))})
        if body:
            await self._stream.send(body)

    async def chunk(self, data: bytes) -> None:
        """One piece of a chunked body; b"" ends it."""
        await self._stream.send(b"%x\r\n%b\r\n" % (len(data), data))

    async def raw(self, data: bytes) -> None:
        """Bytes as they are."""
        await self._stream.send(data)

    async def gone(self, seconds: float = math.inf) -> bool:
        """Wait until the client hangs up, but not longer than this; whether it did. What it sends meanwhile belongs to its next request."""
        with anyio.move_on_after(seconds):
            try:
                while True:
                    self._early.append(await self._stream.receive())
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                return True
        return False

    def reset_on_close(self) -> None:
        """Let the close that follows be a reset."""
        raw = self._stream.extra(SocketAttribute.raw_socket)
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
