"""The one actor loop, and the two ways to put a stage behind a source of batches.

A *source* hands out batches, None at its end. `Fused` runs a stage inside the pull of whoever asks; `Actor` runs it in a task of its own behind a
memory channel of depth one. Both are sources again, so any chain of stages can be cut anywhere, and gives the same batches.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Generic, Protocol, TypeVar, runtime_checkable

import anyio
from anyio.abc import TaskGroup

from headwater_codecs.neutral import StreamAborted

In = TypeVar("In")
Out = TypeVar("Out")
In_contra = TypeVar("In_contra", contravariant=True)
Out_co = TypeVar("Out_co", covariant=True)


class Source(Protocol[Out_co]):
    """Batches, one after the other; never an empty one."""

    async def next_batch(self) -> Sequence[Out_co] | None:
        """The next batch, None after the last one."""


@runtime_checkable
class Stage(Protocol[In_contra, Out_co]):
    """A synchronous step: a batch in, a batch out (an empty one for "nothing yet"); `finish` gives what is left at the end."""

    def feed(self, batch: Sequence[In_contra], /) -> Sequence[Out_co]: ...

    def finish(self) -> Sequence[Out_co]: ...


class AsyncStage(Protocol[In_contra, Out_co]):
    """The same with awaits: a moderation call, a database write."""

    async def feed(self, batch: Sequence[In_contra], /) -> Sequence[Out_co]: ...

    async def finish(self) -> Sequence[Out_co]: ...


class Fused(Generic[In, Out]):
    """A stage inside the pull of whoever asks: no task, no channel."""

    def __init__(self, source: Source[In], stage: Stage[In, Out]) -> None:
        self._source = source
        self._stage = stage
        self._ended = False

    async def next_batch(self) -> Sequence[Out] | None:
        """Pull until the stage gives something."""
        while not self._ended:
            batch = await self._source.next_batch()
            if batch is None:
                self._ended = True
                out = self._stage.finish()
            else:
                out = self._stage.feed(batch)
            if isinstance(out, Awaitable):  # a wrapped coroutine function looks like a plain one
                out = await out
            if out:
                return out
        return None


class Actor(Generic[In, Out]):
    """A stage in a task of its own. Who made the actor closes it; closing waits for the task's end."""

    def __init__(self, source: Source[In], stage: Stage[In, Out] | AsyncStage[In, Out], name: str) -> None:
        self.name = name
        self._source = source
        self._stage = stage
        self._send, self._receive = anyio.create_memory_object_stream[Sequence[Out]](1)
        self._scope = anyio.CancelScope()
        self._stopped: anyio.Event | None = None
        self._finished = False
        self._failure: Exception | None = None

    def start(self, group: TaskGroup) -> Actor[In, Out]:
        """Start the task in the engine's group, under a scope of its own."""
        self._stopped = anyio.Event()
        group.start_soon(self._run, name=self.name)
        return self

    async def next_batch(self) -> Sequence[Out] | None:
        """The next batch from the channel. Raises what the stage raised, after the batches before it, and StreamAborted if it was stopped."""
        try:
            return self._receive.receive_nowait()
        except anyio.WouldBlock:
            pass
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            return self._ended()
        try:
            return await self._receive.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            return self._ended()

    def cancel(self) -> None:
        """Tell the task to stop, and close the channel; `aclose` waits for it."""
        self._scope.cancel()
        self._receive.close()
        if self._stopped is None:  # never started: nobody else closes this end
            self._send.close()

    async def aclose(self) -> None:
        """Stop the task and wait until it has."""
        self.cancel()
        if self._stopped is not None:
            await self._stopped.wait()

    def _ended(self) -> Sequence[Out] | None:
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        if not self._finished:
            raise StreamAborted(f"the actor {self.name} was stopped before its end") from None
        return None

    async def _run(self) -> None:
        assert self._stopped is not None
        try:
            with self._scope, self._send:
                await pump(self._source, self._stage, self._send)
                self._finished = True
        except Exception as error:  # an actor never raises into the group: whoever reads gets it
            self._failure = error
        finally:
            self._stopped.set()


class Outbox(Protocol[In_contra]):
    """The sending end of a channel."""

    def send_nowait(self, item: In_contra, /) -> None: ...

    async def send(self, item: In_contra, /) -> None: ...


async def pump(source: Source[In], stage: Stage[In, Out] | AsyncStage[In, Out], outbox: Outbox[Sequence[Out]]) -> None:
    """The actor loop: batches from the source, through the stage, into the outbox. A reader who left ends it quietly."""
    while (batch := await source.next_batch()) is not None:
        if not await _forward(stage.feed(batch), outbox):
            return
        if getattr(stage, "done", False):  # past its terminal: what follows is not ours
            return
    await _forward(stage.finish(), outbox)


async def _forward(result: Sequence[Out] | Awaitable[Sequence[Out]], outbox: Outbox[Sequence[Out]]) -> bool:
    """Send what a stage gave; False when nobody reads any more."""
    out = await result if isinstance(result, Awaitable) else result
    if not out:
        return True
    try:
        try:
            outbox.send_nowait(out)  # a send that need not wait is a full turn of the scheduler cheaper
        except anyio.WouldBlock:
            await outbox.send(out)
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        return False
    return True


def is_async(stage: object) -> bool:
    """Whether a stage's `feed` is a coroutine function: then it needs an actor."""
    code = getattr(getattr(stage, "feed", None), "__code__", None)
    return code is not None and bool(code.co_flags & 0x80)  # inspect.CO_COROUTINE, without importing inspect


__all__ = ["Actor", "AsyncStage", "Fused", "Outbox", "Source", "Stage", "is_async", "pump"]
