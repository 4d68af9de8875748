"""One suite for both transports (and both httpx libraries), on real sockets, plain and over TLS."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import anyio
import pytest

from engine.transport.scripted_server import (
    CHUNKED,
    END,
    HELLO,
    KINDS,
    Peer,
    Script,
    chunk,
    fetch,
    make_transport,
    no_leak,
    post,
    read_all,
    running,
    serve,
    settle,
    trace,
)
from headwater.transport import Trace, Transport, TransportResponse, open_with_fresh_retry
from headwater.transport.tls import default_context
from headwater_codecs.neutral import ConfigurationError, ErrorInfo, HeadwaterError, MalformedError, NetworkError, TruncatedError
from headwater_providers.adapter import HttpRequest

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("kind", KINDS)]
both_ways = pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])


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


# --- bodies


@both_ways
@pytest.mark.parametrize(
    "answer",
    [
        HELLO,
        CHUNKED + b"6;name=value\r\nhello \r\n5\r\nworld\r\n0\r\nx-trailer: 1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\nhello world",
        b"HTTP/1.1 200 OK\r\n\r\nhello world",
        b"HTTP/1.0 200 OK\r\n\r\nhello world",
    ],
    ids=["chunked", "extension-and-trailer", "length", "close", "http-1.0"],
)
async def test_body(kind: str, secure: bool, answer: bytes) -> None:
    """A body is whole however its end is marked."""
    async with running(once(answer), kind, secure) as (server, transport):
        status, body, _ = await fetch(transport, post(server.url))
        assert (status, body) == (200, b"hello world")


@both_ways
async def test_long_body(kind: str, secure: bool) -> None:
    """Ten thousand chunks over many reads and TLS records are one body."""
    events = [b"data: %d\n\n" % number * 5 for number in range(10_000)]
    async with running(once(CHUNKED + b"".join(map(chunk, events)) + END), kind, secure, 20) as (server, transport):
        _, body, _ = await fetch(transport, post(server.url))
        assert body == b"".join(events)


async def test_no_content(kind: str) -> None:
    """A 204 has no body and does not wait for one."""
    async with running(always(b"HTTP/1.1 204 No Content\r\n\r\n"), kind) as (server, transport):
        assert (await fetch(transport, post(server.url)))[:2] == (204, b"")


async def test_headers(kind: str) -> None:
    """Header names are lower case, several values of one name are joined."""
    answer = b"HTTP/1.1 429 Slow\r\nX-Request-Id: 7\r\nWarning: a\r\nwarning:  b \r\ncontent-length: 0\r\n\r\n"
    async with running(always(answer), kind) as (server, transport):
        response = await transport.open(post(server.url), trace())
        assert response.status == 429
        assert dict(response.headers) == {"x-request-id": "7", "warning": "a, b", "content-length": "0"}
        assert await response.receive() is None
        await response.aclose()


async def test_interim_responses(kind: str) -> None:
    """1xx answers are skipped, their headers forgotten."""
    answer = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n" + HELLO
    async with running(always(answer), kind) as (server, transport):
        response = await transport.open(post(server.url), trace())
        assert (response.status, dict(response.headers)) == (200, {"transfer-encoding": "chunked"})
        assert await read_all(response) == b"hello world"
        await response.aclose()


async def test_request_as_sent(kind: str) -> None:
    """The request arrives with its path, query, headers and body; no encoding is asked for."""
    async with running(always(HELLO), kind) as (server, transport):
        await fetch(transport, post(server.url + "/chat?a=b%2Fc", b'{"q": 1}', **{"x-api-key": "k"}))
        head, _, body = server.peers[0].requests[0].partition(b"\r\n\r\n")
        lines = head.lower().split(b"\r\n")
        assert lines[0] == b"post /v1/chat?a=b%2fc http/1.1"
        assert {b"x-api-key: k", b"content-length: 8", b"accept-encoding: identity", b"host: 127.0.0.1:%d" % server.port} <= set(lines)
        assert body == b'{"q": 1}'


async def test_no_redirects_no_cookies(kind: str) -> None:
    """A redirect is handed over as it is, and a cookie is not sent back."""
    answer = b"HTTP/1.1 302 Found\r\nlocation: /elsewhere\r\nset-cookie: a=b; path=/\r\ncontent-length: 0\r\n\r\n"
    async with running(always(answer), kind) as (server, transport):
        assert [(await fetch(transport, post(server.url)))[0] for _ in range(2)] == [302, 302]
        assert len(server.peers[0].requests) == 2
        assert b"cookie" not in server.peers[0].requests[1].lower()


# --- the pool


@both_ways
async def test_reuse(kind: str, secure: bool) -> None:
    """A connection whose response has ended carries the next request, and the trace says so."""
    async with running(always(HELLO), kind, secure) as (server, transport):
        seen = [(await fetch(transport, post(server.url)))[2] for _ in range(3)]
        assert [one.reused for one in seen] == [False, True, True]
        assert len(server.peers) == 1
        assert seen[2].phase == "stream"
        times = [seen[2].pool, seen[2].connected, seen[2].sent, seen[2].headers]
        assert times == sorted(time for time in times if time is not None)


@both_ways
async def test_idle_connection_closed_by_the_server(kind: str, secure: bool) -> None:
    """A connection that the server closed while it was idle is not used again."""
    async with running(once(HELLO), kind, secure) as (server, transport):
        for number in range(3):
            _, body, seen = await fetch(transport, post(server.url))
            assert (body, seen.reused) == (b"hello world", False)
            await settle()
            assert len(server.peers) == number + 1


@both_ways
async def test_idle_connection_closed_just_then(kind: str, secure: bool) -> None:
    """The server closes as the next request arrives: the trace says that the connection was reused and nothing came."""

    async def script(peer: Peer) -> None:
        await peer.answer(HELLO)
        await peer.read_request()

    async with running(script, kind, secure) as (server, transport):
        await fetch(transport, post(server.url))
        with pytest.raises(NetworkError) as caught:
            await transport.open(post(server.url), seen := trace())
        assert (seen.reused, seen.first_byte, caught.value.info.phase, caught.value.info.retryable) == (True, False, "headers", True)
        assert f"127.0.0.1:{server.port}" in caught.value.info.message


@both_ways
async def test_fresh_retry(kind: str, secure: bool) -> None:
    """A reused connection that dies before the first byte of its answer costs nothing but a second try on a new one."""

    async def script(peer: Peer) -> None:
        await peer.answer(HELLO)
        await peer.read_request()

    async with running(script, kind, secure) as (server, transport):
        await fetch(transport, post(server.url))
        response = await open_with_fresh_retry(transport, post(server.url), seen := trace())
        assert await read_all(response) == b"hello world"
        await response.aclose()
        assert (seen.reused, seen.fresh, len(server.peers)) == (False, True, 2)


async def test_no_second_fresh_retry(kind: str) -> None:
    """A new connection that dies is a failure; so is the second try's."""

    async def script(peer: Peer) -> None:
        if peer.number == 0:
            await peer.answer(HELLO)
        await peer.read_request()

    async with running(script, kind) as (server, transport):
        await fetch(transport, post(server.url))
        with pytest.raises(NetworkError):
            await open_with_fresh_retry(transport, post(server.url), trace())
        assert len(server.peers) == 2


async def test_many_at_once(kind: str) -> None:
    """There is no cap on connections: 120 open responses do not wait for each other."""
    released = anyio.Event()

    async def script(peer: Peer) -> None:
        await peer.answer(CHUNKED + chunk(b"x"))
        await released.wait()
        await peer.stream.send(END)

    async with running(script, kind, limit=20) as (server, transport), anyio.create_task_group() as group:
        for _ in range(120):
            group.start_soon(fetch, transport, post(server.url))
        with anyio.fail_after(10):
            while len(server.peers) < 120:
                await settle()
        released.set()


# --- faults


CUT = [
    ("chunked", CHUNKED + chunk(b"hello ")),
    ("in-a-chunk", CHUNKED + chunk(b"hello ") + b"5\r\nwo"),
    ("length", b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhello "),
]


@both_ways
@pytest.mark.parametrize("answer", [answer for _, answer in CUT], ids=[name for name, _ in CUT])
@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
async def test_cut_body(kind: str, secure: bool, answer: bytes, reset: bool) -> None:
    """A body that breaks off is TruncatedError, after everything that came before; the connection is not used again."""
    read = anyio.Event()

    async def script(peer: Peer) -> None:
        await peer.answer(answer)
        await read.wait()
        if reset:
            peer.reset_on_close()

    async with running(script, kind, secure) as (server, transport):
        response = await transport.open(post(server.url), trace())
        pieces: list[bytes] = []
        with pytest.raises(TruncatedError) as caught:
            await read_all(response, pieces, read)
        assert b"".join(pieces).startswith(b"hello ")
        info = caught.value.info
        assert (info.kind, info.phase, info.retryable) == ("truncated", "stream", True)
        assert f"127.0.0.1:{server.port}" in info.message
        await response.aclose(drain=True)
        response = await transport.open(post(server.url), seen := trace())
        await response.aclose()
        assert not seen.reused


async def test_reset_keeps_its_cause(kind: str) -> None:
    """The library's own exception is chained."""

    async def script(peer: Peer) -> None:
        await peer.read_request()
        peer.reset_on_close()

    async with running(script, kind) as (server, transport):
        with pytest.raises(NetworkError) as caught:
            await transport.open(post(server.url), trace())
        assert caught.value.__cause__ is not None
        assert not isinstance(caught.value.__cause__, HeadwaterError)
        assert caught.value.info == ErrorInfo(
            "network", f"127.0.0.1:{server.port}: connection reset by peer, before it answered", phase="headers", retryable=True
        )


async def test_cut_in_the_headers(kind: str) -> None:
    """An answer that ends within its headers is a failure of the network's, never an answer."""
    async with running(once(b"HTTP/1.1 200 OK\r\ncontent-ty"), kind) as (server, transport):
        with pytest.raises((TruncatedError, NetworkError)) as caught:
            await transport.open(post(server.url), trace())
        assert (caught.value.info.phase, caught.value.info.retryable) == ("headers", True)


@both_ways
async def test_garbage(kind: str, secure: bool) -> None:
    """What is not HTTP is malformed, which no retry mends."""
    async with running(once(b"+OK POP3 ready\r\n\r\n"), kind, secure) as (server, transport):
        with pytest.raises(MalformedError) as caught:
            await transport.open(post(server.url), trace())
        assert (caught.value.info.kind, caught.value.info.phase, caught.value.info.retryable) == ("malformed", "headers", False)


async def test_garbage_in_the_body(kind: str) -> None:
    """A chunk length that is none is malformed; what came before it is given first."""
    async with running(once(CHUNKED + chunk(b"hello") + b"zz\r\n"), kind) as (server, transport):
        response = await transport.open(post(server.url), trace())
        assert await response.receive() == b"hello"
        with pytest.raises(MalformedError) as caught:
            await response.receive()
        assert caught.value.info.phase == "stream"
        await response.aclose()


async def test_endless_headers(kind: str) -> None:
    """Headers beyond any measure are refused with a typed error."""
    async with running(once(b"HTTP/1.1 200 OK\r\n" + b"x: " + b"y" * 200_000), kind) as (server, transport):
        with pytest.raises(MalformedError):
            await transport.open(post(server.url), trace())


async def test_refused(kind: str) -> None:
    """Nobody listens: NetworkError names host and port, and nothing of the request."""
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    transport = make_transport(kind)
    with anyio.fail_after(5), pytest.raises(NetworkError) as caught:
        await transport.open(post(f"http://127.0.0.1:{port}/v1?key=secret", authorization="Bearer secret"), trace())
    assert caught.value.info == ErrorInfo("network", f"cannot connect to 127.0.0.1:{port}: connection refused", phase="connect", retryable=True)
    await transport.aclose()


async def test_unknown_authority(kind: str) -> None:
    """A certificate that nobody we trust has signed: said so, and not retryable."""
    async with no_leak(), serve(once(HELLO), secure=True) as server:
        transport = make_transport(kind, default_context())
        with anyio.fail_after(5), pytest.raises(NetworkError) as caught:
            await transport.open(post(server.url), trace())
        info = caught.value.info
        assert (info.kind, info.phase, info.retryable) == ("network", "connect", False)
        assert "certificate is not trusted" in info.message
        assert "SSL_CERT_FILE" in info.message
        await transport.aclose()


async def test_tls_to_a_plain_server(kind: str) -> None:
    """https:// to a server that speaks plain HTTP is a failure of TLS, and not retryable."""

    async def script(peer: Peer) -> None:
        await peer.stream.receive()
        await peer.stream.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with running(script, kind) as (server, transport):
        with pytest.raises(NetworkError) as caught:
            await transport.open(post(server.url.replace("http:", "https:")), trace())
        assert (caught.value.info.phase, caught.value.info.retryable) == ("connect", False)


@pytest.mark.parametrize("value", ["secret\r\nx: y", "secret\n", "secret\0", "secret\u20ac"])
async def test_header_that_cannot_be_sent(kind: str, value: str) -> None:
    """A line break in a value is refused before a connection is made, and the value is not shown."""
    async with running(once(HELLO), kind) as (server, transport):
        with pytest.raises(ConfigurationError) as caught:
            await transport.open(post(server.url, authorization=value), trace())
        assert "authorization" in caught.value.info.message
        assert "secret" not in str(caught.value)
        assert server.peers == []


async def test_graceful_refusal_half_way(kind: str) -> None:
    """The server answers 413 while the request is still being sent, and reads on: the answer is given."""

    async def script(peer: Peer) -> None:
        await peer.read_head()
        await peer.stream.send(b"HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: 4\r\n\r\nmuch")
        await peer.wait_hang_up()

    async with running(script, kind) as (server, transport):
        assert (await fetch(transport, post(server.url, b"x" * (4 << 20))))[:2] == (413, b"much")


# --- leaving


@contextmanager
def stalled_port() -> Iterator[int]:
    """A port whose accept queue is full: connecting to it hangs."""
    with socket.socket() as listener, socket.socket() as first, socket.socket() as second:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for filler in (first, second):
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


async def cancelled_open(transport: Transport, request: HttpRequest, reached: anyio.Event | None = None) -> Trace:
    """Open, and cancel once the server got there and everything waits."""
    seen = trace()
    async with anyio.create_task_group() as group:
        group.start_soon(transport.open, request, seen)
        if reached is not None:
            await reached.wait()
        await settle()
        group.cancel_scope.cancel()
    return seen


async def test_cancelled_while_connecting(kind: str) -> None:
    """Cancelling a connect that hangs leaves no socket."""
    transport = make_transport(kind)
    with stalled_port() as port:
        with anyio.fail_after(5):
            async with no_leak():
                seen = await cancelled_open(transport, post(f"http://127.0.0.1:{port}"))
    assert seen.phase == "connect"
    await transport.aclose()


async def test_cancelled_in_the_handshake(kind: str) -> None:
    """Cancelling a TLS handshake that hangs closes the socket: the server sees it."""
    reached, gone = anyio.Event(), anyio.Event()

    async def script(peer: Peer) -> None:
        await peer.stream.receive()
        reached.set()
        await peer.wait_hang_up()
        gone.set()

    async with running(script, kind) as (server, transport):
        seen = await cancelled_open(transport, post(server.url.replace("http:", "https:")), reached)
        await gone.wait()
        assert seen.phase == "connect"


@both_ways
async def test_cancelled_while_sending(kind: str, secure: bool) -> None:
    """Cancelling while the server reads nothing closes the connection."""
    reached, go_on, gone = anyio.Event(), anyio.Event(), anyio.Event()

    async def script(peer: Peer) -> None:
        await peer.read_head()
        reached.set()
        await go_on.wait()
        await peer.wait_hang_up()
        gone.set()

    async with running(script, kind, secure) as (server, transport):
        seen = await cancelled_open(transport, post(server.url, b"x" * (16 << 20)), reached)
        go_on.set()
        await gone.wait()
        assert (seen.phase, seen.first_byte) == ("headers", False)


@both_ways
async def test_cancelled_while_waiting_for_headers(kind: str, secure: bool) -> None:
    """Cancelling while the model thinks closes the connection."""
    reached, gone = anyio.Event(), anyio.Event()

    async def script(peer: Peer) -> None:
        await peer.read_request()
        reached.set()
        await peer.wait_hang_up()
        gone.set()

    async with running(script, kind, secure) as (server, transport):
        seen = await cancelled_open(transport, post(server.url), reached)
        await gone.wait()
        assert seen.phase == "headers"


async def stall_after_a_piece(peer: Peer) -> None:
    """Send the start of a body, then wait for the client to go."""
    await peer.answer(CHUNKED + chunk(b"hello"))
    await peer.wait_hang_up()


@both_ways
async def test_cancelled_in_the_body(kind: str, secure: bool) -> None:
    """Cancelling a read and closing, still inside the cancelled scope, closes the connection."""
    async with running(stall_after_a_piece, kind, secure) as (server, transport):
        response = await transport.open(post(server.url), trace())

        async def consume() -> None:
            try:
                await read_all(response)
            finally:
                await response.aclose(drain=True)

        async with anyio.create_task_group() as group:
            group.start_soon(consume)
            await settle()
            group.cancel_scope.cancel()
        await server.peers[0].hung_up.wait()


@both_ways
async def test_left_in_the_body(kind: str, secure: bool) -> None:
    """Leaving after one piece closes at once, again and again, and the next request still works."""

    async def script(peer: Peer) -> None:
        await (stall_after_a_piece(peer) if peer.number < 20 else peer.answer(HELLO))

    async with running(script, kind, secure) as (server, transport):
        for number in range(20):
            response = await transport.open(post(server.url), trace())
            assert await response.receive() == b"hello"
            await response.aclose()
            await server.peers[number].hung_up.wait()
        assert (await fetch(transport, post(server.url)))[1] == b"hello world"


@both_ways
async def test_cancelled_anywhere(kind: str, secure: bool) -> None:
    """Forty requests, each cancelled after another number of scheduler turns: nothing is lost, the next four succeed."""
    async with running(always(CHUNKED + chunk(b"a"), chunk(b"b"), END), kind, secure, 20) as (server, transport):
        for turns in range(40):
            async with anyio.create_task_group() as group:
                group.start_soon(_fetch_and_close, transport, post(server.url))
                for _ in range(turns):
                    await anyio.lowlevel.checkpoint()
                group.cancel_scope.cancel()
        assert [(await fetch(transport, post(server.url)))[1] for _ in range(4)] == [b"ab"] * 4


async def _fetch_and_close(transport: Transport, request: HttpRequest) -> None:
    response = await transport.open(request, trace())
    try:
        await read_all(response)
    finally:
        await response.aclose()


@both_ways
async def test_abort_wakes_a_pending_read(kind: str, secure: bool) -> None:
    """`abort` from another task: the read that waits raises ClosedResourceError and the server sees the hang-up."""
    async with running(stall_after_a_piece, kind, secure) as (server, transport):
        response = await transport.open(post(server.url), trace())
        assert await response.receive() == b"hello"
        woken = anyio.Event()

        async def wait() -> None:
            with pytest.raises(anyio.ClosedResourceError):
                await response.receive()
            woken.set()

        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            await settle()
            assert not woken.is_set()
            await response.abort()
            await woken.wait()
        await server.peers[0].hung_up.wait()
        await _is_over(response)


async def _is_over(response: TransportResponse) -> None:
    """Closing again does nothing, reading says that it is closed."""
    await response.abort()
    await response.aclose(drain=True)
    with pytest.raises(anyio.ClosedResourceError):
        await response.receive()


@both_ways
async def test_abort_without_a_read(kind: str, secure: bool) -> None:
    """`abort` while nobody reads closes as well."""
    async with running(stall_after_a_piece, kind, secure) as (server, transport):
        response = await transport.open(post(server.url), trace())
        await response.abort()
        await server.peers[0].hung_up.wait()
        await _is_over(response)


@both_ways
async def test_close_drains_and_pools(kind: str, secure: bool) -> None:
    """After the logical end, the rest of the body is read on closing and the connection is used again."""
    read = anyio.Event()

    async def script(peer: Peer) -> None:
        await peer.answer(CHUNKED + chunk(b"data: [DONE]\n\n"))
        await read.wait()
        await peer.stream.send(END)
        await peer.answer(HELLO)

    async with running(script, kind, secure) as (server, transport):
        response = await transport.open(post(server.url), trace())
        assert await response.receive() == b"data: [DONE]\n\n"
        read.set()
        await response.aclose(drain=True)
        await _is_over(response)
        _, body, seen = await fetch(transport, post(server.url))
        assert (body, seen.reused, len(server.peers)) == (b"hello world", True, 1)


@both_ways
async def test_close_drains_for_a_while_only(kind: str, secure: bool) -> None:
    """A provider that holds the socket open, or sends on for ever, is left: draining takes 100 ms or 64 KiB."""

    async def script(peer: Peer) -> None:
        await peer.answer(CHUNKED + chunk(b"hello"))
        if peer.number:
            try:
                while True:
                    await peer.stream.send(chunk(b"x" * 10_000))
            except anyio.BrokenResourceError:
                peer.hung_up.set()
        await peer.wait_hang_up()

    async with running(script, kind, secure) as (server, transport):
        for number in range(2):
            response = await transport.open(post(server.url), trace())
            assert await response.receive()
            with anyio.fail_after(1):
                await response.aclose(drain=True)
            await server.peers[number].hung_up.wait()


async def test_close_of_the_transport_closes_idle_connections(kind: str) -> None:
    """Idle connections end with the transport."""

    async def script(peer: Peer) -> None:
        await peer.answer(HELLO)
        await peer.wait_hang_up()

    async with running(script, kind) as (server, transport):
        await fetch(transport, post(server.url))
        await transport.aclose()
        await server.peers[0].hung_up.wait()
