"""One HTTP/1.1 connection over an anyio socket: one exchange at a time, closing by force. `dial` makes them.

The deciding is done by `ResponseParser`, `TLSSession` and `Pool`; here are the awaits. Whatever fails or is cancelled closes the socket.
"""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel

from headwater.transport.base import Trace
from headwater.transport.wire import Address, ResponseParser

if TYPE_CHECKING:
    from anyio.abc import SocketStream

    from headwater.transport.tls import TLSStream

READ = 256 << 10  # bytes asked for at once: what one loop turn of asyncio reads at most
SMALL = 16 << 10  # bytes that a socket's send buffer takes at once: no answer can cross them on their way
REFUSAL = 64 << 10  # bytes of an early answer that are read while the request is still being sent
_CAN_WRITE_NOW = sys.platform != "win32"  # there a socket is no file descriptor
REFUSAL_TIME = 1.0  # seconds for the same
CLOSE_TIME = 2.0  # seconds that closing takes at most; force takes none, this is the promise


def keep_read_buffers_on_the_heap() -> None:
    """Free one large block, so that glibc serves the buffers of our reads from its heap from now on.

    Buffers above 128 KiB come from mmap at first, with page faults and an munmap for every read: 21 us, against 1.8 us from the heap.
    glibc raises that threshold to the size of the largest mapped block freed so far, which a buffer that shrank to what was read never
    is. Elsewhere this does nothing.
    """
    bytes(4 * READ)


class Connection:
    """A connected stream to one origin."""

    __slots__ = ("_closed", "_fileno", "_poll", "address", "socket", "stream", "tls")

    def __init__(self, address: Address, socket: SocketStream, fileno: int, tls: TLSStream | None = None) -> None:
        self.address = address
        self.socket = socket
        self.tls = tls
        self.stream: SocketStream | TLSStream = socket if tls is None else tls
        self._fileno = fileno
        self._poll: select.poll | None = None
        self._closed = False

    def readable(self) -> bool:
        """Whether bytes or an end wait in the socket. Between two responses nothing reads (anyio pauses asyncio's transport), so they stay there."""
        if not hasattr(select, "poll"):
            return bool(select.select([self._fileno], [], [], 0)[0])
        if self._poll is None:
            self._poll = select.poll()
            self._poll.register(self._fileno, select.POLLIN)
        return bool(self._poll.poll(0))

    async def abort(self) -> None:
        """Close at once, by force; who waits in another task wakes."""
        await close_all([self])

    async def exchange(self, payload: bytes, trace: Trace) -> tuple[ResponseParser, list[bytes]]:
        """Send one request and read up to the end of the response's headers: the parser, and the pieces of the body that came with them."""
        parser, pieces = ResponseParser(self.address.peer), list[bytes]()
        if len(payload) > SMALL:
            await self._send_and_listen(payload, parser, pieces, trace)
            return parser, pieces
        failure: Exception | None = None
        try:
            if payload := self._write_now(payload):
                await self.stream.send(payload)
            trace.sent = trace.clock()
        except (anyio.BrokenResourceError, OSError) as error:
            failure = error  # the answer may have come before the end
        try:
            await self._read_head(parser, pieces, trace)
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            if failure is None or trace.first_byte:
                raise
        if failure is not None:
            if not parser.head_done:
                raise failure
            parser.keep_alive = False
        return parser, pieces

    def _write_now(self, payload: bytes) -> bytes:
        """Write what the socket takes at once and give back the rest: nothing of an earlier request is under way, and a stream's `send` costs a
        turn of the scheduler more. TLS writes through its session."""
        if self.stream is not self.socket or not _CAN_WRITE_NOW:
            return payload
        try:
            return payload[os.write(self._fileno, payload) :]
        except BlockingIOError:
            return payload

    async def _read_head(self, parser: ResponseParser, pieces: list[bytes], trace: Trace) -> None:
        while not parser.head_done:
            try:
                data = await (self.stream.receive(READ) if trace.first_byte else self._receive_first())
            except anyio.EndOfStream:
                if trace.first_byte:
                    parser.finish()
                raise
            trace.first_byte = True
            if piece := parser.feed(data):
                pieces.append(piece)
            if parser.fault is not None and not parser.head_done:
                raise parser.fault
        trace.got_headers()

    async def _receive_first(self) -> bytes:
        """The first bytes of an answer. In a busy program they are there after one turn of the event loop, which then need not be asked to watch
        the socket and to stop watching it again.
        """
        if self.stream is self.socket and _CAN_WRITE_NOW:
            await anyio.lowlevel.checkpoint()
            if data := self._read_now():
                return data
        return await self.stream.receive(READ)

    def _read_now(self) -> bytes:
        """What is there; b"" for nothing yet, or the end, which the stream will tell."""
        if self._closed:  # by somebody else: the number may be another file's by now
            return b""
        try:
            return os.read(self._fileno, READ)
        except BlockingIOError:
            return b""
        except OSError as error:  # told once: the stream would see a clean end
            raise anyio.BrokenResourceError from error

    async def _send_and_listen(self, payload: bytes, parser: ResponseParser, pieces: list[bytes], trace: Trace) -> None:
        """Send while listening: a server may refuse a long request before it has read it, and hang up."""
        sent = False
        unsent: Exception | None = None
        failure: Exception | None = None

        async def send() -> None:
            nonlocal sent, unsent
            try:
                await self.stream.send(payload)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
                unsent = error
            else:
                sent = True
                trace.sent = trace.clock()

        async with anyio.create_task_group() as group:
            group.start_soon(send)
            try:
                await self._read_head(parser, pieces, trace)
                if not sent and parser.status >= 400:
                    await self._read_refusal(parser, pieces)
            except Exception as error:  # raised outside: a task group would wrap it
                failure = error
            if failure is not None or parser.status >= 400:
                group.cancel_scope.cancel()
        if failure is not None:
            raise unsent if unsent is not None and not trace.first_byte else failure
        if not sent:
            parser.keep_alive = False

    async def _read_refusal(self, parser: ResponseParser, pieces: list[bytes]) -> None:
        """Read what there is of the answer now: once sending fails, asyncio drops the rest."""
        size = sum(map(len, pieces))
        with anyio.move_on_after(REFUSAL_TIME):
            while not parser.complete and parser.fault is None and size < REFUSAL:
                try:
                    data = await self.stream.receive(READ)
                except (anyio.EndOfStream, anyio.BrokenResourceError):
                    return  # whoever reads on meets the same end
                if piece := parser.feed(data):
                    pieces.append(piece)
                    size += len(piece)


async def close_all(connections: Iterable[Connection]) -> None:
    """Close by force: no goodbye, no waiting, not to be interrupted."""
    with anyio.move_on_after(CLOSE_TIME, shield=True):
        for connection in connections:
            connection._closed = True
            await anyio.aclose_forcefully(connection.socket)
