"""Cancellation at every await of the engine: it passes through, the upstream is closed exactly once, nothing is left."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import anyio
import anyio.lowlevel
import pytest

import headwater
from engine.upstream import Answer, Reader, Upstream, collect, delta, error_body, failure, good, model, request, run, settle
from headwater.stream import Topology
from headwater_codecs.neutral import Request, user

pytestmark = pytest.mark.anyio


async def never() -> str:
    """A token that does not come."""
    await anyio.sleep_forever()
    return ""


STEPS: dict[str, Callable[[], Answer]] = {
    "connecting": lambda: Answer(connects=anyio.Event()),
    "answering": lambda: Answer(answers=anyio.Event()),
    "before content": lambda: Answer(open=True),
    "reading": lambda: Answer(delta("a"), open=True),
    "refusal": lambda: Answer(b"{", status=500, open=True),
    "back-off": lambda: Answer(error_body("slower"), status=429, headers={"retry-after": "30"}),
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("native", [False, True], ids=["scope", "native"])
async def test_cancelled_while_waiting(anyio_backend: str, topology: Topology, step: str, native: bool) -> None:
    """In each wait: the cancellation passes, nothing is tried again, the response is closed once, and says aborted."""
    answer = STEPS[step]()
    upstream = Upstream(answer, Answer(good("never")))
    seen: list[str] = []
    streams: list[headwater.Stream] = []

    async def use() -> None:
        try:
            async with headwater.Engine(transport=upstream, topology=topology, retry=headwater.Retry()) as engine:
                streams.append(engine.stream(request()))
                async with streams[0] as stream:
                    async for event in stream:
                        seen.append(type(event).__name__)
        except anyio.get_cancelled_exc_class():
            seen.append("cancelled")
            raise

    with anyio.fail_after(2):
        if native and anyio_backend == "asyncio":  # what Ctrl-C does: the task itself is cancelled
            task = asyncio.create_task(use())
            await settle()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        else:
            async with anyio.create_task_group() as group:
                group.start_soon(use)
                await settle()
                group.cancel_scope.cancel()
        await settle()
    assert seen == (["StreamStart", "TextStart", "TextDelta"] if step == "reading" else []) + ["cancelled"]
    assert (len(upstream.requests), upstream.left_open, upstream.connecting) == (1, [], 0)
    assert len(answer.closed) == (step not in ("connecting", "answering"))
    assert streams[0].response.error.kind == "aborted"  # type: ignore[union-attr]


@pytest.mark.parametrize("turns", range(0, 40, 3))
async def test_cancelled_at_any_turn(topology: Topology, turns: int) -> None:
    """Wherever in its life a stream is: what was opened is closed, once."""
    answer = Answer(delta("a"), delta("b"), good("c"))
    upstream = Upstream(answer)

    async def use() -> None:
        async with headwater.Engine(transport=upstream, topology=topology) as engine, engine.stream(request()) as stream:
            listener = Reader(stream.subscribe())
            async with anyio.create_task_group() as group:
                group.start_soon(listener)
                await collect(stream)

    with anyio.fail_after(2):
        async with anyio.create_task_group() as group:
            group.start_soon(use)
            for _ in range(turns):
                await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
        await settle()
    assert (upstream.left_open, upstream.connecting) == ([], 0)
    assert all(len(given.closed) == 1 for given in upstream.given)


async def test_cancelled_while_a_token_is_fetched(topology: Topology) -> None:
    """Nothing was sent, nothing is left."""
    async with run(topology=topology) as (engine, upstream):
        with anyio.move_on_after(0.02) as scope:
            await engine.generate(Request(model=model(api_key=never), messages=[user("hi")]))
        assert (scope.cancelled_caught, upstream.requests) == (True, [])


async def test_fail_after_around_generate(topology: Topology) -> None:
    """The caller's own deadline works, and is the caller's TimeoutError (B240)."""
    answer = Answer(delta("a"), open=True)
    async with run(answer, topology=topology, retry=headwater.Retry()) as (engine, upstream):
        with pytest.raises(TimeoutError):
            with anyio.fail_after(0.05):
                await engine.generate(request())
        assert (len(upstream.requests), len(answer.closed)) == (1, 1)


async def test_cancelled_while_waiting_for_room(topology: Topology) -> None:
    """A pump that a slow listener holds back stops at once; the others see aborted."""
    answer = Answer(*[delta("a")] * 50, open=True)
    async with run(answer, topology=topology) as (engine, _):
        async with engine.stream(request()) as stream:
            stuck, other = stream.subscribe(buffer=1), stream.subscribe()
            await settle()
            assert stuck.mailbox.full
        assert failure(await collect(other)).kind == "aborted"
        assert failure(await collect(stuck)).kind == "aborted"
    assert len(answer.closed) == 1


async def test_cancelled_while_a_channel_is_full() -> None:
    """Actors that wait to send stop at once."""
    answer = Answer(*[delta("a")] * 50, open=True)
    async with run(answer, topology="staged") as (engine, _), engine.stream(request()) as stream:
        stream.subscribe(buffer=1)
        await settle()
        assert answer.reads < 50
    assert (len(answer.closed), stream.response.error.kind) == (1, "aborted")  # type: ignore[union-attr]


async def test_cancelled_while_closing(topology: Topology) -> None:
    """The close goes on under its shield, and is waited for (B239)."""
    closes = anyio.Event()
    answer = Answer(delta("a"), open=True, closes=closes)
    left: list[str] = []
    async with run(answer, topology=topology) as (engine, _):

        async def use(scope: anyio.CancelScope) -> None:
            with scope:
                async with engine.stream(request()) as stream:
                    await anext(stream)
                left.append("not reached after a cancellation")
            left.append("left")

        async with anyio.create_task_group() as group:
            scope = anyio.CancelScope()
            group.start_soon(use, scope)
            await settle()
            assert len(answer.closed) == 1
            scope.cancel()
            await settle()
            assert left == []
            closes.set()
    assert left[-1] == "left"


async def test_a_close_that_never_ends(monkeypatch: pytest.MonkeyPatch, topology: Topology) -> None:
    """It is waited for, and then left (B239); actors and engine end all the same."""
    monkeypatch.setattr("headwater.stream.CLOSE_TIME", 0.05)
    answer = Answer(delta("a"), open=True, closes=anyio.Event())
    async with run(answer, topology=topology) as (engine, _):
        started = anyio.current_time()
        async with engine.stream(request()) as stream:
            await anext(stream)
        assert 0.04 < anyio.current_time() - started < 1
    assert len(answer.closed) == 1


async def test_cancelled_while_a_dropped_attempt_is_closed(topology: Topology) -> None:
    """The close is finished; the next pull goes on with the next attempt."""
    closes = anyio.Event()
    first = Answer(error_body("down"), status=503, closes=closes)
    async with run(first, Answer(good("a")), topology=topology, retry=headwater.Retry(base=0)) as (engine, upstream):
        async with engine.stream(request()) as stream:

            async def read(scope: anyio.CancelScope) -> None:
                with scope:
                    await Reader(stream)()

            async with anyio.create_task_group() as group:
                scope = anyio.CancelScope()
                group.start_soon(read, scope)
                await settle()
                assert (first.closed, len(upstream.requests)) == (["closed"], 1)
                scope.cancel()
                await settle()
                closes.set()
            await settle()
            assert first.close_ended
            assert (await stream.result()).text == "a"
        assert stream.response.attempts == 2


async def test_break_in_the_middle_many_times(topology: Topology) -> None:
    """Two hundred times (B237)."""
    answers = [Answer(delta("a"), open=True) for _ in range(200)]
    async with run(*answers, topology=topology) as (engine, _):
        for answer in answers:
            async with engine.stream(request()) as stream:
                async for _ in stream:
                    break
            assert len(answer.closed) == 1
        assert engine._streams == set()


async def test_each_pull_from_another_task(topology: Topology) -> None:
    """No scope is entered in one task and left in another (B236), nor is the closing bound to one."""
    answer = Answer(delta("a"), delta("b"), good("c"))
    events: list[headwater.Event] = []
    async with run(answer, topology=topology) as (engine, _):
        stream = engine.stream(request())

        async def enter() -> None:
            await stream.__aenter__()

        async def pull() -> None:
            events.append(await anext(stream))

        async def leave() -> None:
            await stream.__aexit__(None, None, None)

        async with anyio.create_task_group() as group:
            group.start_soon(enter)
        while not (events and isinstance(events[-1], headwater.Finish)):
            async with anyio.create_task_group() as group:
                group.start_soon(pull)
        async with anyio.create_task_group() as group:
            group.start_soon(leave)
    assert (stream.response.text, len(answer.closed)) == ("abc", 1)


async def test_a_failing_sibling(topology: Topology) -> None:
    """A task that fails beside the reader: its exception leaves, the stream is closed."""
    answer = Answer(delta("a"), open=True)

    async def fail() -> None:
        await settle()
        raise ZeroDivisionError

    async with run(answer, topology=topology) as (engine, _):
        with pytest.RaisesGroup(ZeroDivisionError):
            async with anyio.create_task_group() as group, engine.stream(request()) as stream:
                group.start_soon(fail)
                await collect(stream)
        assert len(answer.closed) == 1


async def test_listeners_in_other_tasks_when_the_engines_scope_is_cancelled(topology: Topology) -> None:
    """What is read outside of the cancelled scope ends as aborted, never as if it had ended well."""
    answer = Answer(delta("a"), open=True)
    upstream = Upstream(answer)
    readers: list[Reader] = []

    with anyio.fail_after(2):
        async with anyio.create_task_group() as outside:
            with anyio.CancelScope() as scope:
                async with headwater.Engine(transport=upstream, topology=topology) as engine, engine.stream(request()) as stream:
                    readers += [Reader(stream), Reader(stream.subscribe())]
                    for reader in readers:
                        outside.start_soon(reader)
                    await settle()
                    scope.cancel()
                    await anyio.sleep_forever()
    assert [(failure(reader.events).kind, reader.text) for reader in readers] == [("aborted", "a")] * 2
    assert len(answer.closed) == 1
