"""A pull that is cancelled, and then the next one: nothing is lost, nothing is hidden, and back-offs are kept."""

from __future__ import annotations

import anyio
import pytest

import headwater
from engine.upstream import (
    Answer,
    collect,
    delta,
    error_body,
    failure,
    good,
    model,
    request,
    run,
    text_of,
)
from headwater.retry import Retry
from headwater.stream import Topology
from headwater_codecs.neutral import Finish
from loopback import Asked, Reply, loopback

pytestmark = pytest.mark.anyio


async def test_a_cancelled_read_loses_nothing(topology: Topology) -> None:
    """`move_on_after` around a single pull, and then going on."""
    answer = Answer(delta("a"), open=True)
    async with run(answer, topology=topology) as (engine, upstream), engine.stream(request()) as stream:
        events = [await anext(stream), await anext(stream), await anext(stream)]
        for text in "bcd":
            with anyio.move_on_after(0.01) as scope:
                await anext(stream)
            assert scope.cancelled_caught
            answer.send(delta(text))
            events.append(await anext(stream))
        answer.send(good("e"))
        events += await collect(stream)
    assert (text_of(events), type(events[-1]), len(upstream.requests)) == ("abcde", Finish, 1)


async def test_a_pull_cancelled_while_opening_sends_anew() -> None:
    """The pull that opened the request took it with it; the next one begins again, and it is counted."""
    first, second = Answer(good("x"), answers=anyio.Event()), Answer(good("a"))
    async with run(first, second) as (engine, upstream), engine.stream(request()) as stream:
        with anyio.move_on_after(0.01) as scope:
            await anext(stream)
        assert (scope.cancelled_caught, upstream.cancelled, upstream.connecting) == (True, 1, 0)
        assert text_of(await collect(stream)) == "a"
    assert (stream.response.attempts, len(upstream.requests)) == (2, 2)


@pytest.mark.parametrize("pumped", ["fan-out", "staged"])
async def test_a_cancelled_pull_of_a_listener_is_nobody_elses(pumped: Topology) -> None:
    """Where a pump opens the request, a listener that gives up waiting cancels only its own wait."""
    answers = anyio.Event()
    async with run(Answer(good("a"), answers=answers), topology=pumped) as (engine, upstream), engine.stream(request()) as stream:
        with anyio.move_on_after(0.01):
            await anext(stream)
        answers.set()
        assert text_of(await collect(stream)) == "a"
    assert (stream.response.attempts, upstream.cancelled) == (1, 0)


async def test_a_pull_cancelled_while_a_refusal_is_read() -> None:
    """The half-read refusal is closed, and asked for again."""
    first, second = Answer(b"half", status=500, open=True), Answer(error_body("whole"), status=400)
    async with run(first, second) as (engine, _), engine.stream(request()) as stream:
        with anyio.move_on_after(0.01):
            await anext(stream)
        assert failure(await collect(stream)).message == "whole"
    assert first.closed == ["closed"]


async def test_a_pull_cancelled_in_a_back_off_leaves_the_rest_of_it() -> None:
    """The next pull waits on; the hint is kept to."""
    hint = Answer(error_body("slower"), status=429, headers={"retry-after": "0.2"})
    async with run(hint, Answer(good("a")), retry=Retry()) as (engine, upstream), engine.stream(request()) as stream:
        started = anyio.current_time()
        for _ in range(3):
            with anyio.move_on_after(0.01):
                await anext(stream)
        assert len(upstream.requests) == 1
        assert text_of(await collect(stream)) == "a"
        assert anyio.current_time() - started >= 0.2
    assert (stream.response.attempts, hint.closed) == (2, ["closed"])


async def test_a_cancelled_pull_over_httpx_does_not_look_like_an_end(anyio_backend: str) -> None:
    """httpx cannot read on after a cancelled read: the stream is cut, whatever its dialect says about the end."""

    async def script(asked: Asked, reply: Reply) -> None:
        await reply.begin()
        await reply.send(delta("a"))
        await anyio.sleep_forever()

    with anyio.fail_after(5):
        async with loopback(script) as server, headwater.Engine(transport="httpx", retry=headwater.Retry(attempts=0)) as engine:
            asked = headwater.Request(model=model(server.base_url, dialect={"eof_is_end": True}), messages=[headwater.user("hi")])
            async with engine.stream(asked) as stream:
                events = [await anext(stream), await anext(stream), await anext(stream)]
                with anyio.move_on_after(0.05):
                    await anext(stream)
                events += await collect(stream)
    assert (failure(events).kind, text_of(events)) == ("truncated", "a")
