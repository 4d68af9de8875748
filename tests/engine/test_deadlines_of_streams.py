"""Each deadline through a given clock, on every topology: what re-arms it, whose time it counts, what is told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import pytest

import headwater
from engine.upstream import (
    EMPTY,
    PING,
    Answer,
    Clock,
    Reader,
    collect,
    delta,
    failure,
    finish_only,
    good,
    request,
    run,
    settle,
    text_of,
    usage_only,
)
from headwater.deadlines import GRACE
from headwater.stream import Topology
from headwater_codecs.neutral import ErrorInfo, Finish, Timeouts, Usage

TIMEOUTS = Timeouts(connect=1, first_content=2, idle=3, total=100)


class Timed:
    """A stream that is read by a task, and a clock to let time pass."""

    def __init__(self, engine: headwater.Engine, clock: Clock, reader: Reader) -> None:
        self._engine = engine
        self._clock = clock
        self._reader = reader

    async def passes(self, seconds: float) -> None:
        """Let so much time pass, and the watchdog look."""
        self._clock.now += seconds
        self._engine.look(self._clock())
        await settle()

    @property
    def over(self) -> bool:
        return self._reader.done.is_set()


async def timed(answer: Answer, topology: Topology, what: Callable[[Timed], Awaitable[None]], timeouts: Timeouts = TIMEOUTS) -> list[headwater.Event]:
    """The events of a stream during which this happens."""
    clock = Clock()
    async with run(answer, clock=clock, topology=topology, timeouts=timeouts) as (engine, _), engine.stream(request()) as stream:
        reader = Reader(stream)
        async with anyio.create_task_group() as group:
            group.start_soon(reader)
            await settle()
            await what(Timed(engine, clock, reader))
            await reader.done.wait()
    assert stream.response.text == reader.text
    assert stream.response.timing.end == pytest.approx(clock.now - 1000.0)
    return reader.events


@pytest.mark.anyio
async def test_connect(topology: Topology) -> None:
    """No connection in time: a failure of the phase `connect`."""

    async def late(time: Timed) -> None:
        await time.passes(0.9)
        assert not time.over
        await time.passes(0.2)

    error = failure(await timed(Answer(connects=anyio.Event()), topology, late))
    assert error == ErrorInfo(
        "timeout", "no connection within 1 s (deadline connect, phase connect)", phase="connect", deadline="connect", retryable=True, events=2
    )


@pytest.mark.anyio
async def test_headers(topology: Topology) -> None:
    """A connection, but no answer: `first_content` counts from the moment the request is sent, in the phase `headers`."""

    async def late(time: Timed) -> None:
        await time.passes(1.9)
        assert not time.over
        await time.passes(0.2)

    error = failure(await timed(Answer(answers=anyio.Event()), topology, late))
    assert (error.kind, error.deadline, error.phase, error.events) == ("timeout", "first_content", "headers", 2)


@pytest.mark.rows("ISS-38")
@pytest.mark.anyio
async def test_first_content(topology: Topology) -> None:
    """Headers, pings and a role chunk are no content; the wait for it has its own limit, which idle does not shorten (B233)."""
    answer = Answer(open=True)

    async def late(time: Timed) -> None:
        for piece in (PING, EMPTY, PING, EMPTY):
            await time.passes(0.45)
            answer.send(piece)
            await settle()
            assert not time.over
        await time.passes(0.25)

    error = failure(await timed(answer, topology, late, Timeouts(first_content=2, idle=0.3)))
    assert (error.deadline, error.phase, error.bytes_received) == ("first_content", "stream", 2 * len(PING + EMPTY))
    assert answer.closed == ["aborted"]


@pytest.mark.rows("ISS-37", "ISS-38", "G-25")
@pytest.mark.anyio
@pytest.mark.parametrize("noise", [PING, b"\r\n", EMPTY, b'data: {"choices": [], "usage": {"prompt_tokens": 1}}\n\n', b"data"])
async def test_idle_is_rearmed_by_progress_only(topology: Topology, noise: bytes) -> None:
    """Comments, blank lines, empty deltas, usage and half frames are no progress: the model is silent all the same (B230)."""
    answer = Answer(delta("a"), open=True)

    async def silent(time: Timed) -> None:
        for _ in range(5):
            await time.passes(0.5)
            answer.send(noise)
            await settle()
            assert not time.over
        await time.passes(0.6)

    events = await timed(answer, topology, silent)
    error = failure(events)
    assert (error.kind, error.deadline, error.phase, text_of(events)) == ("timeout", "idle", "stream", "a")
    assert error.message == "no progress within 3 s (deadline idle, phase stream)"
    assert (error.events, error.bytes_received) == (len(events), len(delta("a")) + 5 * len(noise))


@pytest.mark.anyio
async def test_progress_rearms_idle(topology: Topology) -> None:
    """A slow but steady stream has no limit but `total` (B231)."""
    answer = Answer(delta("a"), open=True)

    async def slow(time: Timed) -> None:
        for _ in range(10):
            await time.passes(2.9)
            answer.send(delta("b"))
            await settle()
            assert not time.over
        answer.send(good())
        answer.end()

    events = await timed(answer, topology, slow)
    assert (type(events[-1]), text_of(events)) == (Finish, "a" + 10 * "b")


@pytest.mark.anyio
async def test_a_tool_call_without_a_name_is_progress(topology: Topology) -> None:
    """What a translator marks as the model at work re-arms, though there is no event yet."""
    answer = Answer(delta("a"), open=True)
    call = b'data: {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "c", "function": {"arguments": "{"}}]}}]}\n\n'

    async def silent(time: Timed) -> None:
        await time.passes(2.9)
        answer.send(call)
        await settle()
        await time.passes(2.9)
        assert not time.over
        await time.passes(0.2)

    assert failure(await timed(answer, topology, silent)).deadline == "idle"


@pytest.mark.anyio
async def test_total_cuts_a_healthy_stream(topology: Topology) -> None:
    """`total` has no mercy; what was received stays, and the same request is not sent again by itself (B231)."""
    answer = Answer(delta("a"), open=True)

    async def steady(time: Timed) -> None:
        for _ in range(4):
            await time.passes(1)
            answer.send(delta("b"))
            await settle()
        assert not time.over
        await time.passes(1)

    events = await timed(answer, topology, steady, Timeouts(total=5))
    error = failure(events)
    assert (error.kind, error.deadline, error.phase, error.retryable, text_of(events)) == ("timeout", "total", "stream", True, "abbbb")


@pytest.mark.anyio
async def test_total_covers_the_consumer(topology: Topology) -> None:
    """A consumer that takes too long finds what was read before, then the failure."""
    clock = Clock()
    answer = Answer(delta("a") + delta("b"), open=True)
    async with run(answer, clock=clock, topology=topology, timeouts=Timeouts(total=5)) as (engine, _), engine.stream(request()) as stream:
        events = [await anext(stream)]
        clock.now += 5
        engine.look(clock())
        await settle()
        assert answer.closed == ["aborted"]  # nobody had to ask
        events += await collect(stream)
    assert (failure(events).deadline, text_of(events)) == ("total", "ab")


@pytest.mark.rows("AMB-18")
@pytest.mark.anyio
async def test_the_consumer_is_not_charged_to_idle(topology: Topology) -> None:
    """Neither a slow reader nor a blocked pump shortens the provider's time."""
    clock = Clock()
    answer = Answer(open=True)
    async with run(answer, clock=clock, topology=topology, timeouts=Timeouts(idle=3)) as (engine, _), engine.stream(request()) as stream:
        events = []
        for _ in range(4):
            answer.send(delta("a"))
            events.append(await anext(stream))
            await settle()
            if topology == "fused":
                clock.now += 1000
                engine.look(clock())
        answer.send(good("b"))
        answer.end()
        events += await collect(stream)
    assert (type(events[-1]), text_of(events)) == (Finish, "aaaab")
    assert stream.response.timing.consumer == pytest.approx(4000.0 if topology == "fused" else 0.0)


@pytest.mark.anyio
async def test_a_blocked_reader_is_not_charged_to_idle(topology: Topology) -> None:
    """A reader too slow for the mailboxes and channels holds everything back, and no deadline but `total` minds (B246)."""
    clock = Clock()
    answer = Answer(open=True)
    async with run(answer, clock=clock, topology=topology, timeouts=Timeouts(idle=3)) as (engine, _), engine.stream(request()) as stream:
        slow = stream.subscribe(buffer=1)
        await settle()
        for _ in range(8):  # more than all that may lie between the socket and the reader
            answer.send(delta("a"))
            await settle()
            clock.now += 2.9
            engine.look(clock())
            await settle()
        assert answer.closed == []
        clock.now += 1000
        engine.look(clock())
        await settle()
        assert answer.closed == []
        answer.send(good("b"))
        answer.end()
        assert text_of(await collect(slow)) == "aaaaaaaab"


@pytest.mark.rows("AMB-64")
@pytest.mark.anyio
@pytest.mark.parametrize("late", [False, True])
async def test_grace_for_usage(topology: Topology, late: bool) -> None:
    """After the finish reason usage is waited for two seconds; then the answer is whole without it."""
    answer = Answer(delta("a"), finish_only(), open=True)

    async def hold(time: Timed) -> None:
        await time.passes(GRACE - 0.1)
        assert not time.over
        if late:
            await time.passes(0.2)
        else:
            answer.send(usage_only())

    end = (await timed(answer, topology, hold))[-1]
    usage = None if late else Usage(input_tokens=3, output_tokens=2, raw={"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5})
    assert end == Finish("stop", "stop", usage)


@pytest.mark.rows("AMB-64", "ISS-31")
@pytest.mark.anyio
async def test_the_end_is_told_at_the_logical_end(topology: Topology) -> None:
    """A provider that holds the socket open after `[DONE]` keeps nobody waiting, and no deadline is left to fire."""
    clock = Clock()
    answer = Answer(good("a"), open=True)
    async with run(answer, clock=clock, topology=topology, timeouts=Timeouts(total=5)) as (engine, _), engine.stream(request()) as stream:
        assert type((await collect(stream))[-1]) is Finish
        clock.now += 100
        engine.look(clock())
        await settle()
        assert answer.closed in ([], ["drained"])
        assert await stream.next_batch() is None
    assert answer.closed == ["drained"]
    assert stream.response.error is None


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("timeouts", "limit"),
    [
        (Timeouts(first_content=2, total=100), 2),
        (Timeouts(first_content=100, total=2), 2),
        (Timeouts(first_content=1.5, total=None), 1.5),
        (Timeouts(first_content=100, idle=2), 2),
    ],
)
async def test_a_refusal_whose_body_never_ends(topology: Topology, timeouts: Timeouts, limit: float) -> None:
    """The wait for the rest of it is a part of the wait for content, and of the total: then it is told as far as it came."""

    async def stalls(time: Timed) -> None:
        await time.passes(limit - 0.1)
        assert not time.over
        await time.passes(0.2)
        assert time.over

    answer = Answer(b"half of an err", status=500, open=True)
    error = failure(await timed(answer, topology, stalls, timeouts))
    assert (error.kind, error.status, error.deadline, error.message.endswith("half of an err")) == ("server", 500, None, True)
    assert answer.closed == ["aborted"]


@pytest.mark.anyio
@pytest.mark.parametrize(("timeouts", "requests"), [(Timeouts(first_content=2), 2), (Timeouts(total=2), 1)])
async def test_after_a_refusal_whose_body_never_ends(topology: Topology, timeouts: Timeouts, requests: int) -> None:
    """A refusal that may be tried again is, unless the total has passed."""
    clock = Clock()
    answers = Answer(b"half", status=503, open=True), Answer(good("a"))
    retry = headwater.Retry(attempts=1, base=0, cap=0)
    async with (
        run(*answers, clock=clock, topology=topology, timeouts=timeouts, retry=retry) as (engine, upstream),
        engine.stream(request()) as stream,
    ):
        reader = Reader(stream)
        async with anyio.create_task_group() as group:
            group.start_soon(reader)
            await settle()
            clock.now += 2.1
            engine.look(clock())
            await reader.done.wait()
    assert (len(upstream.requests), reader.text) == (requests, "a" if requests == 2 else "")
