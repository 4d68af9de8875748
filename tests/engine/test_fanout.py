"""Several listeners of one stream: who gets what, whoever comes late, leaves early, fails, or is slow."""

from __future__ import annotations

import math

import anyio
import pytest

import headwater
from engine.upstream import Answer, Reader, collect, delta, failure, good, request, run, settle, text_of
from headwater.stream import Topology
from headwater_codecs.neutral import ChoiceEnd, Event, Finish, StreamStart, TextDelta, TextEnd, TextStart, UsageUpdate

pytestmark = pytest.mark.anyio


async def test_everybody_gets_everything(topology: Topology) -> None:
    """The reader and two listeners see the same events, and one request is sent."""
    async with run(Answer(delta("a"), good("b", "c")), topology=topology) as (engine, upstream), engine.stream(request()) as stream:
        readers = [Reader(stream.subscribe()), Reader(stream.subscribe("coalesce"))]
        async with anyio.create_task_group() as group:
            for reader in readers:
                group.start_soon(reader)
            events = await collect(stream)
    assert text_of(events) == "abc"
    assert [reader.events for reader in readers] == [events, events]
    assert len(upstream.requests) == 1


async def test_thousands_listen_and_leave() -> None:
    """Two thousand listeners of one stream, by every policy: half leave in the middle, the others have all of it, and one request is sent."""
    policies = ("block", "coalesce", "disconnect")
    answer = Answer(delta("a"), open=True)
    async with run(answer) as (engine, upstream), engine.stream(request()) as stream:
        subscriptions = [stream.subscribe(policies[number % 3]) for number in range(2000)]
        first = [await subscription.next_batch() for subscription in subscriptions]
        assert first == [[StreamStart("scripted-1", "chatcmpl-1", "custom"), TextStart(0), TextDelta(0, "a")]] * 2000
        for subscription in subscriptions[::2]:
            subscription.close()
        answer.send(good("b"))
        answer.end()
        rest = [await collect(subscription) for subscription in subscriptions]
    assert all(events == [] for events in rest[::2])
    assert all(text_of(events) == "b" and type(events[-1]) is Finish for events in rest[1::2])
    assert len(upstream.requests) == 1


async def test_listeners_without_a_reader(topology: Topology) -> None:
    """Nobody needs to read the stream itself; afterwards it still tells its end."""
    async with run(Answer(good("a", "b")), topology=topology) as (engine, _), engine.stream(request()) as stream:
        events = await collect(stream.subscribe())
        assert (text_of(events), type(events[-1])) == ("ab", Finish)
        late = await collect(stream)
    assert late == [
        StreamStart("scripted-1", "chatcmpl-1", "custom"),
        TextStart(0),
        TextDelta(0, "ab"),
        TextEnd(0),
        UsageUpdate(events[-1].usage),  # type: ignore[union-attr, arg-type]
        ChoiceEnd(0, "stop", "stop"),
        events[-1],
    ]


async def test_a_late_listener_gets_one_merged_batch_and_then_what_is_live(topology: Topology) -> None:
    """Nothing twice and nothing missing, wherever the actors are."""
    answer = Answer(delta("a") + delta("b"), delta("c"), open=True)
    async with run(answer, topology=topology) as (engine, _), engine.stream(request()) as stream:
        events: list[Event] = []
        while text_of(events) != "abc":
            events.append(await anext(stream))
        late = stream.subscribe()
        assert await late.next_batch() == [StreamStart("scripted-1", "chatcmpl-1", "custom"), TextStart(0), TextDelta(0, "abc")]
        answer.send(delta("d"), good("e"))
        answer.end()
        reader = Reader(late)
        async with anyio.create_task_group() as group:
            group.start_soon(reader)
            rest = await collect(stream)
    assert (text_of(rest), reader.events) == ("de", rest)


async def test_the_reader_is_not_told_again_what_it_read(topology: Topology) -> None:
    """A listener that comes while the stream is being read changes nothing for the reader, also in the middle of a batch."""
    answer = Answer(delta("a") + delta("b"), open=True)
    async with run(answer, topology=topology) as (engine, _), engine.stream(request()) as stream:
        events = [await anext(stream), await anext(stream), await anext(stream)]
        assert text_of(events) == "a"
        stream.subscribe("coalesce")
        answer.send(good("c"))
        answer.end()
        events += await collect(stream)
    assert (text_of(events), [type(event) for event in events].count(StreamStart)) == ("abc", 1)


async def test_a_listener_that_comes_during_a_pull(topology: Topology) -> None:
    """The pull that is under way in another task hands what it brings to the listener too, and goes on as a listener itself."""
    answer = Answer(delta("a"), open=True)
    async with run(answer, topology=topology) as (engine, upstream), engine.stream(request()) as stream:
        main = Reader(stream)
        async with anyio.create_task_group() as group:
            group.start_soon(main)
            await settle()
            assert (main.text, answer.waiting) == ("a", True)
            late = Reader(stream.subscribe())
            group.start_soon(late)
            answer.send(delta("b"))
            await settle()
            assert (main.text, late.text) == ("ab", "ab")
            answer.send(delta("c"), good("d"))
            answer.end()
    assert (main.text, late.text, len(upstream.requests)) == ("abcd", "abcd", 1)
    assert main.events[-1] == late.events[-1]


async def test_a_listener_that_comes_before_anything(topology: Topology) -> None:
    """While the reader's first pull is still opening the request: both see the whole stream."""
    answers = anyio.Event()
    async with run(Answer(good("a", "b"), answers=answers), topology=topology) as (engine, upstream), engine.stream(request()) as stream:
        main = Reader(stream)
        async with anyio.create_task_group() as group:
            group.start_soon(main)
            await settle()
            late = Reader(stream.subscribe())
            group.start_soon(late)
            await settle()
            answers.set()
    assert (main.events, len(upstream.requests)) == (late.events, 1)
    assert main.text == "ab"


async def test_a_pull_that_is_cancelled_while_a_listener_waits_for_it() -> None:
    """The pump takes over; the listener misses nothing, nor does the reader when it reads on."""
    answer = Answer(delta("a"), open=True)
    async with run(answer) as (engine, _), engine.stream(request()) as stream:
        seen: list[Event] = []

        async def read(scope: anyio.CancelScope) -> None:
            with scope:
                async for event in stream:
                    seen.append(event)

        async with anyio.create_task_group() as group:
            scope = anyio.CancelScope()
            group.start_soon(read, scope)
            await settle()
            late = Reader(stream.subscribe())
            group.start_soon(late)
            await settle()
            scope.cancel()
            await settle()
            answer.send(good("b"))
            answer.end()
            seen += await collect(stream)
    assert (text_of(seen), late.text) == ("ab", "ab")
    assert seen[-1] == late.events[-1]


@pytest.mark.parametrize("late", [False, True])
async def test_after_the_end(topology: Topology, late: bool) -> None:
    """Who subscribes to a stream that is over gets the answer and its terminal, also where the stream was read to its end directly."""
    async with run(Answer(good("a", "b")), topology=topology) as (engine, _), engine.stream(request()) as stream:
        events = await collect(stream)
        if late:
            assert [text_of(await collect(stream.subscribe())) for _ in range(2)] == ["ab", "ab"]
        subscription = stream.subscribe("disconnect", buffer=1)
        assert await collect(subscription) == [events[0], TextStart(0), TextDelta(0, "ab"), TextEnd(0), *events[-3:]]
        assert await subscription.next_batch() is None
        assert await stream.next_batch() is None
        assert (await engine.generate(request(), raise_on_error=False)).error is not None  # the engine is well; there is no second answer


async def test_after_a_failure(topology: Topology) -> None:
    """The terminal is the failure."""
    async with run(Answer(delta("a")), topology=topology) as (engine, _), engine.stream(request()) as stream:
        await collect(stream)
        events = await collect(stream.subscribe())
    assert (failure(events).kind, text_of(events)) == ("truncated", "a")


async def test_replay_is_the_identical_sequence(topology: Topology) -> None:
    """With `replay` a late listener gets every event as it was."""
    answer = Answer(delta("a"), delta("b") + delta("c"), open=True)
    async with run(answer, topology=topology) as (engine, _), engine.stream(request(), replay=10_000) as stream:
        events: list[Event] = []
        while text_of(events) != "abc":
            events.append(await anext(stream))
        late = Reader(stream.subscribe())
        answer.send(good("d"))
        answer.end()
        async with anyio.create_task_group() as group:
            group.start_soon(late)
            events += await collect(stream)
        assert late.events == events
        assert await collect(stream.subscribe()) == events


async def test_replay_has_a_bound(topology: Topology) -> None:
    """Beyond it a late listener is refused, with what to do; those who came in time are not."""
    answer = Answer(delta("a"), open=True)
    async with run(answer, topology=topology) as (engine, _), engine.stream(request(), replay=1000) as stream:
        early = stream.subscribe("coalesce")
        await anext(stream)
        await settle()
        stream.subscribe("coalesce").close()
        answer.send(good("x" * 1000))
        answer.end()
        events = await collect(stream)
        with pytest.raises(headwater.SubscriptionError, match="longer than its replay bound of 1000 bytes: subscribe earlier, raise the bound"):
            stream.subscribe()
        assert text_of(await collect(early)) == text_of(events[1:]) == "a" + "x" * 1000


@pytest.mark.rows("ISS-30", "AMB-22")
@pytest.mark.parametrize("policy", ["block", "coalesce", "disconnect"])
@pytest.mark.parametrize("body", [good("a", "b"), delta("a"), b""], ids=["finish", "cut", "empty"])
async def test_the_terminal_reaches_everybody(topology: Topology, policy: str, body: bytes) -> None:
    """Whatever the policy, however full, however the stream ended."""
    async with run(Answer(body), topology=topology) as (engine, _), engine.stream(request()) as stream:
        listeners = [stream.subscribe(policy, buffer=1) for _ in range(3)]  # type: ignore[arg-type]
        readers = [Reader(listener) for listener in listeners]
        async with anyio.create_task_group() as group:
            group.start_soon(readers[0])
            group.start_soon(readers[1])
            await settle()  # the third one reads when all is over, if nobody waits for it
            group.start_soon(readers[2])
            main = await collect(stream)
        for reader, listener in zip(readers, listeners, strict=True):
            assert reader.events[-1] == main[-1]
            assert await listener.next_batch() is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"policy": "drop"}, "unknown policy 'drop': use one of block, coalesce, disconnect"),
        ({"buffer": 0}, "buffer is 0: a listener needs room"),
        ({"max_bytes": 0}, "max_bytes is 0: give the bytes"),
    ],
)
async def test_wrong_arguments(arguments: dict[str, object], message: str) -> None:
    """They are named; nothing is started."""
    async with run(Answer()) as (engine, upstream), engine.stream(request()) as stream:
        with pytest.raises(headwater.ConfigurationError, match=message):
            stream.subscribe(**arguments)  # type: ignore[arg-type]
        assert upstream.requests == []


async def test_outside_of_the_block() -> None:
    """A stream that is not open has no listeners."""
    async with run(Answer(good("a"))) as (engine, _):
        stream = engine.stream(request())
        with pytest.raises(headwater.SubscriptionError, match="subscribe inside the stream's `async with` block"):
            stream.subscribe()
        async with stream:
            pass
        with pytest.raises(headwater.SubscriptionError, match="subscribe inside"):
            stream.subscribe()


async def test_patience_is_infinite_for_one_alone() -> None:
    """A single slow listener holds nobody up: it is never given up."""
    answer = Answer(*[delta("a")] * 5, open=True)
    async with run(answer) as (engine, _), engine.stream(request()) as stream:
        alone = stream.subscribe(buffer=1, patience=0.0)
        await settle()
        assert (alone.mailbox.lagged, answer.reads) == (False, 1)
        assert math.isinf(stream._hub._patience([alone], 0.0))  # type: ignore[union-attr]
