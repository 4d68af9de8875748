"""Hedging: a second request where the first has no content for a while; the first content wins, both are closed once."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

import headwater
from engine.upstream import (
    KEY,
    Answer,
    Clock,
    Reader,
    Upstream,
    collect,
    delta,
    error_body,
    failure,
    good,
    request,
    run,
    settle,
    text_of,
)
from headwater.budget import RetryBudget
from headwater.retry import Retry
from headwater.stream import Topology
from headwater_codecs.neutral import ErrorInfo, FailedAttempt, Finish, StreamStart, Timeouts, TruncatedError

pytestmark = pytest.mark.anyio


class Raced:
    """A hedged stream that a task reads, and a clock to let time pass."""

    def __init__(self, engine: headwater.Engine, upstream: Upstream, stream: headwater.Stream, clock: Clock) -> None:
        self.engine = engine
        self.upstream = upstream
        self.stream = stream
        self.reader = Reader(stream)
        self._clock = clock

    async def passes(self, seconds: float) -> None:
        """Let so much time pass, and the watchdog look."""
        self._clock.now += seconds
        self.engine.look(self._clock())
        await settle()

    @property
    def sent(self) -> int:
        return len(self.upstream.requests)


@asynccontextmanager
async def raced(*answers: Answer, **options: object) -> AsyncIterator[Raced]:
    """A stream with `hedge=1` over these answers, read to its end when the block is left."""
    clock = Clock()
    async with run(*answers, clock=clock, **options) as (engine, upstream), engine.stream(request(), hedge=1) as stream:
        race = Raced(engine, upstream, stream, clock)
        async with anyio.create_task_group() as group:
            group.start_soon(race.reader)
            await settle()
            yield race
            await race.reader.done.wait()


LOST = ErrorInfo("aborted", "the other request had content first", phase="stream")


def loser(received: int = 0, request_id: str | None = None) -> FailedAttempt:
    """What the response says of the request that lost."""
    return FailedAttempt("custom", "scripted-1", LOST.with_(bytes_received=received, request_id=request_id))


async def test_a_quick_answer_is_not_hedged(topology: Topology) -> None:
    """One request, and no trace of the race."""
    answer = Answer(open=True)
    async with raced(answer, topology=topology) as race:
        await race.passes(0.9)
        answer.send(good("a"))
        answer.end()
        await settle()
        await race.passes(5)
    response = race.stream.response
    assert (race.reader.text, race.sent, response.attempts, response.failed_attempts) == ("a", 1, 1, ())
    assert answer.closed == ["drained"]


async def test_content_stops_the_hedge_though_the_answer_goes_on(topology: Topology) -> None:
    """After the first content there is nothing to win."""
    answer = Answer(delta("a"), open=True)
    async with raced(answer, topology=topology) as race:
        await race.passes(5)
        assert race.sent == 1
        answer.send(good("b"))
        answer.end()
    assert race.reader.text == "ab"


async def test_the_second_wins(topology: Topology) -> None:
    """Its answer is the stream, with its own ids and headers; the first is closed at once and counted."""
    first = Answer(delta(""), open=True, headers={"x-request-id": "r1"})
    second = Answer(open=True, headers={"x-request-id": "r2"})
    async with raced(first, second, topology=topology) as race:
        await race.passes(0.9)
        assert race.sent == 1
        await race.passes(0.1)
        assert race.sent == 2
        second.send(delta("b"))
        await settle()
        assert (first.closed, second.closed, race.reader.text) == (["closed"], [], "b")
        second.send(good("c"))
        second.end()
    events, response = race.reader.events, race.stream.response
    assert (text_of(events), type(events[-1]), [type(event) for event in events].count(StreamStart)) == ("bc", Finish, 1)
    assert (response.request_id, response.attempts, response.failed_attempts) == ("r2", 2, (loser(len(delta("")), "r1"),))
    assert (response.text, response.error, second.closed) == ("bc", None, ["drained"])
    one, two = race.upstream.requests
    assert (one.url, one.body, one.headers) == (two.url, two.body, two.headers)


async def test_the_first_wins_after_all(topology: Topology) -> None:
    """The second one is cancelled while it is being opened."""
    first, second = Answer(open=True, headers={"x-request-id": "r1"}), Answer(answers=anyio.Event())
    async with raced(first, second, topology=topology) as race:
        await race.passes(1)
        assert race.upstream.connecting == 1
        first.send(good("a"))
        first.end()
        await settle()
        assert (race.upstream.connecting, race.upstream.cancelled) == (0, 1)
    response = race.stream.response
    assert (response.text, response.request_id, response.attempts, response.failed_attempts) == ("a", "r1", 2, (loser(),))


async def test_both_at_the_same_moment(topology: Topology) -> None:
    """One of them answers, whole; the other is closed; no piece of it is seen."""
    first, second = Answer(open=True), Answer(open=True)
    async with raced(first, second, topology=topology) as race:
        await race.passes(1)
        first.send(good("one"))
        second.send(good("two"))
        first.end()
        second.end()
    assert race.reader.text in ("one", "two")
    assert [len(first.closed), len(second.closed)] == [1, 1]
    assert len(race.stream.response.failed_attempts) == 1


async def test_a_failed_second_leaves_the_first(topology: Topology) -> None:
    """It is not tried again, and its failure is in the response."""
    first, second = Answer(open=True), Answer(error_body("down"), status=503)
    async with raced(first, second, topology=topology, retry=Retry(base=0)) as race:
        await race.passes(1)
        assert second.closed == ["drained"]  # read to its end
        first.send(good("a"))
        first.end()
    down = ErrorInfo("overloaded", "down", status=503, phase="headers", retryable=True)
    response = race.stream.response
    assert (response.text, race.sent) == ("a", 2)
    assert [failed.error.with_(events=0) for failed in response.failed_attempts] == [down]


async def test_a_failed_first_leaves_the_second(topology: Topology) -> None:
    """A refusal that is final waits for the one that is still running."""
    first, second = Answer(open=True), Answer(open=True)
    async with raced(first, second, topology=topology) as race:
        await race.passes(1)
        first.send(TruncatedError("reset"))
        await settle()
        assert not race.reader.done.is_set()
        second.send(good("b"))
        second.end()
    response = race.stream.response
    assert (response.text, [failed.error.kind for failed in response.failed_attempts]) == ("b", ["truncated"])


async def test_both_fail(topology: Topology) -> None:
    """The last failure is told, the other one is in the response; each is closed once."""
    first, second = Answer(open=True), Answer(open=True)
    async with raced(first, second, topology=topology) as race:
        await race.passes(1)
        first.send(TruncatedError("first"))
        await settle()
        second.send(TruncatedError("second"))
    response = race.stream.response
    assert ("second" in failure(race.reader.events).message, response.error) == (True, failure(race.reader.events))
    assert ["first" in failed.error.message for failed in response.failed_attempts] == [True]
    assert [len(first.closed), len(second.closed)] == [1, 1]


async def test_a_first_that_failed_is_retried_not_hedged(topology: Topology) -> None:
    """The retry is its second request: in a back-off nothing is sent, whatever time passes."""
    hint = Answer(error_body("slower"), status=429, headers={"retry-after": "30"})
    async with (
        run(hint, clock=(clock := Clock()), retry=Retry(), topology=topology) as (engine, upstream),
        engine.stream(request(), hedge=1) as stream,
        anyio.create_task_group() as group,
    ):
        group.start_soon(Reader(stream))
        await settle()
        clock.now += 5
        engine.look(clock())
        await settle()
        assert len(upstream.requests) == 1
        group.cancel_scope.cancel()
    assert hint.closed == ["closed"]


async def test_an_empty_budget_hedges_nothing(topology: Topology) -> None:
    """A hedge is load too."""
    answer = Answer(open=True)
    async with raced(answer, topology=topology, retry_budget=RetryBudget(0)) as race:
        await race.passes(5)
        assert race.sent == 1
        answer.send(good("a"))
        answer.end()
    assert race.reader.text == "a"


async def test_each_has_its_own_wait_for_content(topology: Topology) -> None:
    """The first's deadline ends the first alone; the second's ends the stream."""
    first, second = Answer(open=True), Answer(open=True)
    async with raced(first, second, topology=topology, timeouts=Timeouts(first_content=3)) as race:
        await race.passes(1)
        await race.passes(2)
        assert (first.closed, second.closed, race.reader.done.is_set()) == (["aborted"], [], False)
        await race.passes(1)
    assert (failure(race.reader.events).deadline, second.closed) == ("first_content", ["aborted"])


async def test_total_ends_both(topology: Topology) -> None:
    """It is the stream's."""
    first, second = Answer(open=True), Answer(open=True)
    async with raced(first, second, topology=topology, timeouts=Timeouts(total=3)) as race:
        await race.passes(1)
        await race.passes(2)
    assert failure(race.reader.events).deadline == "total"
    assert [len(first.closed), len(second.closed)] == [1, 1]


@pytest.mark.parametrize("hedged", [False, True])
async def test_left_before_anybody_won(topology: Topology, hedged: bool) -> None:
    """Whatever is open is closed, once; no task is left (the engine waits for them)."""
    first, second = Answer(open=True), Answer(open=True)
    async with run(first, second, clock=(clock := Clock()), topology=topology) as (engine, upstream):
        async with engine.stream(request(), hedge=1) as stream:
            with anyio.move_on_after(0.01):
                await anext(stream)
            if hedged:
                clock.now += 1
                engine.look(clock())
                await settle()
        assert [len(answer.closed) for answer in upstream.given] == [1] * (1 + hedged)
        names = {task.name for task in anyio.get_running_tasks()}
        assert not names & {"headwater.hedge", "headwater.fan-out", "headwater.parser", "headwater.translator"}
    assert stream.response.error is not None
    assert stream.response.error.kind == "aborted"


async def test_a_cancelled_pull_leaves_the_race_as_it_is(topology: Topology) -> None:
    """The next pull finds what came meanwhile; nothing is sent anew."""
    answer = Answer(open=True)
    async with run(answer, topology=topology) as (engine, upstream), engine.stream(request(), hedge=100) as stream:
        for _ in range(3):
            with anyio.move_on_after(0.01) as scope:
                await anext(stream)
            assert scope.cancelled_caught
        answer.send(good("a"))
        answer.end()
        assert text_of(await collect(stream)) == "a"
    assert len(upstream.requests) == 1


async def test_closed_by_somebody_else_while_both_are_waited_for(topology: Topology) -> None:
    """The reader in another task is told, and neither is left open."""
    first, second = Answer(open=True), Answer(open=True)
    async with raced(first, second, topology=topology) as race:
        await race.passes(1)
        await race.stream.aclose()
    assert failure(race.reader.events).kind == "aborted"
    assert [len(first.closed), len(second.closed)] == [1, 1]


async def test_a_close_that_never_ends(monkeypatch: pytest.MonkeyPatch, topology: Topology) -> None:
    """One whose close hangs does not keep the other open, and is left after its time."""
    monkeypatch.setattr("headwater.stream.CLOSE_TIME", 0.05)
    monkeypatch.setattr("headwater.hedge.CLOSE_TIME", 0.05)
    first, second = Answer(open=True, closes=anyio.Event()), Answer(open=True)
    async with raced(first, second, topology=topology) as race:
        await race.passes(1)
        await race.stream.aclose()
    assert [len(first.closed), len(second.closed)] == [1, 1]


@pytest.mark.parametrize("value", [-1, math.nan])
async def test_the_delay_is_checked(value: float) -> None:
    """Seconds, zero or more."""
    async with run() as (engine, _):
        with pytest.raises(headwater.ConfigurationError, match="hedge is"):
            engine.stream(request(), hedge=value)


async def test_generate(topology: Topology) -> None:
    """With a delay of zero the second follows at the watchdog's next look, on the real clock."""
    first, second = Answer(open=True), Answer(good("b"))
    async with run(first, second, topology=topology) as (engine, _):
        response = await engine.generate(request(), hedge=0, fallbacks=[headwater.Model("m", provider="custom", base_url="http://h", api_key=KEY)])
    assert (response.text, response.attempts, len(first.closed)) == ("b", 2, 1)
