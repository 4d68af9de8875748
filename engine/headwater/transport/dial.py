"""Connecting: name, TCP and TLS. Imported with the first connection: `ssl` and `socket` cost an import of `headwater` too much."""

from __future__ import annotations

import socket
import ssl

import anyio
from anyio.abc import SocketAttribute

from headwater.transport.connection import Connection
from headwater.transport.tls import start_tls
from headwater.transport.wire import Address

# Reasoning models are silent for minutes: probes keep routers on the way from forgetting the connection.
_KEEPALIVE = [(name, value) for name, value in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 60), ("TCP_KEEPCNT", 5)) if hasattr(socket, name)]


async def connect(address: Address, context: ssl.SSLContext | None) -> Connection:
    """A new connection; TLS if there is a context. Raises what anyio and ssl raise; nothing is left open then."""
    stream = await anyio.connect_tcp(address.host, address.port)
    try:
        raw = stream.extra(SocketAttribute.raw_socket)
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _KEEPALIVE:
            raw.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        if context is not None:
            return Connection(address, stream, raw.fileno(), await start_tls(stream, context, address.host))
        return Connection(address, stream, raw.fileno())
    except BaseException:
        await anyio.aclose_forcefully(stream)
        raise
