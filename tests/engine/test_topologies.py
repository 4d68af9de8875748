"""The three topologies as they run: which tasks there are, and that they read real sockets alike."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import anyio.lowlevel
import pytest

import headwater
from engine.upstream import NO_RETRY, TOPOLOGIES, Answer, collect, delta, model, request, run, settle, text_of
from headwater.stream import Topology
from headwater_codecs.neutral import Event, Finish, Request, user
from loopback import Asked, Reply, ending, loopback
from loopback import delta as delta_of

pytestmark = pytest.mark.anyio

NAMES = {
    "fused": set[str](),
    "fan-out": {"headwater.fan-out"},
    "staged": {"headwater.parser", "headwater.translator", "headwater.aggregator", "headwater.fan-out"},
}


def tasks() -> set[str]:
    """The names of the engine's tasks, but for the watchdog's."""
    names = {task.name or "" for task in anyio.get_running_tasks()}
    return {name for name in names if name.startswith("headwater.")} - {"headwater.watchdog"}


class Slow:
    """An asynchronous stage."""

    async def feed(self, batch: Sequence[Event], /) -> Sequence[Event]:
        return batch

    async def finish(self) -> Sequence[Event]:
        return []


async def test_which_tasks_run(topology: Topology) -> None:
    """Fused has none, fan-out one, staged four, all named; after the block there are none."""
    answer = Answer(delta("a"), open=True)
    async with run(answer, topology=topology) as (engine, _):
        async with engine.stream(request()) as stream:
            assert tasks() == set()
            await anext(stream)
            await settle()
            assert tasks() == NAMES[topology]
        assert tasks() == set()


async def test_an_async_stage_has_an_actor(topology: Topology) -> None:
    """And a synchronous neighbour has none."""
    answer = Answer(delta("a"), open=True)
    async with run(answer, topology=topology) as (engine, _):
        async with engine.stream(request(), stages=[Slow()]) as stream:
            await anext(stream)
            await settle()
            assert tasks() == NAMES[topology] | {"headwater.stage.0"}
        assert tasks() == set()


async def test_a_listener_brings_the_pump() -> None:
    """From the first `subscribe` on, a fused stream has one task; it ends with the stream, not with the block."""
    answer = Answer(delta("a"), open=True)
    async with run(answer) as (engine, _), engine.stream(request()) as stream:
        listener = stream.subscribe()
        await settle()
        assert tasks() == {"headwater.fan-out"}
        answer.send(ending())
        answer.end()
        await settle()
        assert tasks() == set()
        assert text_of(await collect(listener)) == "a"


async def test_real_sockets(anyio_backend: str, topology: Topology) -> None:
    """A long answer in many pieces, byte-exact, one connection after the other."""
    pieces = [f"piece {number} " for number in range(300)]

    async def script(asked: Asked, reply: Reply) -> None:
        await reply.begin()
        for piece in pieces:
            await reply.send(delta_of(piece))
        await reply.send(ending())

    with anyio.fail_after(10):
        async with loopback(script) as server, headwater.Engine(topology=topology, retry=NO_RETRY) as engine:
            for _ in range(3):
                async with engine.stream(Request(model=model(server.base_url), messages=[user("hi")])) as stream:
                    events = await collect(stream)
                assert (text_of(events), type(events[-1]), stream.response.text) == ("".join(pieces), Finish, "".join(pieces))


async def test_the_topologies_give_the_same_events_on_real_sockets(anyio_backend: str) -> None:
    """Fused, through a pump, staged, and as a listener."""

    async def script(asked: Asked, reply: Reply) -> None:
        await reply.chat("a", "b", "c")

    seen: list[Sequence[Event]] = []
    with anyio.fail_after(5):
        async with loopback(script) as server, headwater.Engine() as engine:
            asked = Request(model=model(server.base_url), messages=[user("hi")])
            for topology in TOPOLOGIES:
                async with engine.stream(asked, topology=topology) as stream:
                    seen.append(await collect(stream))
                async with engine.stream(asked, topology=topology) as stream:
                    seen.append(await collect(stream.subscribe()))
    assert all(events == seen[0] for events in seen)
