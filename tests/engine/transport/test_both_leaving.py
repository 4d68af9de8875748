"""Cancelling, aborting and closing at every step, one suite for both transports: the server sees it, no descriptor is left."""

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
    always,
    chunk,
    fetch,
    make_transport,
    no_leak,
    post,
    read_all,
    running,
    settle,
    trace,
)
from headwater.transport import Trace, Transport, TransportResponse
from headwater_providers.adapter import HttpRequest

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("kind", KINDS)]
both_ways = pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])


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
