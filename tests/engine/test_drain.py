"""Draining an engine: no new streams, a grace for the open ones, and an honest count."""

from __future__ import annotations

import math

import anyio
import pytest

import headwater
from engine.upstream import Answer, Clock, Reader, collect, delta, failure, good, request, run, settle
from headwater.drain import Drained
from headwater.stream import Topology

pytestmark = pytest.mark.anyio


async def test_nothing_is_open(topology: Topology) -> None:
    """It is over at once, and the engine stays closed to new streams, also to those that were made before."""
    async with run(topology=topology) as (engine, upstream):
        made = engine.stream(request())
        assert await engine.drain(100) == Drained(0, 0)
        with pytest.raises(headwater.StreamAborted, match="the engine drains"):
            engine.stream(request())
        with pytest.raises(headwater.StreamAborted, match="the engine drains"):
            await engine.generate(request())
        with pytest.raises(headwater.StreamAborted, match="the engine drains"):
            await engine.call("GET", "/models", model=headwater.Model("m", provider="custom", base_url="http://h", api_key="k"))
        with pytest.raises(headwater.StreamAborted, match="the engine drains"):
            async with made:
                pass
        assert upstream.requests == []


@pytest.mark.parametrize("hedge", [None, 5.0])
async def test_some_end_and_some_are_closed(topology: Topology, hedge: float | None) -> None:
    """Who ends within the grace is counted apart from who is closed at its end; the closed ones say aborted."""
    clock = Clock()
    quick, slow, silent = Answer(delta("a"), open=True), Answer(delta("b"), open=True), Answer(open=True)
    readers: list[Reader] = []
    async with run(quick, slow, silent, clock=clock, topology=topology) as (engine, _):

        async def read() -> None:
            async with engine.stream(request(), hedge=hedge) as stream:
                readers.append(Reader(stream))
                await readers[-1]()

        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(read)
                await settle()
            drained: list[Drained] = []

            async def drain() -> None:
                drained.append(await engine.drain(3))

            group.start_soon(drain)
            await settle()
            quick.send(good("c"))
            quick.end()
            clock.now += 2.9
            engine.look(clock())
            await settle()
            assert drained == []
            clock.now += 0.1
            engine.look(clock())
        assert drained == [Drained(ended=1, closed=2)]
    assert [reader.text for reader in readers] == ["ac", "b", ""]
    assert [failure(reader.events).kind for reader in readers[1:]] == ["aborted", "aborted"]
    assert [len(answer.closed) for answer in (quick, slow, silent)] == [1, 1, 1]


async def test_over_as_soon_as_all_have_ended(topology: Topology) -> None:
    """The grace is a limit, not a wait."""
    answer = Answer(delta("a"), open=True)
    async with run(answer, clock=Clock(), topology=topology) as (engine, _), anyio.create_task_group() as group:

        async def read() -> None:
            async with engine.stream(request()) as stream:
                await collect(stream)

        group.start_soon(read)
        await settle()
        answer.send(good("b"))
        answer.end()
        assert await engine.drain(math.inf) == Drained(1, 0)


async def test_an_answer_that_has_ended_counts_as_ended(topology: Topology) -> None:
    """Though somebody is still in its block."""
    async with run(Answer(good("a")), topology=topology) as (engine, _), engine.stream(request()) as stream:
        await collect(stream)
        assert await engine.drain(0) == Drained(1, 0)
    assert (stream.response.text, stream.response.error) == ("a", None)


async def test_no_grace(topology: Topology) -> None:
    """Zero seconds: closed at once; other listeners are told."""
    answer = Answer(delta("a"), open=True)
    async with run(answer, topology=topology) as (engine, _), engine.stream(request()) as stream, anyio.create_task_group() as group:
        readers = [Reader(stream.subscribe()), Reader(stream.subscribe("coalesce"))]
        for reader in readers:
            group.start_soon(reader)
        await settle()
        assert await engine.drain(0) == Drained(0, 1)
    assert [(reader.text, failure(reader.events).kind) for reader in readers] == [("a", "aborted")] * 2
    assert answer.closed == ["closed"]


async def test_a_second_call_joins_the_first(topology: Topology) -> None:
    """Both are told the same."""
    drained: list[Drained] = []
    answer = Answer(delta("a"), open=True)
    async with run(answer, clock=(clock := Clock()), topology=topology) as (engine, _), engine.stream(request()) as stream:
        await anext(stream)

        async def drain(grace: float) -> None:
            drained.append(await engine.drain(grace))

        async with anyio.create_task_group() as group:
            for grace in (3, 100):
                group.start_soon(drain, grace)
                await settle()
            clock.now += 3
            engine.look(clock())
        assert drained == [Drained(0, 1)] * 2


async def test_a_cancelled_drain_stays_a_drain(topology: Topology) -> None:
    """Open streams go on, new ones are refused, and leaving the engine closes what is open."""
    answer = Answer(delta("a"), open=True)
    async with run(answer, topology=topology) as (engine, _), engine.stream(request()) as stream:
        await anext(stream)
        with anyio.move_on_after(0.01) as scope:
            await engine.drain(100)
        assert (scope.cancelled_caught, answer.closed) == (True, [])
        with pytest.raises(headwater.StreamAborted):
            engine.stream(request())
        answer.send(good("b"))
        answer.end()
        assert (await stream.result()).text == "ab"


async def test_what_cannot_be_drained(topology: Topology) -> None:
    """A grace below zero, and an engine that does not run. An engine that is started anew opens streams again."""
    async with run(Answer(good("a")), topology=topology) as (engine, _):
        for grace in (-1, math.nan):
            with pytest.raises(headwater.ConfigurationError, match="grace is"):
                await engine.drain(grace)
        assert (await engine.generate(request())).text == "a"
        await engine.drain(0)
    with pytest.raises(headwater.ConfigurationError, match="not running"):
        await engine.drain(0)
    async with engine:
        engine.stream(request())


async def test_in_real_time(topology: Topology) -> None:
    """The watchdog ends the grace by itself."""
    answer = Answer(delta("a"), open=True)
    async with run(answer, topology=topology) as (engine, _), engine.stream(request()) as stream:
        await anext(stream)
        started = anyio.current_time()
        assert await engine.drain(0.1) == Drained(0, 1)
        assert 0.1 <= anyio.current_time() - started < 1
