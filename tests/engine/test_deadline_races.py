"""The watchdog against everything that may happen at the same moment, and the waits that are easily forgotten."""

from __future__ import annotations

import anyio
import pytest

import headwater
from engine.upstream import (
    NO_RETRY,
    Answer,
    Clock,
    Reader,
    Upstream,
    collect,
    delta,
    failure,
    finish_only,
    good,
    in_band,
    model,
    request,
    run,
    settle,
)
from headwater.deadlines import GRACE
from headwater.stream import Topology
from headwater_codecs.neutral import Finish, Request, Timeouts, user

TIMEOUTS = Timeouts(connect=1, first_content=2, idle=3, total=100)


@pytest.mark.anyio
async def test_a_deadline_that_fires_while_opening_succeeds(topology: Topology) -> None:
    """The watchdog and the answer come at the same time: the deadline has it, and the response is closed."""
    clock, answers = Clock(), anyio.Event()
    answer = Answer(good("a"), answers=answers)
    async with (
        run(answer, clock=clock, topology=topology, timeouts=Timeouts(first_content=2)) as (engine, upstream),
        engine.stream(request()) as stream,
    ):
        reader = Reader(stream)
        async with anyio.create_task_group() as group:
            group.start_soon(reader)
            await settle()
            answers.set()
            clock.now += 2
            engine.look(clock())
            await reader.done.wait()
        assert upstream.left_open == []
    assert failure(reader.events).deadline == "first_content"


@pytest.mark.anyio
async def test_a_deadline_that_fires_while_data_come(topology: Topology) -> None:
    """What the read still brought is handed over before the failure."""
    clock = Clock()
    answer = Answer(delta("a"), open=True)
    async with run(answer, clock=clock, topology=topology, timeouts=Timeouts(idle=2)) as (engine, _), engine.stream(request()) as stream:
        reader = Reader(stream)
        async with anyio.create_task_group() as group:
            group.start_soon(reader)
            await settle()
            answer.send(delta("b"))
            clock.now += 2
            engine.look(clock())
            await reader.done.wait()
    assert (failure(reader.events).deadline, reader.text) in [("idle", "ab"), ("idle", "a")]
    assert answer.closed == ["aborted"]


@pytest.mark.anyio
async def test_total_covers_a_token_provider_that_hangs(topology: Topology) -> None:
    """Fetching a token is part of the call; the request is never sent."""
    clock = Clock()

    async def never() -> str:
        await anyio.sleep_forever()
        return ""

    asked = Request(model=model(api_key=never), messages=[user("hi")])
    async with run(clock=clock, topology=topology, timeouts=Timeouts(connect=1, total=5)) as (engine, upstream), engine.stream(asked) as stream:
        reader = Reader(stream)
        async with anyio.create_task_group() as group:
            group.start_soon(reader)
            await settle()
            clock.now += 4.9
            engine.look(clock())
            await settle()
            assert not reader.done.is_set()  # `connect` does not count it
            clock.now += 0.2
            engine.look(clock())
            await reader.done.wait()
    assert (failure(reader.events).deadline, upstream.requests) == ("total", [])


@pytest.mark.anyio
async def test_total_passes_before_the_first_pull(topology: Topology) -> None:
    """A stream that nobody read in time does not start."""
    clock = Clock()
    async with run(clock=clock, topology=topology, timeouts=Timeouts(total=5)) as (engine, upstream), engine.stream(request()) as stream:
        clock.now += 5
        assert failure(await collect(stream)).deadline == "total"
        assert upstream.requests == []


@pytest.mark.anyio
async def test_total_during_a_back_off(topology: Topology) -> None:
    """It ends the wait for the next attempt at once, and that attempt is not made."""
    clock = Clock()
    options = {"clock": clock, "topology": topology, "retry": headwater.Retry(), "timeouts": Timeouts(total=100)}
    hint = Answer(b"{}", status=429, headers={"retry-after": "30"})  # far beyond the limit of this test
    async with run(hint, **options) as (engine, upstream), engine.stream(request()) as stream:
        reader = Reader(stream)
        async with anyio.create_task_group() as group:
            group.start_soon(reader)
            await settle()
            assert len(upstream.requests) == 1
            clock.now += 100
            engine.look(clock())
            await reader.done.wait()
    error = failure(reader.events)
    assert (error.deadline, len(upstream.requests)) == ("total", 1)


@pytest.mark.anyio
async def test_the_grace_of_a_second_attempt(topology: Topology) -> None:
    """A first attempt that broke off after its finish reason, without content, leaves no trace in the deadlines either."""
    clock = Clock()
    answers = [Answer(finish_only(), in_band("overloaded", code=503)), Answer(delta("a"), finish_only(), open=True)]
    async with run(*answers, clock=clock, topology=topology, retry=headwater.Retry(base=0)) as (engine, _), engine.stream(request()) as stream:
        reader = Reader(stream)
        async with anyio.create_task_group() as group:
            group.start_soon(reader)
            while not answers[1].waiting:
                await settle()
            await settle()
            clock.now += GRACE
            engine.look(clock())
            await reader.done.wait()
    assert (reader.text, type(reader.events[-1]), stream.response.attempts) == ("a", Finish, 2)


@pytest.mark.anyio
async def test_a_new_connection_has_the_connect_deadline(topology: Topology) -> None:
    """The second try after a dead pooled connection is a new connect, not a wait for content."""
    clock = Clock()

    class Reusing(Upstream):
        """Its first connection comes from a pool, and is dead."""

        async def open(self, request: object, trace: object) -> Answer:
            if not self.requests:
                self.requests.append(request)  # type: ignore[arg-type]
                trace.got_connection(reused=True)  # type: ignore[attr-defined]
                raise headwater.NetworkError("dead")
            return await super().open(request, trace)  # type: ignore[arg-type]

    upstream = Reusing(Answer(connects=anyio.Event()))
    with anyio.fail_after(5):
        made = headwater.Engine(transport=upstream, clock=clock, topology=topology, retry=NO_RETRY, timeouts=TIMEOUTS)
        async with made as engine, engine.stream(request()) as stream:
            reader = Reader(stream)
            async with anyio.create_task_group() as group:
                group.start_soon(reader)
                await settle()
                clock.now += 1
                engine.look(clock())
                await reader.done.wait()
    assert (failure(reader.events).deadline, failure(reader.events).phase, len(upstream.requests)) == ("connect", "connect", 2)


@pytest.mark.anyio
async def test_an_abort_that_fails_does_not_end_the_engine(topology: Topology) -> None:
    """A transport's fault while a wait is ended stays with its stream."""
    clock = Clock()

    class Stubborn(Answer):
        async def abort(self) -> None:
            await super().abort()
            raise RuntimeError("no")

    async with run(Stubborn(open=True), Answer(good("b")), clock=clock, topology=topology, timeouts=TIMEOUTS) as (engine, _):
        async with engine.stream(request()) as stream:
            reader = Reader(stream)
            async with anyio.create_task_group() as group:
                group.start_soon(reader)
                await settle()
                clock.now += 2
                engine.look(clock())
                await reader.done.wait()
        assert failure(reader.events).deadline == "first_content"
        assert (await engine.generate(request())).text == "b"
