"""Connecting: name, TCP and TLS. Imported with the first connection: `ssl` and `socket` cost an import of `headwater` too much.

A server that has one address is connected to directly, which takes half the CPU time of `anyio.connect_tcp`; that one is for names with several
addresses, which it tries side by side (RFC 8305). TLS sessions are resumed: a server that knows the ticket leaves out its certificate and
signature.
"""

from __future__ import annotations

import errno
import os
import socket
import ssl
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio
from anyio.abc import SocketAttribute, SocketStream

from headwater.transport.connection import Connection
from headwater.transport.errors import malformed
from headwater.transport.tls import default_context, start_tls

if TYPE_CHECKING:
    from headwater.transport.base import Clock
    from headwater.transport.wire import Address

NAME_TIME = 10.0  # seconds that the addresses of a name are remembered
MAX_NAMES = 256  # servers whose address, or whose TLS ticket, is remembered
_ONE_BY_ONE = sys.platform == "win32"  # its sockets cannot be waited for while they connect
# Reasoning models are silent for minutes: probes keep routers on the way from forgetting the connection.
_KEEPALIVE = [(name, value) for name, value in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 60), ("TCP_KEEPCNT", 5)) if hasattr(socket, name)]

_SocketAddress = tuple[int, tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]]  # family, and what connect() takes


class Dialer:
    """Makes the connections of one transport. `context` replaces the default TLS settings; the clock gives seconds."""

    def __init__(self, context: ssl.SSLContext | None, clock: Clock) -> None:
        self._context = context
        self._clock = clock
        self._names: dict[tuple[str, int], tuple[float, list[_SocketAddress]]] = {}  # until when, and what the name resolved to
        self._tickets: dict[str, ssl.SSLSession] = {}  # by origin: the last one that was new

    async def connect(self, address: Address) -> Connection:
        """A new connection. Raises what anyio, socket and ssl raise; nothing is left open then."""
        stream = await self._tcp(address.host, address.port)
        try:
            await _stop_reading(stream)
            raw = stream.extra(SocketAttribute.raw_socket)
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for name, value in _KEEPALIVE:
                raw.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
            if not address.secure:
                return Connection(address, stream, raw.fileno())
            if self._context is None:
                self._context = default_context()
            tls = await start_tls(stream, self._context, address.host, self._tickets.get(address.origin))
            return Connection(address, stream, raw.fileno(), tls)
        except BaseException:
            await anyio.aclose_forcefully(stream)
            raise

    def answered(self, connection: Connection) -> None:
        """The first bytes of a new connection have come, and its ticket with them. One is kept until the server takes it no more."""
        tls, origin = connection.tls, connection.address.origin
        if tls is None or tls.session.resumed or self._tickets.get(origin) is not tls.session.offered:
            return
        if (ticket := tls.session.ticket()) is not None:
            if len(self._tickets) >= MAX_NAMES and origin not in self._tickets:
                self._tickets.clear()
            self._tickets[origin] = ticket

    async def _tcp(self, host: str, port: int) -> SocketStream:
        if _ONE_BY_ONE:
            return await anyio.connect_tcp(host, port)
        addresses = await self._addresses(host, port)
        if len(addresses) != 1:
            return await anyio.connect_tcp(host, port)
        return await _connect_to(*addresses[0])

    async def _addresses(self, host: str, port: int) -> list[_SocketAddress]:
        until, known = self._names.get((host, port), (0.0, []))
        if self._clock() < until:
            return known
        try:  # an address as such is read at once; a name is asked for in a thread
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        except socket.gaierror:
            found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)  # type: ignore[assignment]  # less exact about the address
        if len(self._names) >= MAX_NAMES:
            self._names.clear()
        addresses: list[_SocketAddress] = [(family, address) for family, _, _, _, address in found]
        self._names[host, port] = (self._clock() + NAME_TIME, addresses)
        return addresses


async def _connect_to(family: int, address: tuple[object, ...]) -> SocketStream:
    raw = socket.socket(family, socket.SOCK_STREAM)
    try:
        raw.setblocking(False)
        result = raw.connect_ex(address)
        if result == errno.EINPROGRESS:
            await anyio.wait_writable(raw)
            result = raw.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if result:
            raise OSError(result, os.strerror(result))
        return await SocketStream.from_socket(raw)
    except BaseException:
        raw.close()
        raise


async def _stop_reading(stream: SocketStream) -> None:
    """Nothing reads a connection but who waits for its bytes: they stay in the socket, where the pool and the next exchange look for them.

    A stream that anyio made of a socket reads by itself on asyncio, until somebody has waited for it. An end that came already is told again.
    """
    with anyio.move_on_after(0), suppress(anyio.EndOfStream, anyio.BrokenResourceError):
        await stream.receive(1)
        raise malformed("the server speaks before it is asked", "connect")
