"""Nothing is left behind: no descriptor, no task, no object, however streams end."""

from __future__ import annotations

import gc
import weakref

import anyio
import pytest

import headwater
from engine.transport.scripted_server import no_leak, open_descriptors
from engine.upstream import NO_RETRY, TOPOLOGIES, Answer, Reader, collect, delta, good, model, request, run, settle
from headwater.stream import Stream, Topology
from headwater_codecs.neutral import Request, user
from loopback import Asked, Reply, ending, loopback

pytestmark = pytest.mark.anyio

WAYS = ["whole", "break", "cancelled", "refused", "cut", "listeners", "not read", "raises"]


async def script(asked: Asked, reply: Reply) -> None:
    """Does as the prompt says."""
    if asked.prompt == "refused":
        await reply.whole(500, b"{}")
        return
    await reply.begin()
    await reply.send(delta("a"))
    if asked.prompt in ("whole", "listeners"):
        await reply.send(ending())
    elif asked.prompt != "cut":
        await anyio.sleep_forever()


async def use(engine: headwater.Engine, url: str, way: str) -> None:
    """One stream that ends in this way."""
    asked = Request(model=model(url), messages=[user(way)])
    if way == "raises":
        with pytest.raises(ZeroDivisionError):
            await _use(engine, asked, way)
    elif way == "cancelled":
        with anyio.move_on_after(0.05) as scope:
            await _use(engine, asked, way)
        assert scope.cancelled_caught
    else:
        await _use(engine, asked, way)


async def _use(engine: headwater.Engine, asked: Request, way: str) -> None:
    async with engine.stream(asked) as stream:
        if way == "listeners":
            async with anyio.create_task_group() as group:
                for policy in ("block", "coalesce", "disconnect"):
                    group.start_soon(Reader(stream.subscribe(policy)))
        if way == "not read":
            return
        async for _ in stream:
            if way == "break":
                break
            if way == "raises":
                raise ZeroDivisionError


@pytest.mark.parametrize(("topology", "transport"), [*((topology, "socket") for topology in TOPOLOGIES), ("fused", "httpx")])
@pytest.mark.parametrize("way", WAYS)
async def test_descriptors_and_tasks(anyio_backend: str, topology: Topology, transport: str, way: str) -> None:
    """After the engine no socket and no task is left; before, no task of a stream that is over."""
    headwater.Engine(transport=transport)  # what is made once is made before descriptors are counted
    with anyio.fail_after(10):
        async with no_leak(), loopback(script) as server:
            await settle()
            before = len(anyio.get_running_tasks())
            async with headwater.Engine(transport=transport, topology=topology, retry=NO_RETRY) as engine:
                for _ in range(3):
                    await use(engine, server.base_url, way)
                names = {task.name for task in anyio.get_running_tasks()}
                assert not names & {"headwater.parser", "headwater.translator", "headwater.aggregator", "headwater.fan-out"}
                assert engine._streams == set()
            names = {task.name for task in anyio.get_running_tasks()}
            assert "headwater.watchdog" not in names
            for asked in server.asked:
                if way in ("break", "cancelled", "raises"):
                    await asked.hung_up.wait()
            await settle()
            assert len(anyio.get_running_tasks()) <= before


async def test_many_streams_at_once(anyio_backend: str, topology: Topology) -> None:
    """A hundred that are cancelled together leave nothing, and the engine works on."""
    with anyio.fail_after(10):
        async with no_leak(), loopback(script) as server, headwater.Engine(topology=topology, retry=NO_RETRY) as engine:
            async with anyio.create_task_group() as group:
                for _ in range(100):
                    group.start_soon(_use, engine, Request(model=model(server.base_url), messages=[user("stall")]), "cancelled")
                await server.busy(100)
                group.cancel_scope.cancel()
            for asked in server.asked:
                await asked.hung_up.wait()
            await use(engine, server.base_url, "whole")


async def test_cancelled_at_random_moments_then_used(anyio_backend: str, topology: Topology) -> None:
    """Forty streams cancelled at forty moments, from before the connection to within the body; the next ones work (B238)."""
    with anyio.fail_after(10):
        async with no_leak(), loopback(script) as server, headwater.Engine(topology=topology, retry=NO_RETRY) as engine:

            async def cancelled_after(turns: int) -> None:
                async with anyio.create_task_group() as group:
                    group.start_soon(use, engine, server.base_url, "whole")
                    for _ in range(turns):
                        await anyio.lowlevel.checkpoint()
                    group.cancel_scope.cancel()

            async with anyio.create_task_group() as group:
                for turns in range(40):
                    group.start_soon(cancelled_after, turns)
            for _ in range(4):
                await use(engine, server.base_url, "whole")


@pytest.mark.parametrize("way", ["whole", "break", "listeners"])
async def test_objects(topology: Topology, way: str) -> None:
    """A stream that was left and let go is freed, with all that belonged to it."""
    seen: list[weakref.ref[Stream]] = []

    async def one(engine: headwater.Engine) -> None:
        async with engine.stream(request()) as stream:
            seen.append(weakref.ref(stream))
            if way == "break":
                await anext(stream)
            elif way == "listeners":
                listener = stream.subscribe()
                await collect(listener)
            else:
                await collect(stream)

    async with run(*[Answer(good("a")) for _ in range(5)], topology=topology) as (engine, _):
        for _ in range(5):
            await one(engine)
        await settle()
        gc.collect()
        assert [reference() for reference in seen] == [None] * 5


async def test_generators_are_not_finalised_late(anyio_backend: str, topology: Topology) -> None:
    """A stream that is dropped in the middle, then collected: no warning of a generator or a scope in a foreign task (B236)."""
    answer = Answer(delta("a"), open=True)
    async with run(answer, topology=topology) as (engine, _):
        stream: Stream | None = engine.stream(request())
        assert stream is not None
        async with stream:
            async for _ in stream:
                break
        texts = stream.text_deltas()
        stream = None
        del texts
        gc.collect()
        await settle()


def test_descriptors_can_be_counted() -> None:
    """The counter sees what is open: a test that counts nothing would prove nothing."""
    before = open_descriptors()
    with open(__file__, "rb"):  # noqa: PTH123  # any descriptor will do
        assert open_descriptors() == before + 1
