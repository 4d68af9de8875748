"""Dialing: one address directly, several side by side, names remembered for a while, TLS sessions resumed."""

from __future__ import annotations

import socket
from contextlib import aclosing
from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest

from engine.transport.scripted_server import (
    Peer,
    always,
    client_context,
    no_leak,
    once,
    post,
    read_all,
    running,
    serve,
    settle,
    trace,
)
from headwater.transport import SocketTransport
from headwater.transport.connection import Connection
from headwater.transport.dial import NAME_TIME, Dialer
from headwater.transport.wire import split_url
from headwater_codecs.neutral import MalformedError

pytestmark = pytest.mark.anyio
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"
LAST_ANSWER = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi"


class Clock:
    """A clock that stands still until it is set."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


async def test_tls_sessions_are_resumed() -> None:
    """The first connection makes a full handshake; every later one to this server a short one, and the answers are the same."""
    async with running(once(LAST_ANSWER), "socket", secure=True) as (server, transport):
        resumed = []
        for _ in range(3):
            response: Any = await transport.open(post(server.url), trace())
            resumed.append(response._connection.tls.session.resumed)
            assert await read_all(response) == b"hi"
            await response.aclose()
        assert resumed == [False, True, True]


def made(resumed: bool, offered: object, ticket: object) -> Connection:
    """A connection as the dialer sees it."""
    session = SimpleNamespace(resumed=resumed, offered=offered, ticket=lambda: ticket)
    return cast(Connection, SimpleNamespace(tls=SimpleNamespace(session=session), address=split_url("https://a.example/x")))


def test_a_ticket_is_kept_until_it_is_refused() -> None:
    """The first ticket stays while it is taken; a full handshake in spite of it brings the next one, once for all that were under way."""
    dialer = Dialer(None, Clock())
    kept = []
    for connection in (
        made(False, None, "first"),
        made(False, None, "of another that was under way"),
        made(True, "first", "never asked for"),
        made(False, "first", "second"),
        made(False, "first", "of another that was under way"),
        made(False, "second", None),
    ):
        dialer.answered(connection)
        kept.append(dialer._tickets.get("https://a.example:443"))
    assert kept == ["first", "first", "first", "second", "second", "second"]


async def test_a_name_is_asked_for_once_in_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within `NAME_TIME` a name is resolved once, and its one address connected to."""
    asked = []

    async def resolve(host: str, port: int, **more: object) -> list[object]:
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(anyio, "getaddrinfo", resolve)
    clock = Clock()
    async with serve(always(ANSWER)) as server:
        dialer = Dialer(None, clock)
        for moment in (0.0, NAME_TIME - 0.1, NAME_TIME + 0.1):
            clock.now = 100.0 + moment
            connection = await dialer.connect(split_url(f"http://model.example:{server.port}/"))
            await anyio.aclose_forcefully(connection.socket)
    assert asked == ["model.example", "model.example"]


async def test_several_addresses_are_tried_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name with several addresses is anyio's to connect to."""
    async with serve(always(ANSWER)) as server:
        tried = []

        async def resolve(host: str, port: int, **more: object) -> list[object]:
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in ("192.0.2.1", "127.0.0.1")]

        async def connect_tcp(host: str, port: int) -> object:
            tried.append(host)
            return await original("127.0.0.1", port)

        original = anyio.connect_tcp
        monkeypatch.setattr(anyio, "getaddrinfo", resolve)
        monkeypatch.setattr(anyio, "connect_tcp", connect_tcp)
        connection = await Dialer(None, Clock()).connect(split_url(f"http://model.example:{server.port}/"))
        await anyio.aclose_forcefully(connection.socket)
    assert tried == ["model.example"]


async def test_a_refused_connection_leaves_nothing_open() -> None:
    """Nobody listens: the error says so, and the socket is closed."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        async with no_leak():
            with pytest.raises(ConnectionRefusedError):
                await Dialer(None, Clock()).connect(split_url(f"http://127.0.0.1:{taken.getsockname()[1]}/"))


async def test_cancelled_while_connecting() -> None:
    """A connection that is being made is given up at once."""
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        address = deaf.getsockname()
        with socket.socket() as first, socket.socket() as second:  # they fill its queue: what comes next waits
            for filler in (first, second):
                filler.setblocking(False)
                filler.connect_ex(address)
            async with no_leak(), aclosing(SocketTransport(ssl_context=client_context())) as transport:
                with anyio.move_on_after(0.05) as scope:
                    await transport.open(post(f"http://127.0.0.1:{address[1]}/"), trace())
                assert scope.cancelled_caught


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_nobody_reads_a_new_connection(host: str) -> None:
    """Bytes that come unasked stay in the socket, where the pool sees them: nothing takes them out of it until an exchange reads."""
    sent = anyio.Event()

    async def script(peer: Peer) -> None:
        await asked.wait()
        await peer.stream.send(b"HTTP/1.1 408 Request Timeout\r\n\r\n")
        sent.set()
        await peer.stream.receive()

    asked = anyio.Event()
    async with serve(script) as server:
        connection = await Dialer(None, Clock()).connect(split_url(f"http://{host}:{server.port}/v1"))
        asked.set()
        await sent.wait()
        await settle()
        assert connection.readable()
        await connection.abort()


async def test_bytes_before_the_request() -> None:
    """A server that speaks first is no HTTP server; nothing is left open."""

    async def script(peer: Peer) -> None:
        await peer.stream.send(b"220 mail.example ready\r\n")
        await peer.stream.receive()

    async with no_leak(), running(script, "socket") as (server, transport):
        with pytest.raises(MalformedError):
            await transport.open(post(server.url), trace())
