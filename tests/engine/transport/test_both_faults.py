"""What goes wrong, one suite for both transports: broken bodies, garbage, refusals, TLS, headers that cannot be sent."""

from __future__ import annotations

import socket

import anyio
import pytest

from engine.transport.scripted_server import (
    CHUNKED,
    HELLO,
    KINDS,
    Peer,
    chunk,
    fetch,
    make_transport,
    no_leak,
    once,
    post,
    read_all,
    running,
    serve,
    trace,
)
from headwater.transport.tls import default_context
from headwater_codecs.neutral import ConfigurationError, ErrorInfo, HeadwaterError, MalformedError, NetworkError, TruncatedError

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("kind", KINDS)]
both_ways = pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])


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
