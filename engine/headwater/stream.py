"""`Stream`: one request's events, for whoever listens.

A context manager with `__anext__`, not a generator: nothing is ever yielded inside a task group or a scope. Alone, the reader pulls through the
fused stages itself. With `subscribe`, or in the other topologies, a pump actor reads and everybody listens to a mailbox; a pull that is under way
then hands what it brings to the listeners. Nothing is sent, and no actor starts, before the first pull or `subscribe`.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Protocol, Self

import anyio

from headwater.actors import Actor, AsyncStage, Fused, Source, Stage, is_async
from headwater.aggregate import Aggregator
from headwater.deadlines import Fired
from headwater.ending import Ending, Folding
from headwater.fanout import BUFFER, PATIENCE, TWO_READERS, Hub, Subscription, pump
from headwater.mailbox import Policy, check_bounds
from headwater.telemetry import StreamLog
from headwater_codecs.neutral import ConfigurationError, ErrorInfo, Event, Response, SubscriptionError, TextDelta, error_info

if TYPE_CHECKING:
    from headwater.engine import Engine

Topology = Literal["fused", "fan-out", "staged"]
WhenUnwatched = Literal["continue", "cancel"] | float
AnyStage = Stage[Event, Event] | AsyncStage[Event, Event]
CLOSE_TIME = 2.0  # seconds within which everything of a stream is closed
OUTSIDE = "read a stream inside its block: async with engine.stream(...) as stream"


class Watched(Protocol):
    """What the watchdog asks at every look: the `Deadlines`, or a `Race` for those of two requests."""

    @property
    def fired(self) -> Fired | None: ...

    def check(self, now: float) -> Fired | None: ...


class Delivering(Source[Event], Protocol):
    """Where a stream's events come from: a `Delivery`, or a `Race` of two."""

    @property
    def sent(self) -> int: ...

    def expire(self) -> Callable[[], Coroutine[object, object, None]] | None: ...

    def how_far(self, error: ErrorInfo) -> ErrorInfo: ...

    def close_nowait(self) -> bool: ...

    async def aclose(self) -> None: ...


class Stream:
    """The events of one request; use it with `async with`.

    Iterating gives every event; the last one is Finish or StreamFailed, once, and a failed stream does not raise. `response` holds what was
    received, at any moment and after the block. The conveniences (`text_deltas`, `result`) raise the typed error instead, which carries
    `.response`. Leaving the block closes the connection; nothing outlives it. Left before the end, the response has an error of kind `aborted`.

    A cancelled pull loses nothing but a request that is still being opened: the next pull sends it anew.
    """

    def __init__(
        self,
        engine: Engine,
        delivery: Delivering,
        response: Response,
        deadlines: Watched,
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
        self._source: Ending | None = None
        self._ready: Iterator[Event] = iter(())
        self._hub: Hub | None = None
        self._main: Subscription | None = None
        self._pump_scope: anyio.CancelScope | None = None
        self._pump_done: anyio.Event | None = None
        self._handed_over: anyio.Event | None = None  # the pump waits for the pull that was under way
        self._entered = self._closed = self._complete = self._left = False
        self.unwatched_until: float | None = None  # on the engine's clock: when the grace after the last listener is over

    async def __aenter__(self) -> Self:
        if self._entered:
            raise ConfigurationError("a stream can be entered once: ask the engine for another one")
        self._engine.opened(self)
        self._entered = True
        self._log.started()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._left = True
        await self.aclose()
        self._ready = iter(())
        self._source = None  # `_pull` says what reading from now on means

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

    @property
    def over(self) -> bool:
        """Whether the answer has ended, well or not."""
        return self._aggregator.state == "ended"

    def choice_of(self, index: int) -> int:
        """The choice that block `index` belongs to."""
        return self._aggregator.choice_of(index)

    def raise_for_error(self) -> None:
        """As `Response.raise_for_error`, with the exception of the transport chained as the cause."""
        error = self.response.to_exception()
        if error is not None:
            raise error from self._log.last_cause

    def subscribe(self, policy: Policy = "block", buffer: int = BUFFER, patience: float = PATIENCE, *, max_bytes: int | None = None) -> Subscription:
        """One more listener, from now on.

        `block` slows the source while `buffer` events are unread (where others listen too for at most `patience` seconds, then this listener
        is given up with SubscriberLagged), `coalesce` merges the deltas of a slow listener, `disconnect` gives it up. `max_bytes` bounds what is
        unread in bytes too, and gives up also a listener whose merged deltas pass it. A late listener first
        gets what came before as one merged batch, or the identical sequence with `replay`. Reading the stream itself counts as a listener
        with `block` from its first pull on. Raises SubscriptionError beyond the replay bound, or outside of the stream's block.
        """
        if not self._entered or self._closed:
            raise SubscriptionError("subscribe inside the stream's `async with` block")
        check_bounds(policy, buffer, max_bytes)
        subscription = self._share().subscribe(policy, buffer, patience, max_bytes)
        self.unwatched_until = None
        return subscription

    async def aclose(self) -> None:
        """Close everything of this stream: the connection, then its actors. Idempotent, shielded, within two seconds.

        Who reads it in another task gets StreamFailed of kind `aborted`.
        """
        if self._closed:
            return
        self._closed = True
        self._complete = self._aggregator.state == "ended"
        if self._hub is not None or self._actors or not self._delivery.close_nowait():
            self.stop()
            by = anyio.current_time() + CLOSE_TIME
            with anyio.CancelScope(deadline=by, shield=True):
                await self._delivery.aclose()
            with anyio.CancelScope(deadline=by, shield=True):
                await self._stopped()
        self._abort()
        self._engine.closed(self)

    def expire(self) -> None:
        """The watchdog found a deadline passed: end whatever waits for the provider."""
        abort = self._delivery.expire()
        if abort is not None:
            self._engine.start_soon(self._by_force, abort)

    def stop(self) -> None:
        """Cancel the actors."""
        if self._pump_scope is not None:
            self._pump_scope.cancel()
        for actor in self._actors:
            actor.cancel()

    async def _by_force(self, abort: Callable[[], Coroutine[object, object, None]]) -> None:
        try:
            await abort()
        except Exception as error:  # a transport's fault must not end the engine
            self._log.cause(error)

    async def _stopped(self) -> None:
        if self._pump_done is not None:
            await self._pump_done.wait()
        for actor in reversed(self._actors):
            await actor.aclose()

    def _abort(self) -> None:
        """End the response where nothing else did."""
        if self._aggregator.state != "ended":
            self._aggregator.abort(self._aborted())
        self._log.finished(self.response, self._delivery.sent)

    def _aborted(self) -> ErrorInfo:
        return self.response.error or self._delivery.how_far(
            error_info("aborted", "the stream was closed before its end", phase="stream", retryable=False)
        )

    async def _pull(self) -> Sequence[Event] | None:
        if not self._entered or self._left:
            if self._complete:
                return None
            raise ConfigurationError(OUTSIDE)
        if self._closed and self._source is None:  # closed by somebody else before it was read
            words, self._aggregator.last_words = self._aggregator.last_words, ()
            return words or None
        if self._topology == "fused" and not self._replay and self._hub is None:
            self._source = source = self._source or self._chain()
            return await source.next_batch()
        hub = self._share()
        if self._main is None:
            if self._handed_over is not None:
                raise ConfigurationError(TWO_READERS)  # the other task's pull is not over
            self._main = hub.subscribe("block", BUFFER, PATIENCE)
            self.unwatched_until = None
        return await self._main.next_batch()

    def _chain(self) -> Ending:
        """The stages behind the delivery: one's own first, the aggregator last. Synchronous ones are fused; an async one gets an actor."""
        chain: Source[Event] = self._delivery
        for number, stage in enumerate(self._stages):
            if is_async(stage):
                chain = self._actor(chain, stage, f"headwater.stage.{number}")
            else:
                assert isinstance(stage, Stage)
                chain = Fused(chain, stage)
        how_far = self._delivery.how_far
        folding = Folding(self._aggregator, how_far)
        if self._topology == "staged":
            return Ending(self._actor(chain, folding, "headwater.aggregator"), None, self._aggregator, how_far, self._log)
        return Ending(chain, folding, self._aggregator, how_far, self._log)

    def _actor(self, source: Source[Event], stage: AnyStage, name: str) -> Source[Event]:
        actor: Actor[Event, Event] = Actor(source, stage, name)
        self._actors.append(actor.start(self._engine.group))
        return actor

    def _share(self) -> Hub:
        """From here on an actor reads the stream; a reader who pulled until now becomes a listener."""
        if self._hub is not None:
            return self._hub
        self._source = source = self._source or self._chain()
        view, folds = self._aggregator, self._topology == "staged"
        if folds:  # the actors run ahead of the pump
            view = Aggregator()
            view.response.provider = self.response.provider
        self._hub = Hub(view, self._replay, self._unwatched, self._lagged, folds=folds)
        if source.reading:
            self._handed_over = anyio.Event()
            source.handover = self._take_over
        elif view.state != "new":
            self._main = self._hub.subscribe("block", BUFFER, PATIENCE, live=True)
        if not self._hub.over:
            self._pump_done = anyio.Event()
            self._pump_scope = anyio.CancelScope()
            self._engine.start_soon(self._pump, self._hub, source, self._pump_scope, self._pump_done, name="headwater.fan-out")
        return self._hub

    def _take_over(self, batch: Sequence[Event] | None) -> None:
        """The pull that was under way when the first listener came is over: what it brought is the listeners' too."""
        assert self._hub is not None
        assert self._handed_over is not None
        if batch and not self._hub.over:
            self._hub.publish(batch)
        self._main = self._hub.subscribe("block", BUFFER, PATIENCE, live=True)
        self._handed_over.set()
        self._handed_over = None

    async def _pump(self, hub: Hub, source: Ending, scope: anyio.CancelScope, done: anyio.Event) -> None:
        try:
            with scope:
                if self._handed_over is not None:
                    await self._handed_over.wait()
                await pump(source, hub, self._engine.clock, self._aborted)
        except Exception as error:  # nothing that is wrong with one stream may end the engine
            self._log.cause(error)
        finally:
            hub.end(self._aborted)
            with anyio.move_on_after(CLOSE_TIME, shield=True):
                await self._delivery.aclose()  # also where nobody leaves the block for long
            self._abort()
            done.set()

    def _lagged(self, listener: Subscription) -> None:
        mailbox = listener.mailbox
        self._log.lagged(mailbox.policy, mailbox.buffer, mailbox.stats.blocked)

    def _unwatched(self) -> None:
        """The last listener has left before the end."""
        if self._when_unwatched == "cancel":
            self.stop()
        elif self._when_unwatched != "continue":
            self.unwatched_until = self._engine.clock() + self._when_unwatched


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
