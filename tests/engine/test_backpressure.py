"""Back-pressure in exact numbers: how far a source is read when nobody takes what it gave."""

from __future__ import annotations

import math
from collections.abc import Sequence

import anyio
import pytest

import headwater
from engine.upstream import Answer, Clock, Reader, collect, delta, failure, good, request, run, settle, text_of
from headwater.aggregate import Aggregator
from headwater.fanout import Hub, Subscription
from headwater.stream import Topology
from headwater_codecs.neutral import Event, Finish, StreamStart, TextDelta, TextStart, error_info

pytestmark = pytest.mark.anyio

FIRST = 3  # events of the first read: StreamStart, TextStart, TextDelta
# Batches that a pump has read when it is held back: the one that filled the mailbox; the actors of the staged topology hold theirs besides.
CHANNEL = 1
HANDS = 1
ACTORS = {"fused": 0, "fan-out": 0, "staged": 3}  # parser, translator, aggregator


def ahead(topology: Topology) -> int:
    """Reads of the source beyond what the pump has published."""
    return ACTORS[topology] * (CHANNEL + HANDS)


@pytest.mark.rows("ISS-18", "AMB-22")
@pytest.mark.parametrize("buffer", [1, 3, 4, 7])
async def test_block_stops_the_source(topology: Topology, buffer: int) -> None:
    """A listener with policy block that does not read: the source is read until `buffer` events are unread, and no further."""
    answer = Answer(*[delta("a")] * 100, open=True)
    async with run(answer, topology=topology) as (engine, _), engine.stream(request()) as stream:
        slow = stream.subscribe("block", buffer=buffer)
        await settle()
        published = 1 + max(0, buffer - FIRST)  # reads of one event each, after the first
        assert slow.mailbox.waiting == FIRST + published - 1
        assert answer.reads == published + ahead(topology)
        await slow.next_batch()
        await settle()
        assert buffer <= slow.mailbox.waiting <= max(buffer, FIRST)  # what was taken has been read anew
        assert answer.reads == slow.stats.delivered + slow.mailbox.waiting - (FIRST - 1) + ahead(topology)


async def test_the_reader_alone_reads_no_further_than_it_pulls() -> None:
    """Fused, there is no reading ahead at all."""
    answer = Answer(*[delta("a")] * 100, open=True)
    async with run(answer) as (engine, _), engine.stream(request()) as stream:
        for reads in (1, 2, 3):
            await stream.next_batch()
            await settle()
            assert answer.reads == reads


@pytest.mark.parametrize("pumped", ["fan-out", "staged"])
async def test_the_reader_is_a_listener_with_policy_block(pumped: Topology) -> None:
    """Where a pump reads, the reader's own mailbox holds it back at 256 events."""
    answer = Answer(*[delta("a")] * 1000, open=True)
    async with run(answer, topology=pumped) as (engine, _), engine.stream(request()) as stream:
        await stream.next_batch()
        for _ in range(20):
            await settle()
        assert stream._main is not None
        assert stream._main.mailbox.waiting == 256
        assert answer.reads == 1 + 256 + ahead(pumped)


@pytest.mark.parametrize("policy", ["coalesce", "disconnect"])
async def test_the_others_do_not_stop_the_source(topology: Topology, policy: str) -> None:
    """One that never reads and holds nobody back: the other one gets everything (B247)."""
    count = 500
    answer = Answer(*[delta("a")] * count, good("b"))
    async with run(answer, topology=topology) as (engine, _), engine.stream(request()) as stream:
        never = stream.subscribe(policy, buffer=10)  # type: ignore[arg-type]
        events = await collect(stream)
        assert text_of(events) == "a" * count + "b"
        assert never.stats.most_waiting <= 10
        if policy == "coalesce":
            assert text_of(await collect(never)) == text_of(events)  # in a few events, without a loss
            assert never.stats.delivered <= 20
            assert never.stats.delivered + never.stats.merged == len(events)
            return
        reader = Reader(never)
        await reader()
        assert type(reader.error) is headwater.SubscriberLagged
        assert str(reader.error) == "this listener fell more than 10 events behind: read faster, or subscribe with policy 'coalesce'"
        assert (len(reader.events), never.stats.delivered) == (10, 10)


async def test_block_slows_the_others_down_and_closing_releases_them(topology: Topology) -> None:
    """With an abandoned listener of policy block the reader gets what its bound allows, and all the rest once it is closed."""
    answer = Answer(*[delta("a")] * 50, good("b"))
    async with run(answer, topology=topology) as (engine, _), engine.stream(request()) as stream:
        abandoned = stream.subscribe("block", buffer=10)
        main = Reader(stream.subscribe())
        async with anyio.create_task_group() as group:
            group.start_soon(main)
            await settle()
            assert (len(main.events), main.done.is_set()) == (10, False)
            abandoned.close()
            await main.done.wait()
    assert (main.text, type(main.events[-1])) == ("a" * 50 + "b", Finish)


async def test_patience(topology: Topology) -> None:
    """A listener that holds the source back for longer than its patience is given up; the others go on, it gets what it had."""
    answer = Answer(*[delta("a")] * 50, good("b"))
    async with run(answer, topology=topology) as (engine, _), engine.stream(request()) as stream:
        abandoned = stream.subscribe("block", buffer=10, patience=0.05)
        assert text_of(await collect(stream)) == "a" * 50 + "b"
        assert abandoned.stats.blocked >= 0.05
        reader = Reader(abandoned)
        await reader()
    assert (type(reader.error), len(reader.events)) == (headwater.SubscriberLagged, 10)


async def test_giving_up_the_last_one_leaves_nobody(topology: Topology) -> None:
    """A listener that lagged is gone: when it was the last one, the stream is unwatched."""
    answer = Answer(*[delta("a")] * 50, open=True)
    async with run(answer, topology=topology) as (engine, _), engine.stream(request(), when_unwatched="cancel") as stream:
        stream.subscribe("disconnect", buffer=5)
        await settle()
        assert len(answer.closed) == 1


@pytest.mark.rows("ISS-18")
async def test_memory_of_a_slow_listener_is_bounded(topology: Topology) -> None:
    """A slow listener with policy block holds no more than its bound and one read, for any length of the answer (B246)."""
    count = 300
    answer = Answer(*[delta("a") * 4] * count, good("b"))
    async with run(answer, topology=topology) as (engine, _), engine.stream(request()) as stream:
        slow = stream.subscribe("block", buffer=8)
        main, seen = Reader(stream.subscribe()), []
        async with anyio.create_task_group() as group:
            group.start_soon(main)
            async for event in slow:
                seen.append(event)
                await anyio.lowlevel.checkpoint()
    assert seen == main.events
    assert slow.stats.most_waiting <= 8 + 6


# The hub by itself.


def hub(*buffers: int, patience: float = 30.0) -> tuple[Hub, list[Subscription]]:
    """A hub with listeners of policy block."""
    made = Hub(Aggregator(), 0, lambda: None, lambda listener: None)
    return made, [made.subscribe("block", buffer, patience) for buffer in buffers]


def letter() -> Sequence[Event]:
    """A batch of one event."""
    return [TextDelta(0, "a")]


async def test_room_waits_for_all() -> None:
    """Every listener that is full must read, in whatever order."""
    made, (first, second, third) = hub(1, 2, 9)
    for _ in range(2):
        made.publish(letter())
    assert made.full() == [first, second]
    room = anyio.Event()

    async def wait() -> None:
        await made.room(Clock())
        room.set()

    with anyio.fail_after(2):
        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            await settle()
            for listener, enough in ((third, False), (first, False), (second, False), (first, True)):
                await listener.next_batch()
                await settle()
                assert room.is_set() == enough
    assert (first.blocking_since, second.blocking_since, third.blocking_since) == (None, None, None)


async def test_another_ones_reading_does_not_renew_the_patience() -> None:
    """How long a listener blocks is counted from when it began, whoever else makes room meanwhile."""
    clock = Clock()
    made, (stuck, reads) = hub(1, 3)
    for _ in range(5):
        made.publish(letter())
    with anyio.fail_after(2):
        async with anyio.create_task_group() as group:
            group.start_soon(made.room, clock)
            await settle()
            began = stuck.blocking_since
            for _ in range(4):
                clock.now += 10
                await reads.next_batch()
                await settle()
                assert stuck.blocking_since == began or stuck.mailbox.lagged
            assert stuck.mailbox.lagged
    assert list(made.subscriptions) == [reads]
    assert stuck.stats.blocked >= 30


async def test_one_that_left_is_not_given_up() -> None:
    """It left while the pump waited for it: nothing is done to it, and the pump goes on."""
    made, (leaves, stays) = hub(1, 9, patience=0.0)
    made.publish(letter())
    leaves.patience = math.inf
    with anyio.fail_after(2):
        async with anyio.create_task_group() as group:
            group.start_soon(made.room, Clock())
            await settle()
            leaves.close()
    assert (leaves.mailbox.lagged, list(made.subscriptions)) == (False, [stays])


async def test_a_second_listener_ends_the_privilege_of_the_first() -> None:
    """One alone may wait for ever; from the moment that another one listens its patience counts."""
    made, (alone,) = hub(1, patience=0.02)
    made.publish([StreamStart(), TextStart(0)])
    with anyio.fail_after(2):
        async with anyio.create_task_group() as group:
            group.start_soon(made.room, anyio.current_time)
            await settle()
            assert not alone.mailbox.lagged
            made.subscribe("block", 9, 30.0)
    assert alone.mailbox.lagged


async def test_end_tells_them_once() -> None:
    """A hub that is over says nothing more."""
    made, (listener,) = hub(9)
    made.end(lambda: error_info("aborted", "x"))
    made.end(lambda: error_info("aborted", "y"))
    assert failure(await collect(listener)).message == "x"
    assert not made.subscriptions
