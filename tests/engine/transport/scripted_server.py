"""A real HTTP server on loopback that does as a script says: raw bytes on accepted connections, pauses through events, hang-ups recorded.

Also the ways to run a transport against it: `running` closes both and checks that no file descriptor is left.
"""

from __future__ import annotations

import os
import socket
import ssl
import struct
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import cache
from types import TracebackType

import anyio
import trustme
from anyio.abc import ByteStream, SocketAttribute, SocketStream
from anyio.streams.tls import TLSStream

from headwater.transport import SocketTransport, Trace, Transport, TransportResponse
from headwater.transport.httpx_transport import HttpxTransport
from headwater_providers.adapter import HttpRequest

KINDS = ("socket", "httpx", "httpx2")


@cache
def authority() -> trustme.CA:
    """A made-up certificate authority."""
    return trustme.CA()


@cache
def server_context() -> ssl.SSLContext:
    """The server's side: a certificate for 127.0.0.1 and localhost."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority().issue_cert("127.0.0.1", "localhost").configure_cert(context)
    return context


@cache
def client_context() -> ssl.SSLContext:
    """The client's side: trusts that authority only."""
    context = ssl.create_default_context()
    authority().configure_trust(context)
    return context


class Peer:
    """The server's end of one connection."""

    def __init__(self, stream: ByteStream, number: int) -> None:
        self.stream = stream
        self.number = number  # 0 is the first connection
        self.requests: list[bytes] = []
        self.hung_up = anyio.Event()
        self._buffer = b""

    async def read_head(self) -> bytes:
        """The head of the next request."""
        while b"\r\n\r\n" not in self._buffer:
            self._buffer += await self.stream.receive()
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        return head

    async def read_request(self) -> bytes:
        """The next request, whole; it is kept in `requests`."""
        head = await self.read_head()
        length = next((int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0)
        while len(self._buffer) < length:
            self._buffer += await self.stream.receive()
        body, self._buffer = self._buffer[:length], self._buffer[length:]
        self.requests.append(head + b"\r\n\r\n" + body)
        return self.requests[-1]

    async def answer(self, data: bytes, *more: bytes) -> None:
        """Read a request, send the pieces."""
        await self.read_request()
        for piece in (data, *more):
            await self.stream.send(piece)

    async def wait_hang_up(self) -> None:
        """Read, and throw away, until the client is gone."""
        try:
            while True:
                await self.stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError, ssl.SSLError):
            self.hung_up.set()

    def reset_on_close(self) -> None:
        """Let the close that follows be a reset."""
        self.stream.extra(SocketAttribute.raw_socket).setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


Script = Callable[[Peer], Awaitable[None]]


class Server:
    """What the server saw, and where it is."""

    def __init__(self, port: int, secure: bool) -> None:
        self.peers: list[Peer] = []
        self.port = port
        self.url = f"{'https' if secure else 'http'}://127.0.0.1:{port}/v1"


@asynccontextmanager
async def serve(script: Script, secure: bool = False) -> AsyncIterator[Server]:
    """Run a server whose connections each follow the script; one whose script ends is closed."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", backlog=1024)
    server = Server(listener.extra(SocketAttribute.local_port), secure)

    async def handle(raw: SocketStream) -> None:
        stream: ByteStream = raw
        try:
            if secure:
                stream = await TLSStream.wrap(raw, server_side=True, ssl_context=server_context(), standard_compatible=False)
            peer = Peer(stream, len(server.peers))
            server.peers.append(peer)
            await script(peer)
        except (anyio.EndOfStream, anyio.BrokenResourceError, ssl.SSLError):
            pass  # the client left
        finally:
            await anyio.aclose_forcefully(raw)

    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, handle)
        try:
            yield server
        finally:
            group.cancel_scope.cancel()


def open_descriptors() -> int:
    """How many file descriptors this process has open."""
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208  # a path object for each would be no clearer


class no_leak:  # noqa: N801  # reads as a statement
    """Check that the block leaves no file descriptor behind."""

    async def __aenter__(self) -> None:
        await settle()
        self._before = open_descriptors()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            await settle()
            assert open_descriptors() == self._before


async def settle() -> None:
    """Let closed sockets go: asyncio closes them some turns later."""
    for _ in range(5):
        await anyio.wait_all_tasks_blocked()
        await anyio.lowlevel.checkpoint()


def make_transport(kind: str, context: ssl.SSLContext | None = None) -> Transport:
    """A transport of our own making."""
    context = context or client_context()
    if kind == "socket":
        return SocketTransport(ssl_context=context)
    return HttpxTransport(family="httpx" if kind == "httpx" else "httpx2", ssl_context=context)


@asynccontextmanager
async def running(script: Script, kind: str, secure: bool = False, limit: float = 5) -> AsyncIterator[tuple[Server, Transport]]:
    """A server and a transport, for at most `limit` seconds, without leaks."""
    make_transport(kind)  # what is made once (contexts, imports) is made before descriptors are counted
    with anyio.fail_after(limit):
        async with no_leak(), serve(script, secure) as server:
            transport = make_transport(kind)
            try:
                yield server, transport
            finally:
                await transport.aclose()


def post(url: str, body: bytes = b"{}", **headers: str) -> HttpRequest:
    """A POST request."""
    return HttpRequest("POST", url, [("content-type", "application/json"), *headers.items()], body)


def trace() -> Trace:
    """A fresh trace."""
    return Trace(time.monotonic)


async def read_all(response: TransportResponse, pieces: list[bytes] | None = None, read: anyio.Event | None = None) -> bytes:
    """The whole body. `pieces` has what came also when this raises; `read` is set with the first."""
    pieces = [] if pieces is None else pieces
    while (piece := await response.receive()) is not None:
        assert piece
        pieces.append(piece)
        if read is not None:
            read.set()
    return b"".join(pieces)


async def fetch(transport: Transport, request: HttpRequest) -> tuple[int, bytes, Trace]:
    """One request from end to end: status, body, trace."""
    seen = trace()
    response = await transport.open(request, seen)
    body = await read_all(response)
    await response.aclose(drain=True)
    return response.status, body, seen


def chunk(data: bytes) -> bytes:
    """One HTTP chunk."""
    return b"%x\r\n%s\r\n" % (len(data), data)


CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"
HELLO = CHUNKED + chunk(b"hello ") + chunk(b"world") + END


def always(data: bytes, *more: bytes) -> Script:
    """Answer every request of a connection with the same bytes."""

    async def script(peer: Peer) -> None:
        while True:
            await peer.answer(data, *more)

    return script


def once(data: bytes, *more: bytes) -> Script:
    """Answer one request and close."""

    async def script(peer: Peer) -> None:
        await peer.answer(data, *more)

    return script
