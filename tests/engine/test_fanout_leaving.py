"""Listeners that leave, fail or are left: what the others see, and when the stream ends with the last of them."""

from __future__ import annotations

import anyio
import pytest

import headwater
from engine.upstream import Answer, Clock, Reader, collect, delta, failure, finish_only, good, request, run, settle, text_of, usage_only
from headwater.aggregate import Aggregator
from headwater.ending import Ending
from headwater.fanout import Hub, pump
from headwater.stream import Topology
from headwater.telemetry import StreamLog
from headwater_codecs.neutral import Event, Finish, StreamFailed, StreamStart, TextDelta, TextEnd, TextStart

pytestmark = pytest.mark.anyio


async def test_one_that_fails_is_nobody_elses_business(topology: Topology) -> None:
    """A listener whose consumer raises leaves; the others get everything (B249)."""
    answer = Answer(delta("a"), open=True)
    async with run(answer, topology=topology) as (engine, _), engine.stream(request()) as stream:
        others = [Reader(stream.subscribe()), Reader(stream)]

        async def fails() -> None:
            with pytest.raises(ZeroDivisionError), stream.subscribe() as subscription:  # noqa: PT012  # what is raised comes out of the block
                async for _ in subscription:
                    raise ZeroDivisionError

        async with anyio.create_task_group() as group:
            group.start_soon(fails)
            for other in others:
                group.start_soon(other)
            await settle()
            answer.send(good("b"))
            answer.end()
    assert [other.text for other in others] == ["ab", "ab"]


async def test_one_that_leaves_while_it_waits(topology: Topology) -> None:
    """A closed subscription ends at once, in whatever task it is read."""
    answer = Answer(delta("a"), open=True)
    async with run(answer, topology=topology) as (engine, _), engine.stream(request()) as stream:
        subscription = stream.subscribe()
        reader = Reader(subscription)
        async with anyio.create_task_group() as group:
            group.start_soon(reader)
            await settle()
            subscription.close()
            await reader.done.wait()
        assert (reader.text, reader.error) == ("a", None)
        assert await subscription.next_batch() is None
        subscription.close()


async def test_one_that_leaves_with_a_full_mailbox_drops_it(topology: Topology) -> None:
    """What is unread is dropped, and the source goes on."""
    answer = Answer(*[delta("a")] * 10, open=True)
    async with run(answer, topology=topology) as (engine, _), engine.stream(request()) as stream:
        full = stream.subscribe(buffer=1)
        await settle()
        held = answer.reads
        full.close()
        await settle()
        assert held < answer.reads == 10
        assert (full.mailbox.waiting, await full.next_batch()) == (0, None)


async def test_two_tasks_on_one_subscription(topology: Topology) -> None:
    """Events cannot be shared out between two readers: the second one is told what to do, the first one is not disturbed."""
    answer = Answer(delta("a"), open=True)
    async with run(answer, topology=topology) as (engine, _), engine.stream(request()) as stream:
        for source in (stream, stream.subscribe()):
            first, second = Reader(source), Reader(source)
            async with anyio.create_task_group() as group:
                group.start_soon(first)
                await settle()
                group.start_soon(second)
                await second.done.wait()
                assert type(second.error) is headwater.ConfigurationError
                assert "two tasks read the same iterator: give each its own `stream.subscribe()`" in str(second.error)
                assert not first.done.is_set()
                group.cancel_scope.cancel()


@pytest.mark.parametrize("when", ["continue", "cancel", 10.0])
async def test_when_the_last_one_has_left(topology: Topology, when: str | float) -> None:
    """The stream goes on, is given up at once, or after a grace in which nobody came; given up, the connection is closed too."""
    clock, answer = Clock(), Answer(delta("a"), open=True)
    async with run(answer, topology=topology, clock=clock) as (engine, _), engine.stream(request(), when_unwatched=when) as stream:  # type: ignore[arg-type]
        first, second = stream.subscribe(), stream.subscribe()
        await settle()
        first.close()
        await settle()
        assert answer.closed == []
        second.close()
        await settle()
        clock.now += 9.9
        engine.look(clock())
        await settle()
        assert bool(answer.closed) == (when == "cancel")
        clock.now += 0.2
        engine.look(clock())
        await settle()
        assert bool(answer.closed) == (when != "continue")
        answer.send(good("b"))
        answer.end()
        await settle()
        late = await collect(stream.subscribe())
        if when == "continue":
            assert (type(late[-1]), text_of(late)) == (Finish, "ab")
        else:
            assert (failure(late).kind, failure(late).retryable, text_of(late)) == ("aborted", False, "a")
            assert stream.response.error == failure(late)


async def test_who_comes_within_the_grace_saves_the_stream(topology: Topology) -> None:
    """And the grace counts anew when that one leaves."""
    clock, answer = Clock(), Answer(delta("a"), open=True)
    async with run(answer, topology=topology, clock=clock) as (engine, _), engine.stream(request(), when_unwatched=10) as stream:
        stream.subscribe().close()
        clock.now += 9
        saved = stream.subscribe()
        clock.now += 9
        engine.look(clock())
        await settle()
        assert answer.closed == []
        saved.close()
        clock.now += 9
        engine.look(clock())
        await settle()
        assert answer.closed == []
        clock.now += 1
        engine.look(clock())
        await settle()
        assert len(answer.closed) == 1


async def test_the_connection_is_closed_at_the_end_not_at_the_exit(topology: Topology) -> None:
    """Where a pump reads, a slow listener keeps no connection."""
    answer = Answer(good("a"))
    async with run(answer, topology=topology) as (engine, _), engine.stream(request()) as stream:
        slow = stream.subscribe()
        await settle()
        assert answer.closed == ["drained"]
        assert text_of(await collect(slow)) == "a"
    assert answer.closed == ["drained"]


async def test_leaving_the_block_aborts_the_listeners(topology: Topology) -> None:
    """They get what there was, the ends of what is open, and StreamFailed of kind aborted: never something like an end."""
    answer = Answer(delta("a"), open=True)
    async with run(answer, topology=topology) as (engine, _):
        async with anyio.create_task_group() as group, engine.stream(request()) as stream:
            waits, idle = Reader(stream.subscribe()), stream.subscribe()
            group.start_soon(waits)
            await settle()
        events = await collect(idle)
    assert waits.events == events
    assert events[-2:] == [TextEnd(0, complete=False), events[-1]]
    assert isinstance(events[-1], StreamFailed)
    error = events[-1].error
    assert (error.kind, error.phase, error.retryable, error.message) == ("aborted", "stream", False, "the stream was closed before its end")
    assert error.bytes_received == len(delta("a"))
    assert stream.response.error == error


@pytest.mark.parametrize("cut", [1, 2, 3])
async def test_aborted_listeners_see_lawful_streams_while_the_actors_run_ahead(cut: int) -> None:
    """In the staged topology the aggregate is ahead of what was published: blocks are closed as the listeners saw them."""
    answer = Answer(delta("a"), finish_only(), usage_only(), open=True)
    async with run(answer, topology="staged") as (engine, _):
        async with engine.stream(request()) as stream:
            blocked = stream.subscribe(buffer=1)  # its mailbox holds the pump back after the first batch
            for _ in range(cut * 20):
                await anyio.lowlevel.checkpoint()
            late = stream.subscribe()
        for listener in (blocked, late):
            events = await collect(listener)
            assert (events[-1], text_of(events)) == (StreamFailed(failure(events)), "a")
            opened = [event.index for event in events if isinstance(event, TextStart)]
            assert [event.index for event in events if isinstance(event, TextEnd)] == opened


class Stopped:
    """An actor's channel: batches, then the actor was stopped, or failed."""

    def __init__(self, batches: list[list[Event]], error: Exception) -> None:
        self._batches = iter(batches)
        self._error = error

    async def next_batch(self) -> list[Event]:
        for batch in self._batches:
            return batch
        raise self._error


@pytest.mark.parametrize(
    ("error", "kind"),
    [(headwater.StreamAborted("stopped"), "aborted"), (ZeroDivisionError("division by zero"), "internal")],
    ids=["stopped", "failed"],
)
async def test_an_actor_that_ends_ahead_of_its_readers(error: Exception, kind: str) -> None:
    """What it folded and nobody was given is not said to the listeners: they see a lawful end of what they know, with the response's error."""
    known: list[Event] = [StreamStart("m"), TextStart(0), TextDelta(0, "a")]
    ahead = Aggregator()
    ahead.feed([*known, TextDelta(0, "b"), TextEnd(0)])

    def aborted() -> headwater.ErrorInfo:
        assert ahead.response.error is not None
        return ahead.response.error

    hub = Hub(Aggregator(), 0, lambda: None, lambda listener: None, folds=True)
    listener = hub.subscribe("block", 10, 30.0)
    ending = Ending(Stopped([known], error), None, ahead, lambda info: info, StreamLog(None, "p", "m", "stream"))
    await pump(ending, hub, Clock(), aborted)
    events = await collect(listener)
    assert events == [*known, TextEnd(0, complete=False), StreamFailed(aborted())]
    assert aborted().kind == kind
