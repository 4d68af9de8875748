"""A request on an idle connection: it has no cancel scope of its own, and is ended all the same, by a deadline, by its stream, by its caller."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

import headwater as hw
from engine.transport.scripted_server import Peer, Server, no_leak, serve
from headwater.transport import AutoTransport, SocketTransport, Transport

pytestmark = pytest.mark.anyio
both_transports = pytest.mark.parametrize("make", [SocketTransport, AutoTransport])
BODY = (
    b'data: {"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n'
    b"data: [DONE]\n\n"
)  # fmt: skip
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n%s" % (len(BODY), BODY)


async def silent_at_the_second(peer: Peer) -> None:
    """Answers once on the first connection and then listens for ever; later connections are answered."""
    await peer.answer(ANSWER)
    if peer.number == 0:
        await peer.read_request()
        await peer.wait_hang_up()


async def gone_at_the_second(peer: Peer) -> None:
    """The first connection is closed when its second request has come; later ones answer."""
    await peer.answer(ANSWER)
    if peer.number == 0:
        await peer.read_request()


def asked(server: Server, **timeouts: float) -> hw.Request:
    """A request to this server."""
    to = hw.Model("m", provider="p", protocol="openai-chat", base_url=server.url, api_key="sk-test")
    return hw.Request(model=to, messages=[hw.user("hi")], timeouts=hw.Timeouts(**timeouts))


@asynccontextmanager
async def with_idle_connection(make: type[Transport], script: object = silent_at_the_second) -> AsyncIterator[tuple[Server, hw.Engine]]:
    """An engine that has one idle connection to the server."""
    async with no_leak(), serve(script) as server:  # type: ignore[arg-type]  # one of the scripts above
        transport = make()
        try:
            async with hw.Engine(transport=transport, retry=hw.Retry(attempts=0)) as engine:
                assert (await engine.generate(asked(server))).text == "Hi"
                yield server, engine
        finally:
            await transport.aclose()


async def second_request(server: Server) -> Peer:
    """The connection, once its second request has come."""
    while len(server.peers[0].requests) < 2:
        await anyio.lowlevel.checkpoint()
    return server.peers[0]


@both_transports
async def test_a_deadline_ends_the_wait(make: type[Transport]) -> None:
    """No content within `first_content`: the connection is closed, the error names the deadline."""
    async with with_idle_connection(make) as (server, engine):
        answer = await engine.generate(asked(server, first_content=0.1), raise_on_error=False)
        assert answer.error is not None
        assert (answer.error.kind, answer.error.deadline, answer.error.phase) == ("timeout", "first_content", "headers")
        with anyio.fail_after(2):
            await server.peers[0].hung_up.wait()
        assert len(server.peers) == 1


@both_transports
async def test_closing_the_stream_ends_the_wait(make: type[Transport]) -> None:
    """The stream is closed in another task: the pull brings StreamFailed of kind `aborted`."""
    async with with_idle_connection(make) as (server, engine):
        events: list[hw.Event] = []

        async def read(stream: hw.Stream) -> None:
            events.extend([event async for event in stream])

        async with engine.stream(asked(server)) as stream, anyio.create_task_group() as group:
            group.start_soon(read, stream)
            peer = await second_request(server)
            with anyio.fail_after(2):
                await stream.aclose()
                await peer.hung_up.wait()
        assert [type(event) for event in events] == [hw.StreamStart, hw.StreamFailed]
        assert isinstance(last := events[-1], hw.StreamFailed)
        assert last.error.kind == "aborted"


@both_transports
async def test_a_cancelled_caller_closes_the_connection(make: type[Transport]) -> None:
    """The caller's own cancellation reaches the provider; the next request goes out on a new connection."""
    async with with_idle_connection(make) as (server, engine):
        async with anyio.create_task_group() as group:
            group.start_soon(engine.generate, asked(server))
            peer = await second_request(server)
            group.cancel_scope.cancel()
        with anyio.fail_after(2):
            await peer.hung_up.wait()
        assert (await engine.generate(asked(server))).text == "Hi"
        assert len(server.peers) == 2


@both_transports
async def test_a_dead_connection_costs_no_retry(make: type[Transport]) -> None:
    """It closes as the request arrives: the request goes out once more on a new connection, as the same attempt."""
    async with with_idle_connection(make, gone_at_the_second) as (server, engine):
        answer = await engine.generate(asked(server))
        assert (answer.text, answer.attempts, len(server.peers)) == ("Hi", 1, 2)
