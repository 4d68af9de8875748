"""`Stream`: one request's events, for whoever listens.

A context manager with `__anext__`, not a generator: nothing is ever yielded inside a task group or a scope. Alone, the reader pulls through the
fused stages itself. With `subscribe`, or in the staged topology, a pump actor reads and everybody listens to a mailbox.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

import anyio

from headwater.actors import Actor, AsyncStage, Fused, Source, Stage, is_async
from headwater.aggregate import Aggregator
from headwater.deadlines import Deadlines
from headwater.delivery import Delivery
from headwater.fanout import BUFFER, PATIENCE, Hub, Subscription, pump
from headwater.mailbox import Policy
from headwater.telemetry import StreamLog
from headwater_codecs.neutral import (
    TERMINALS,
    ConfigurationError,
    ErrorInfo,
    Event,
    HeadwaterError,
    LocalProtocolError,
    Response,
    SubscriptionError,
    TextDelta,
    error_info,
)

if TYPE_CHECKING:
    from headwater.engine import Engine

Topology = Literal["fused", "fan-out", "staged"]
WhenUnwatched = Literal["continue", "cancel"] | float
AnyStage = Stage[Event, Event] | AsyncStage[Event, Event]
CLOSE_TIME = 2.0  # seconds within which everything of a stream is closed


class Stream:
    """The events of one request; use it with `async with`.

    Iterating gives every event; the last one is Finish or StreamFailed, once, and a failed stream does not raise. `response` holds what was
    received, at any moment and after the block. The conveniences (`text_deltas`, `result`) raise the typed error instead, which carries
    `.response`. Leaving the block closes the connection; nothing outlives it.
    """

    def __init__(
        self,
        engine: Engine,
        delivery: Delivery,
        response: Response,
        deadlines: Deadlines,
        log: StreamLog,
        *,
        topology: Topology,
        stages: Sequence[AnyStage],
        replay: int,
        when_unwatched: WhenUnwatched,
    ) -> None:
        self.response = response
        self.deadlines = deadlines
        self._engine = engine
        self._delivery = delivery
        self._log = log
        self._topology = topology
        self._stages = stages
        self._when_unwatched = when_unwatched
        self._replay = replay
        self._aggregator = Aggregator(response)
        self._actors: list[Actor[Event, Event]] = []
        self._source: Source[Event] | None = None
        self._ready: Iterator[Event] = iter(())
        self._hub: Hub | None = None
        self._main: Subscription | None = None
        self._pump_scope = anyio.CancelScope()
        self._pump_done: anyio.Event | None = None
        self._entered = self._closed = False

    async def __aenter__(self) -> Self:
        if self._entered:
            raise HeadwaterError("a stream can be entered once: ask the engine for another one")
        self._entered = True
        self._engine.opened(self)
        self._source = self._chain()
        self._log.started()
        if self._topology != "fused":
            self._start_pump()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        await self.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        for event in self._ready:  # an iterator over the events of the last read: it goes on where it stopped
            return event
        batch = await (self._source.next_batch() if self._hub is None and self._source is not None else self._pull())
        if batch is None:
            raise StopAsyncIteration
        self._ready = iter(batch)
        return next(self._ready)

    async def next_batch(self) -> Sequence[Event] | None:
        """All events that are there, as a batch (of about one read); None after the terminal one."""
        if rest := list(self._ready):
            return rest
        return await self._pull()

    async def result(self) -> Response:
        """Read to the end. Raises the typed error of a failed stream, with `.response`."""
        while await self.next_batch() is not None:
            pass
        self.raise_for_error()
        return self.response

    def text_deltas(self) -> TextDeltas:
        """The answer's text, piece by piece (of choice 0 where there are several). Raises the typed error of a failed stream at its end."""
        return TextDeltas(self)

    def choice_of(self, index: int) -> int:
        """The choice that block `index` belongs to."""
        return self._aggregator.choice_of(index)

    def raise_for_error(self) -> None:
        """As `Response.raise_for_error`, with the exception of the transport chained as the cause."""
        error = self.response.to_exception()
        if error is not None:
            raise error from self._log.last_cause

    def subscribe(self, policy: Policy = "block", buffer: int = BUFFER, patience: float = PATIENCE) -> Subscription:
        """One more listener, from now on.

        `block` slows the source while `buffer` events are unread (for at most `patience` seconds, then this listener is given up with
        SubscriberLagged), `coalesce` merges the deltas of a slow listener, `disconnect` gives it up. A late listener first gets what came
        before as one merged batch, or the identical sequence with `replay`. Reading the stream itself counts as a listener with `block`
        from its first pull on. Raises SubscriptionError beyond the replay bound, or outside of the stream's block.
        """
        if not self._entered or self._closed:
            raise SubscriptionError("subscribe inside the stream's `async with` block")
        if buffer < 1:
            raise ConfigurationError(f"buffer is {buffer}: a listener needs room for at least one event")
        return self._start_pump().subscribe(policy, buffer, patience)

    async def aclose(self) -> None:
        """Close everything of this stream: actors, then the connection. Idempotent, shielded, within two seconds."""
        if self._closed:
            return
        self._closed = True
        if self._hub is None and not self._actors and self._delivery.close_nowait():
            self._engine.closed(self)
            return
        with anyio.move_on_after(CLOSE_TIME, shield=True):
            if self._pump_done is not None:
                self._pump_scope.cancel()
                await self._pump_done.wait()
            for actor in reversed(self._actors):
                await actor.aclose()
            await self._delivery.aclose()
        if self._main is not None:
            self._main.close()
        self._engine.closed(self)

    def expire(self) -> None:
        """The watchdog found a deadline passed: end whatever waits for the provider."""
        abort = self._delivery.expire()
        if abort is not None:
            self._engine.start_soon(abort)

    async def _pull(self) -> Sequence[Event] | None:
        if self._hub is not None:
            if self._main is None:
                self._main = self._hub.subscribe("block", BUFFER, PATIENCE)
            return await self._main.next_batch()
        if self._source is None:
            raise HeadwaterError("read a stream inside its block: async with engine.stream(...) as stream")
        return await self._source.next_batch()

    def _chain(self) -> Source[Event]:
        """The stages behind the delivery: one's own first, the aggregator last. Synchronous ones are fused; an async one gets an actor."""
        chain: Source[Event] = self._delivery
        for number, stage in enumerate(self._stages):
            if is_async(stage):
                chain = self._actor(chain, stage, f"headwater.stage.{number}")
            else:
                assert isinstance(stage, Stage)
                chain = Fused(chain, stage)
        folding = Folding(self._aggregator)
        if self._topology == "staged":
            return Ending(self._actor(chain, folding, "headwater.aggregator"), None, self._aggregator, self._log)
        return Ending(chain, folding, self._aggregator, self._log)

    def _actor(self, source: Source[Event], stage: AnyStage, name: str) -> Source[Event]:
        actor: Actor[Event, Event] = Actor(source, stage, name)
        self._actors.append(actor.start(self._engine.group))
        return actor

    def _start_pump(self) -> Hub:
        """From here on an actor reads the stream; a reader who pulled until now becomes a listener."""
        if self._hub is None:
            self._hub = Hub(self._aggregator, self._replay, self._unwatched)
            self._pump_done = anyio.Event()
            self._engine.start_soon(self._pump, name="headwater.fan-out")
        return self._hub

    async def _pump(self) -> None:
        assert self._hub is not None
        assert self._source is not None
        assert self._pump_done is not None
        try:
            with self._pump_scope:
                await pump(self._source, self._hub, self._engine.clock, self._aggregator.abort)
        finally:
            self._pump_done.set()

    def _unwatched(self) -> None:
        """The last listener has left before the end."""
        if self._when_unwatched == "cancel":
            self._pump_scope.cancel()
        elif self._when_unwatched != "continue":
            self._engine.start_soon(self._cancel_later, float(self._when_unwatched))

    async def _cancel_later(self, grace: float) -> None:
        assert self._hub is not None
        await anyio.sleep(grace)
        if not self._hub.subscriptions and not self._closed:
            self._pump_scope.cancel()


class TextDeltas:
    """An async iterator over the text of a stream."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        stream = self._stream
        while True:
            try:
                event = await stream.__anext__()
            except StopAsyncIteration:
                stream.raise_for_error()
                raise
            if type(event) is TextDelta and stream.choice_of(event.index) == 0:
                return event.text


class Folding:
    """The aggregator as a stage that cannot break the stream: an illegal event of a stage ends it with StreamFailed of kind `internal`."""

    def __init__(self, aggregator: Aggregator) -> None:
        self._aggregator = aggregator

    def feed(self, batch: Sequence[Event], /) -> Sequence[Event]:
        """Fold the batch and pass it on."""
        try:
            return self._aggregator.feed(batch)
        except LocalProtocolError as error:
            illegal = self._aggregator.illegal
            good = list(batch[: next(at for at, event in enumerate(batch) if event is illegal)])
            return good + self._aggregator.abort(_internal(error))

    def finish(self) -> Sequence[Event]:
        """The stages have ended; without a terminal event one of them swallowed it."""
        return self._aggregator.abort(error_info("internal", "a stage ended the stream without its terminal event"))


class Ending:
    """The last link: whatever happens in the chain, a terminal event comes, once, and nothing after it. Folds, unless an actor did."""

    def __init__(self, source: Source[Event], folding: Folding | None, aggregator: Aggregator, log: StreamLog) -> None:
        self._source = source
        self._folding = folding
        self._aggregator = aggregator
        self._log = log
        self._events = 0
        self._over = False

    async def next_batch(self) -> Sequence[Event] | None:
        """The next events; an exception of a stage becomes StreamFailed."""
        if self._over:
            return None
        try:
            batch = await self._source.next_batch()
            if self._folding is not None:
                batch = self._folding.feed(batch) if batch is not None else self._folding.finish()
        except Exception as error:
            self._log.cause(error if isinstance(error, HeadwaterError) else HeadwaterError(str(error)))
            batch = self._aggregator.abort(_internal(error))
        if not batch:
            self._over = True
            return None
        self._events += len(batch)
        if type(batch[-1]) in TERMINALS:
            self._over = True
            self._log.finished(self._aggregator.response, self._events)
        return batch


def _internal(error: Exception) -> ErrorInfo:
    return error_info("internal", f"a stage failed: {type(error).__name__}: {error}", phase="stream")
