"""What only the socket transport promises: refusals half-way, its pool's rules, one piece per read."""

from __future__ import annotations

import socket
import ssl
import time

import anyio
import pytest

from engine.transport.scripted_server import (
    CHUNKED,
    END,
    HELLO,
    Peer,
    authority,
    chunk,
    client_context,
    fetch,
    no_leak,
    post,
    read_all,
    running,
    serve,
    settle,
    trace,
)
from headwater.transport import SocketTransport
from headwater.transport.connection import Connection
from headwater.transport.dial import Dialer
from headwater.transport.wire import request_bytes, split_url
from headwater_codecs.neutral import ConfigurationError, MalformedError, NetworkError

pytestmark = pytest.mark.anyio
both_ways = pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])
LONG = b"x" * (8 << 20)  # more than any socket buffer takes
TOO_LARGE = b"HTTP/1.1 413 Too Large\r\ncontent-length: 4\r\n\r\nmuch"


@both_ways
async def test_refused_half_way_by_a_deaf_server(secure: bool) -> None:
    """The server answers 413 and reads no more of the request, but stays: the answer is given, the connection is not used again."""

    async def script(peer: Peer) -> None:
        await peer.read_head()
        await peer.stream.send(TOO_LARGE)
        await released.wait()

    released = anyio.Event()
    async with running(script, "socket", secure) as (server, transport):
        status, body, seen = await fetch(transport, post(server.url, LONG))
        assert (status, body, seen.phase) == (413, b"much", "stream")
        response = await transport.open(post(server.url, LONG), seen := trace())
        assert not seen.reused
        await response.aclose()
        released.set()


@both_ways
async def test_refused_half_way_with_a_reset(secure: bool) -> None:
    """The server answers 413 and closes with most of the request unread, which resets the connection: the answer is still given."""

    async def script(peer: Peer) -> None:
        await peer.read_head()
        await peer.stream.send(TOO_LARGE)

    async with running(script, "socket", secure) as (server, transport):
        for _ in range(5):
            assert (await fetch(transport, post(server.url, LONG)))[:2] == (413, b"much")


async def test_hang_up_while_sending() -> None:
    """A server that hangs up without an answer is a failure of the network's."""

    async def script(peer: Peer) -> None:
        await peer.read_head()

    async with running(script, "socket") as (server, transport):
        with pytest.raises(NetworkError) as caught:
            await transport.open(post(server.url, LONG), trace())
        assert caught.value.info.phase == "headers"
        assert caught.value.info.message.startswith(f"127.0.0.1:{server.port}: connection ")


async def test_early_answer_of_success() -> None:
    """A 200 before the request was read whole: the rest is still sent."""

    async def script(peer: Peer) -> None:
        await peer.read_head()
        await peer.stream.send(CHUNKED)
        await settle()
        await peer.stream.receive()
        peer.hung_up.set()
        while len(received) < len(LONG) // 2:
            received.extend(await peer.stream.receive(1 << 20))
        await peer.stream.send(chunk(b"ok") + END)
        await peer.wait_hang_up()

    received = bytearray()
    async with running(script, "socket") as (server, transport):
        assert (await fetch(transport, post(server.url, LONG)))[:2] == (200, b"ok")


@both_ways
async def test_one_piece_per_read(secure: bool) -> None:
    """A thousand chunks that came together are handed over together."""
    body = [b"data: %d\n\n" % number for number in range(1000)]
    ready = anyio.Event()

    async def script(peer: Peer) -> None:
        await peer.answer(CHUNKED)
        await peer.stream.send(b"".join(map(chunk, body)) + END)
        ready.set()
        await peer.wait_hang_up()

    async with running(script, "socket", secure) as (server, transport):
        response = await transport.open(post(server.url), trace())
        await ready.wait()
        assert await response.receive() == b"".join(body)
        assert await response.receive() is None
        await response.aclose()


async def test_bytes_after_the_end() -> None:
    """A connection on which more came than the response is not used again, whether it came with the response or later."""

    async def script(peer: Peer) -> None:
        await peer.answer(HELLO + (b"HTTP/1.1 200 OK\r\n" if peer.number == 0 else b""))
        if peer.number == 1:
            await peer.stream.send(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nstolen")
        await peer.wait_hang_up()

    async with running(script, "socket") as (server, transport):
        for number in range(3):
            _, body, seen = await fetch(transport, post(server.url))
            await settle()
            assert (body, seen.reused, len(server.peers)) == (b"hello world", False, number + 1)
        await server.peers[0].hung_up.wait()
        await server.peers[1].hung_up.wait()


async def test_idle_times() -> None:
    """An idle connection is used within its idle time, ours or the server's, and closed after it."""
    now = 0.0

    async def script(peer: Peer) -> None:
        await peer.answer(HELLO.replace(b"\r\n\r\n", b"\r\nKeep-Alive: timeout=5\r\n\r\n", 1))
        await peer.wait_hang_up() if peer.number else await peer.answer(HELLO)
        await peer.wait_hang_up()

    with anyio.fail_after(5):
        async with no_leak(), serve(script) as server:
            transport = SocketTransport(idle=10, clock=lambda: now)
            await fetch(transport, post(server.url))
            now = 3.9
            assert (await fetch(transport, post(server.url)))[2].reused
            now = 13.9
            assert not (await fetch(transport, post(server.url)))[2].reused
            await server.peers[0].hung_up.wait()
            now = 17.9
            transport_trace = trace()
            response = await transport.open(post(server.url), transport_trace)
            assert not transport_trace.reused
            await response.aclose()
            await transport.aclose()


async def test_newest_idle_connection_first() -> None:
    """Of two idle connections the one used last is used next."""

    async def script(peer: Peer) -> None:
        while True:
            await peer.answer(HELLO)

    async with running(script, "socket") as (server, transport):
        first = await transport.open(post(server.url), trace())
        second = await transport.open(post(server.url), trace())
        for response in (second, first):
            assert await read_all(response) == b"hello world"
            await response.aclose()
        await fetch(transport, post(server.url))
        assert [len(peer.requests) for peer in server.peers] == [2, 1]


async def test_too_many_header_lines() -> None:
    """257 header lines are malformed."""

    async def script(peer: Peer) -> None:
        await peer.answer(b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 257 + b"\r\n")

    async with running(script, "socket") as (server, transport):
        with pytest.raises(MalformedError, match="256 lines"):
            await transport.open(post(server.url), trace())


async def test_open_after_close() -> None:
    """A response that ends after its transport was closed closes its connection."""

    async def script(peer: Peer) -> None:
        await peer.answer(HELLO)
        await peer.wait_hang_up()

    async with running(script, "socket") as (server, transport):
        response = await transport.open(post(server.url), trace())
        await transport.aclose()
        assert await read_all(response) == b"hello world"
        await response.aclose()
        await server.peers[0].hung_up.wait()


async def test_wrong_host_name() -> None:
    """A certificate for another name is not trusted."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority().issue_cert("elsewhere.example").configure_cert(context)
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")

    async def handle(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            with pytest.raises(ssl.SSLError, match=r"(?i)certificate"):  # the client says why it leaves
                await anyio.streams.tls.TLSStream.wrap(stream, server_side=True, ssl_context=context)

    with anyio.fail_after(5):
        async with no_leak(), anyio.create_task_group() as group:
            group.start_soon(listener.serve, handle)
            url = f"https://127.0.0.1:{listener.extra(anyio.abc.SocketAttribute.local_port)}/"
            with pytest.raises(NetworkError, match=r"certificate is not trusted .*127\.0\.0\.1") as caught:
                await SocketTransport(ssl_context=client_context()).open(post(url), trace())
            assert not caught.value.info.retryable
            await settle()
            group.cancel_scope.cancel()
        await listener.aclose()


async def test_context_that_offers_http2() -> None:
    """A context of one's own that negotiates HTTP/2 is refused in words."""
    offered = ssl.create_default_context()
    authority().configure_trust(offered)
    offered.set_alpn_protocols(["h2", "http/1.1"])
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority().issue_cert("127.0.0.1").configure_cert(server_side)
    server_side.set_alpn_protocols(["h2"])
    below = await anyio.create_tcp_listener(local_host="127.0.0.1")
    listener = anyio.streams.tls.TLSListener(below, server_side, standard_compatible=False)
    url = f"https://127.0.0.1:{below.extra(anyio.abc.SocketAttribute.local_port)}/"

    async def handle(stream: anyio.streams.tls.TLSStream) -> None:
        await anyio.aclose_forcefully(stream)

    with anyio.fail_after(5):
        async with no_leak(), anyio.create_task_group() as group:
            group.start_soon(listener.serve, handle)
            with pytest.raises(ConfigurationError, match="set_alpn_protocols"):
                await SocketTransport(ssl_context=offered).open(post(url), trace())
            await settle()
            group.cancel_scope.cancel()
        await listener.aclose()


async def test_no_read_of_a_closed_connection() -> None:
    """Closed by somebody else in the turn that is given to the answer, a connection reads no more: its descriptor may be another file's by then."""

    async def script(peer: Peer) -> None:
        await peer.read_head()
        await peer.stream.receive()

    async def leave(connection: Connection) -> None:
        await connection.abort()

    async with serve(script) as server:
        address = split_url(server.url)
        connection = await Dialer(None, time.monotonic).connect(address)
        other, its_end = socket.socketpair()
        its_end.send(b"not for you")
        with other, its_end:
            async with anyio.create_task_group() as group:
                group.start_soon(leave, connection)
                with pytest.raises((anyio.ClosedResourceError, anyio.BrokenResourceError)):
                    await connection.exchange(request_bytes(post(server.url), address), trace())
            connection._fileno = other.fileno()  # as if the number had been given away
            assert connection._read_now() == b""
            assert other.recv(100) == b"not for you"
