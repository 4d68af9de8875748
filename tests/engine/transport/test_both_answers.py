"""Bodies, requests and connection reuse: one suite for both transports (and both httpx libraries), on real sockets, plain and over TLS."""

from __future__ import annotations

import anyio
import pytest

from engine.transport.scripted_server import (
    CHUNKED,
    END,
    HELLO,
    KINDS,
    Peer,
    always,
    chunk,
    fetch,
    once,
    post,
    read_all,
    running,
    settle,
    trace,
)
from headwater.transport import open_with_fresh_retry
from headwater_codecs.neutral import NetworkError

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("kind", KINDS)]
both_ways = pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])


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
