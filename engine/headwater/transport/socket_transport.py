"""The default transport: HTTP/1.1 over anyio sockets, on asyncio and trio alike.

It does what a streaming POST client needs: a pool, TLS, chunked, length and close-delimited bodies, nothing else. No redirects, no cookies,
no proxies (those are `HttpxTransport`'s). `receive` hands over what one read of the socket brought, as one piece: no timer, no scope, no
further task switch. Deadlines cancel `open` and call `abort`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import anyio

from headwater.transport.connection import READ, Connection, close_all, keep_read_buffers_on_the_heap
from headwater.transport.errors import foreign_error
from headwater.transport.pool import IDLE, MAX_IDLE, Pool
from headwater.transport.wire import ResponseParser, request_bytes, split_url

if TYPE_CHECKING:
    import ssl
    from collections.abc import Coroutine

    from headwater.transport.base import Clock, Trace
    from headwater.transport.dial import Dialer
    from headwater_providers.adapter import HttpRequest

DRAIN = 64 << 10  # bytes read on for the end of a body, so that its connection can be used again
DRAIN_TIME = 0.1  # seconds for the same


class SocketTransport:
    """HTTP/1.1 over sockets. `idle` is in seconds; `ssl_context` replaces the default one (verified, SSL_CERT_FILE counts)."""

    def __init__(
        self, *, ssl_context: ssl.SSLContext | None = None, idle: float = IDLE, max_idle: int = MAX_IDLE, clock: Clock = time.monotonic
    ) -> None:
        self._context = ssl_context
        self._pool: Pool[Connection] = Pool(idle, max_idle)
        self._clock = clock
        self._closing: list[Connection] = []
        self._dialer: Dialer | None = None
        keep_read_buffers_on_the_heap()

    async def open(self, request: HttpRequest, trace: Trace) -> SocketResponse:
        """Send the request on an idle connection or a new one, and wait for the headers.

        Raises NetworkError before the response's first byte, TruncatedError or MalformedError from then on, ConfigurationError for a
        request that cannot be sent. Nothing is left open when it raises or is cancelled.
        """
        address = split_url(request.url)
        payload = request_bytes(request, address)
        connection: Connection | None = None
        closing: list[Connection] = []
        if not trace.fresh:
            connection, closing = self._pool.take(address.origin, self._clock())
        trace.pool = trace.clock()
        if closing or self._closing:
            closing += self._closing
            self._closing = []
            await close_all(closing)
        if connection is not None:
            return await self._exchange(connection, payload, trace, True)
        try:
            connection = await self._dialing().connect(address)
        except Exception as error:
            mapped = foreign_error(error, address.peer, trace.phase, first_byte=trace.first_byte)
            raise mapped from (error if mapped is not error else error.__cause__)
        return await self._exchange(connection, payload, trace, False)

    def reuse(self, request: HttpRequest, trace: Trace) -> Coroutine[object, object, SocketResponse] | None:
        """Send the request on an idle connection; None where there is none, or some must be closed first. See `Reusing`."""
        if trace.fresh or self._closing:
            return None
        address = split_url(request.url)
        payload = request_bytes(request, address)
        connection, self._closing = self._pool.take(address.origin, self._clock())
        if connection is None:
            return None
        trace.pool = trace.clock()
        trace.abort = connection.abort
        return self._exchange(connection, payload, trace, True)

    async def _exchange(self, connection: Connection, payload: bytes, trace: Trace, reused: bool) -> SocketResponse:
        """Send and wait for the headers; the connection is closed when that fails or is cancelled."""
        try:
            trace.got_connection(reused)
            parser, pieces = await connection.exchange(payload, trace)
            if not reused:
                self._dialing().answered(connection)
        except BaseException as error:
            await connection.abort()
            if isinstance(error, Exception):
                mapped = foreign_error(error, connection.address.peer, trace.phase, first_byte=trace.first_byte)
                raise mapped from (error if mapped is not error else error.__cause__)
            raise
        return SocketResponse(self, connection, parser, pieces)

    async def aclose(self) -> None:
        """Close every idle connection; those in use are closed when their response is."""
        closing, self._closing = self._closing, []
        await close_all([*closing, *self._pool.close()])

    def release(self, connection: Connection, parser: ResponseParser) -> list[Connection]:
        """Take a connection back whose response is over; returned are those to be closed, maybe itself."""
        if parser.complete and parser.keep_alive and parser.fault is None:
            return self._pool.give(connection.address.origin, connection, self._clock(), parser.headers.get("keep-alive"))
        return [connection]

    def close_later(self, connections: list[Connection]) -> None:
        """Keep connections that the pool gave up until somebody has time to close them: the next request, or `aclose`."""
        self._closing += connections

    def _dialing(self) -> Dialer:
        if self._dialer is None:
            from headwater.transport.dial import Dialer

            self._dialer = Dialer(self._context, self._clock)
        return self._dialer


class SocketResponse:
    """An open response; see `TransportResponse`."""

    __slots__ = ("_closed", "_connection", "_parser", "_pieces", "_receive", "_transport", "headers", "status")

    def __init__(self, transport: SocketTransport, connection: Connection, parser: ResponseParser, pieces: list[bytes]) -> None:
        self.status = parser.status
        self.headers = parser.headers
        self._transport = transport
        self._connection = connection
        self._parser = parser
        self._pieces = pieces
        self._receive = connection.stream.receive
        self._closed = False

    async def receive(self) -> bytes | None:
        """What came since the last call, as one piece, never empty; None when the body has ended.

        Raises TruncatedError when it broke off, MalformedError when it is not HTTP, ClosedResourceError after `abort` or `aclose`.
        """
        if self._closed:
            raise anyio.ClosedResourceError
        parser = self._parser
        if self._pieces:
            piece = b"".join(self._pieces)
            self._pieces.clear()
            return piece
        while not parser.complete:
            if parser.fault is not None:
                raise parser.fault
            try:
                data = await self._receive(READ)
            except anyio.EndOfStream:
                parser.finish()
                return None
            except anyio.ClosedResourceError:
                raise
            except Exception as error:
                raise foreign_error(error, parser.peer, "stream", first_byte=True) from error
            if piece := parser.feed(data):
                return piece
        return None

    async def aclose(self, *, drain: bool = False) -> None:
        """Give the connection back if the body has ended (with `drain`, reads on for its end a little), else close it."""
        if self._closed:
            return
        if drain and not self._parser.complete:
            await self._drain()
            if self._closed:
                return
        self._closed = True
        closing = self._transport.release(self._connection, self._parser)
        self._parser.release()
        if closing:
            await close_all(closing)

    def close_nowait(self) -> bool:
        """Give the connection back if the body has ended and nothing needs to be waited for; else False, and `aclose` is needed."""
        if self._closed:
            return True
        if not (self._parser.complete and self._parser.keep_alive and self._parser.fault is None):
            return False
        self._closed = True
        closing = self._transport.release(self._connection, self._parser)
        self._parser.release()
        self._transport.close_later(closing)
        return True

    async def abort(self) -> None:
        """Close the connection at once, by force; a `receive` that waits in another task raises ClosedResourceError."""
        if self._closed:
            return
        self._closed = True
        await self._connection.abort()
        self._parser.release()

    async def _drain(self) -> None:
        size = 0
        with anyio.move_on_after(DRAIN_TIME, shield=True):
            try:
                while size < DRAIN and (piece := await self.receive()) is not None:
                    size += len(piece)
            except Exception:  # broken, malformed or read by somebody else: not to be used again, which `release` sees
                self._parser.keep_alive = False
