"""The one actor loop: order, back-pressure, failures, and that closing waits for the end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import anyio
import pytest

from engine.upstream import settle
from headwater.actors import Actor, Fused, Source, is_async
from headwater_codecs.neutral import StreamAborted

pytestmark = pytest.mark.anyio
DEPTH = 1  # batches that lie in a channel
HELD = 1  # batches that an actor holds while it waits to send


class Numbers:
    """Gives batches of one number, counts what was taken, and may fail."""

    def __init__(self, count: int, fails: Exception | None = None) -> None:
        self.taken = 0
        self._count = count
        self._fails = fails

    async def next_batch(self) -> Sequence[int] | None:
        if self.taken == self._count:
            if self._fails is not None:
                raise self._fails
            return None
        self.taken += 1
        return [self.taken]


class Doubled:
    """Each number twice; the odd ones are held back until the next one comes."""

    def __init__(self) -> None:
        self.held: list[int] = []

    def feed(self, batch: Sequence[int], /) -> Sequence[int]:
        self.held += [number for number in batch for _ in range(2)]
        if self.held[-1] % 2:
            return []
        held, self.held = self.held, []
        return held

    def finish(self) -> Sequence[int]:
        return self.held


class SlowlyDoubled(Doubled):
    """The same with awaits."""

    async def feed(self, batch: Sequence[int], /) -> Sequence[int]:  # type: ignore[override]
        await anyio.lowlevel.checkpoint()
        return super().feed(batch)

    async def finish(self) -> Sequence[int]:  # type: ignore[override]
        await anyio.lowlevel.checkpoint()
        return super().finish()


async def everything(source: Source[int]) -> list[Sequence[int]]:
    """All batches of a source."""
    batches = []
    while (batch := await source.next_batch()) is not None:
        batches.append(batch)
    return batches


EXPECTED = [[1, 1, 2, 2], [3, 3, 4, 4], [5, 5]]


async def test_fused_and_actor_give_the_same_batches() -> None:
    """Wherever the chain is cut."""
    with anyio.fail_after(2):
        assert await everything(Fused(Numbers(5), Doubled())) == EXPECTED
        async with anyio.create_task_group() as group:
            for stage in (Doubled(), SlowlyDoubled()):
                actor: Actor[int, int] = Actor(Numbers(5), stage, "doubler").start(group)
                assert await everything(actor) == EXPECTED
                assert await actor.next_batch() is None
                await actor.aclose()


async def test_a_wrapped_coroutine_function_is_awaited() -> None:
    """A stage whose `feed` only gives a coroutine looks like a synchronous one; fused, it works all the same."""
    slow = SlowlyDoubled()

    class Wrapped:
        def feed(self, batch: Sequence[int], /) -> Awaitable[Sequence[int]]:
            return slow.feed(batch)

        def finish(self) -> Awaitable[Sequence[int]]:
            return slow.finish()

    assert not is_async(Wrapped())
    assert await everything(Fused(Numbers(5), Wrapped())) == EXPECTED  # type: ignore[arg-type]


@pytest.mark.parametrize(("feed", "expected"), [(Doubled, False), (SlowlyDoubled, True)])
async def test_is_async(feed: Callable[[], object], expected: bool) -> None:
    """A stage whose `feed` is a coroutine function needs an actor."""
    assert is_async(feed()) is expected


async def test_an_actor_reads_no_further_than_its_channel() -> None:
    """One batch lies in the channel, one in the actor's hands; the source is asked for no more."""
    numbers = Numbers(100)
    with anyio.fail_after(2):
        async with anyio.create_task_group() as group:
            actor: Actor[int, int] = Actor(numbers, Plain(), "plain").start(group)
            await settle()
            assert numbers.taken == DEPTH + HELD
            await actor.next_batch()
            await settle()
            assert numbers.taken == 1 + DEPTH + HELD
            await actor.aclose()
            assert numbers.taken == 1 + DEPTH + HELD


class Plain:
    """Everything passes."""

    def feed(self, batch: Sequence[int], /) -> Sequence[int]:
        return batch

    def finish(self) -> Sequence[int]:
        return []


@pytest.mark.parametrize("fails_in", ["source", "stage"])
async def test_a_failure_comes_after_the_batches_before_it(fails_in: str) -> None:
    """It is raised by the read that meets it, once, and never into the task group."""

    class Fails(Plain):
        def finish(self) -> Sequence[int]:
            raise ValueError("the end")

    source = Numbers(3, ValueError("the end") if fails_in == "source" else None)
    with anyio.fail_after(2):
        async with anyio.create_task_group() as group:
            actor: Actor[int, int] = Actor(source, Fails() if fails_in == "stage" else Plain(), "failing").start(group)
            assert [await actor.next_batch() for _ in range(3)] == [[1], [2], [3]]
            with pytest.raises(ValueError, match="the end"):
                await actor.next_batch()
            await actor.aclose()


@pytest.mark.parametrize("broken", [anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream])
async def test_a_stage_with_a_broken_channel_of_its_own(broken: type[Exception]) -> None:
    """What breaks inside of a stage is its failure; only a reader who left ends an actor quietly (B242)."""

    class Fails(Plain):
        def feed(self, batch: Sequence[int], /) -> Sequence[int]:
            raise broken

    with anyio.fail_after(2):
        async with anyio.create_task_group() as group:
            actor: Actor[int, int] = Actor(Numbers(3), Fails(), "failing").start(group)
            with pytest.raises(broken):
                await actor.next_batch()
            await actor.aclose()


async def test_a_stage_that_is_done_is_fed_no_more() -> None:
    """What follows is not asked for."""

    class First(Plain):
        done = True

    numbers = Numbers(5)
    with anyio.fail_after(2):
        async with anyio.create_task_group() as group:
            actor: Actor[int, int] = Actor(numbers, First(), "first").start(group)
            assert await everything(actor) == [[1]]
            await actor.aclose()
    assert numbers.taken == 1


async def test_closing_waits_for_the_end() -> None:
    """Its clean-up is over when `aclose` returns, also where the actor had not started yet; closing again is nothing."""
    ended: list[str] = []

    class Waits(Plain):
        async def feed(self, batch: Sequence[int], /) -> Sequence[int]:  # type: ignore[override]
            try:
                await anyio.sleep_forever()
            finally:
                with anyio.CancelScope(shield=True):
                    await anyio.lowlevel.checkpoint()
                ended.append("stage")
            return batch

        async def finish(self) -> Sequence[int]:  # type: ignore[override]
            return []

    with anyio.fail_after(2):
        async with anyio.create_task_group() as group:
            actor: Actor[int, int] = Actor(Numbers(3), Waits(), "waits").start(group)
            await settle()
            await actor.aclose()
            assert ended == ["stage"]
            await actor.aclose()
            unstarted: Actor[int, int] = Actor(Numbers(3), Plain(), "unstarted").start(group)
            await unstarted.aclose()
    await Actor(Numbers(1), Plain(), "never started").aclose()


async def test_a_stopped_actor_does_not_look_like_an_ended_one() -> None:
    """Who reads it in another task is told that it was stopped."""
    caught: list[Exception] = []

    async def read(actor: Actor[int, int]) -> None:
        try:
            await everything(actor)
        except StreamAborted as error:
            caught.append(error)

    class Never:
        async def next_batch(self) -> Sequence[int] | None:
            await anyio.sleep_forever()
            return None

    with anyio.fail_after(2):
        async with anyio.create_task_group() as group:
            actor: Actor[int, int] = Actor(Never(), Plain(), "never").start(group)
            group.start_soon(read, actor)
            await settle()
            await actor.aclose()
    assert [str(error) for error in caught] == ["the actor never was stopped before its end"]


async def test_cancelling_a_blocked_send_returns_at_once() -> None:
    """No spinning on a full channel (B243): a stopped actor takes no further turn."""
    turns = 0

    class Counts(Plain):
        def feed(self, batch: Sequence[int], /) -> Sequence[int]:
            nonlocal turns
            turns += 1
            return batch

    with anyio.fail_after(2):
        async with anyio.create_task_group() as group:
            actor: Actor[int, int] = Actor(Numbers(10**9), Counts(), "blocked").start(group)
            await settle()
            await actor.aclose()
            await settle()
    assert turns == DEPTH + HELD
