"""Each deadline once in real time, over real sockets, on every topology."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import pytest

import headwater
from engine.upstream import (
    NO_RETRY,
    PING,
    collect,
    delta,
    failure,
    model,
)
from headwater.stream import Topology
from headwater_codecs.neutral import Request, Timeouts, user
from loopback import Asked, Reply, loopback

Script = Callable[[Asked, Reply], Awaitable[None]]


async def silent(asked: Asked, reply: Reply) -> None:
    """Never answers."""
    await anyio.sleep_forever()


async def begins(asked: Asked, reply: Reply) -> None:
    """Headers, then pings for ever."""
    await reply.begin()
    while True:
        await reply.send(PING)
        await anyio.sleep(0.03)


async def stalls(asked: Asked, reply: Reply) -> None:
    """One delta, then pings for ever."""
    await reply.begin()
    await reply.send(delta("a"))
    while True:
        await reply.send(PING)
        await anyio.sleep(0.03)


async def steady(asked: Asked, reply: Reply) -> None:
    """One delta after the other, without an end."""
    await reply.begin()
    while True:
        await reply.send(delta("a"))
        await anyio.sleep(0.03)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("script", "timeouts", "deadline", "phase"),
    [
        (silent, Timeouts(first_content=0.2), "first_content", "headers"),
        (begins, Timeouts(first_content=0.2), "first_content", "stream"),
        (stalls, Timeouts(first_content=5, idle=0.2), "idle", "stream"),
        (steady, Timeouts(idle=5, total=0.3), "total", "stream"),
    ],
    ids=["headers", "first-content", "idle", "total"],
)
async def test_in_real_time(anyio_backend: str, topology: Topology, script: Script, timeouts: Timeouts, deadline: str, phase: str) -> None:
    """It fires on real sockets within a moment of its time, and the provider sees the hang-up."""
    limit = getattr(timeouts, deadline)
    with anyio.fail_after(5):
        async with loopback(script) as server, headwater.Engine(timeouts=timeouts, topology=topology, retry=NO_RETRY) as engine:
            asked = Request(model=model(server.base_url), messages=[user("hi")])
            started = anyio.current_time()
            async with engine.stream(asked) as stream:
                error = failure(await collect(stream))
            took = anyio.current_time() - started
            await server.asked[0].hung_up.wait()
    assert (error.kind, error.deadline, error.phase) == ("timeout", deadline, phase)
    assert limit <= took < limit + 1


@pytest.mark.anyio
async def test_connect_in_real_time(anyio_backend: str, topology: Topology) -> None:
    """A server that accepts nothing more: connecting is given up in time."""
    async with await anyio.create_tcp_listener(local_host="127.0.0.1", backlog=1) as listener:
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        held: list[anyio.abc.SocketStream] = []
        with anyio.move_on_after(0.1):  # fill the backlog, so that the next connection waits
            while True:
                held.append(await anyio.connect_tcp("127.0.0.1", port))
        with anyio.fail_after(5):
            async with headwater.Engine(timeouts=Timeouts(connect=0.2), topology=topology, retry=NO_RETRY) as engine:
                asked = Request(model=model(f"http://127.0.0.1:{port}/v1"), messages=[user("hi")])
                async with engine.stream(asked) as stream:
                    error = failure(await collect(stream))
        for connection in held:
            await connection.aclose()
    assert (error.kind, error.deadline, error.phase) == ("timeout", "connect", "connect")
