"""Fan-out: one pump actor reads the stream and hands every batch to all mailboxes; each listener waits on its own.

`Hub` decides synchronously (who gets what, who holds the source back, who is given up); the pump and `Subscription` only wait.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Self

import anyio

from headwater.actors import Source
from headwater.aggregate import Aggregator
from headwater.catch_up import catch_up
from headwater.mailbox import Mailbox, Policy, SubscriberStats, size_of
from headwater_codecs.neutral import TERMINALS, ConfigurationError, ErrorInfo, Event, SubscriberLagged, SubscriptionError

BUFFER = 256  # events that a listener may be behind
PATIENCE = 30.0  # seconds for which one listener may hold the source back while others listen (policy `block`)
TWO_READERS = "two tasks read the same iterator: give each its own `stream.subscribe()`"


class Subscription:
    """One listener of a stream: an async iterator of events that ends after the terminal event, and a context manager.

    Leaving it (or `close`) ends the listening, not the stream. With policy `disconnect` (and with `block` after its patience) a listener
    that fell behind gets SubscriberLagged, after what was buffered for it.
    """

    def __init__(self, hub: Hub, mailbox: Mailbox, patience: float) -> None:
        self.mailbox = mailbox
        self.patience = patience
        self.wake = anyio.Event()
        self.blocking_since: float | None = None  # when it began to hold the source back
        self._hub = hub
        self._ready: Iterator[Event] = iter(())
        self._waiting = False
        self._closed = False

    @property
    def stats(self) -> SubscriberStats:
        """What happened to this listener so far."""
        return self.mailbox.stats

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        for event in self._ready:
            return event
        self._ready = iter(await self._next())
        return next(self._ready)

    async def next_batch(self) -> Sequence[Event] | None:
        """All events that wait for this listener, None after the terminal one. Raises SubscriberLagged when it was given up."""
        if rest := list(self._ready):
            return rest
        try:
            return await self._next()
        except StopAsyncIteration:
            return None

    async def _next(self) -> Sequence[Event]:
        if self._waiting:
            raise ConfigurationError(TWO_READERS)
        while True:
            batch = self.mailbox.take()
            if batch:
                self._hub.took(self)
                return batch
            if self.mailbox.lagged:
                raise SubscriberLagged(f"this listener fell more than {self.mailbox.bound} behind: read faster, or subscribe with policy 'coalesce'")
            if self._closed or self._hub.over:
                raise StopAsyncIteration
            self.wake = anyio.Event()
            self._waiting = True
            try:
                await self.wake.wait()
            finally:
                self._waiting = False

    def close(self) -> None:
        """Stop listening; what is unread is dropped, and a source that waited for this listener goes on."""
        if not self._closed:
            self._closed = True
            self._ready = iter(())
            self.mailbox.clear()
            self._hub.leave(self)
            self.wake.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()


class Hub:
    """All listeners of one stream. `on_empty` is called when the last one has left, or was given up, before the end; `on_lag` for who is given up.

    `view` is the aggregate of what was published: late listeners catch up from it, and what is open in it is closed when the stream is given
    up. Where the stream's own aggregator runs ahead of the pump, the hub folds a view of its own (`folds`).
    """

    def __init__(
        self, view: Aggregator, replay: int, on_empty: Callable[[], None], on_lag: Callable[[Subscription], None], *, folds: bool = False
    ) -> None:
        self.over = view.state == "ended"
        self.subscriptions: dict[Subscription, None] = {}  # in the order in which they came; a thousand may leave at once
        self._view = view
        self._folds = folds
        self._on_empty = on_empty
        self._on_lag = on_lag
        self._replay = replay
        self._replayed: list[Sequence[Event]] | None = [] if view.state == "new" else None
        self._replay_size = 0
        self._room = anyio.Event()

    def subscribe(self, policy: Policy, buffer: int, patience: float, max_bytes: int | None = None, *, live: bool = False) -> Subscription:
        """A new listener. A late one first gets what happened so far: as it was (with `replay`), else as one merged batch.

        `live`: it knows all that, and gets what is to come.
        """
        mailbox = Mailbox(policy, buffer, max_bytes)
        subscription = Subscription(self, mailbox, patience)
        if not live and self._view.state != "new":
            for batch in self._so_far():
                mailbox.catch_up(batch)
        if not self.over:
            self.subscriptions[subscription] = None
            self._room.set()  # who held the source back alone does so no longer
        return subscription

    def publish(self, batch: Sequence[Event]) -> None:
        """Hand a batch to every listener. After one with a terminal event nothing follows."""
        if self._folds:
            self._view.feed(batch)
        self._send(batch)

    def end(self, aborted: Callable[[], ErrorInfo]) -> None:
        """The pump has stopped. If that was before the stream's end, the listeners are told: StreamFailed of kind `aborted`."""
        if not self.over:
            self._send(self._view.abort(aborted()))

    def full(self) -> list[Subscription]:
        """The listeners that hold the source back."""
        return [subscription for subscription in self.subscriptions if subscription.mailbox.full]

    async def room(self, clock: Callable[[], float]) -> None:
        """Wait until nobody holds the source back. Who does so for longer than its patience, while others listen, is given up."""
        while waiting := self.full():
            now = clock()
            for subscription in waiting:
                if subscription.blocking_since is None:
                    subscription.blocking_since = now
            self._room = anyio.Event()
            with anyio.move_on_after(self._patience(waiting, now)):
                await self._room.wait()
            self._settle(waiting, clock())

    def took(self, subscription: Subscription) -> None:
        """A listener made room."""
        if subscription.blocking_since is not None and not subscription.mailbox.full:
            self._room.set()

    def leave(self, subscription: Subscription) -> None:
        """A listener left."""
        if subscription in self.subscriptions:
            del self.subscriptions[subscription]
            self._room.set()
            if not self.subscriptions and not self.over:
                self._on_empty()

    def _send(self, batch: Sequence[Event]) -> None:
        self.over = type(batch[-1]) in TERMINALS
        if self._replay:
            self._keep(batch)
        lagged: list[Subscription] = []
        for subscription in self.subscriptions:
            subscription.mailbox.put(batch)
            subscription.wake.set()
            if subscription.mailbox.lagged:
                lagged.append(subscription)
        if self.over:
            self.subscriptions.clear()
        for subscription in lagged:
            self._give_up(subscription)

    def _give_up(self, subscription: Subscription) -> None:
        self._on_lag(subscription)
        self.leave(subscription)

    def _patience(self, waiting: Sequence[Subscription], now: float) -> float:
        """Seconds until the first of those who wait is given up. Nobody suffers from one who listens alone."""
        if len(self.subscriptions) == 1:
            return math.inf
        return max(0.0, min((subscription.blocking_since or now) + subscription.patience for subscription in waiting) - now)

    def _settle(self, waiting: Sequence[Subscription], now: float) -> None:
        """Note how long these held the source back, and give up who did it too long."""
        for subscription in waiting:
            since = subscription.blocking_since
            assert since is not None
            blocks = subscription.mailbox.full  # one that left has an empty mailbox
            too_long = now - since >= subscription.patience and len(self.subscriptions) > 1
            if blocks and not too_long:
                continue
            subscription.mailbox.stats.blocked += now - since
            subscription.blocking_since = None
            if blocks:
                subscription.mailbox.lagged = True
                subscription.wake.set()
                self._give_up(subscription)

    def _keep(self, batch: Sequence[Event]) -> None:
        if self._replayed is None:
            return
        self._replay_size += size_of(batch)
        if self._replay_size > self._replay:
            self._replayed = None
        else:
            self._replayed.append(batch)

    def _so_far(self) -> list[Sequence[Event]]:
        if self._replay:
            if self._replayed is None:
                raise SubscriptionError(
                    f"the stream is longer than its replay bound of {self._replay} bytes: subscribe earlier, raise the bound, or leave replay off"
                )
            return list(self._replayed)
        events = catch_up(self._view.response)
        if self._view.terminal is not None:
            events.append(self._view.terminal)
        return [events]


async def pump(source: Source[Event], hub: Hub, clock: Callable[[], float], aborted: Callable[[], ErrorInfo]) -> None:
    """The fan-out actor: every batch of the source to all listeners, held back while one of them is full. Cancelled, it tells them."""
    try:
        while (batch := await source.next_batch()) is not None:
            hub.publish(batch)
            if hub.full():
                await hub.room(clock)
    finally:
        hub.end(aborted)
