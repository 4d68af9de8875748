"""Fan-out: one pump actor reads the stream and hands every batch to all mailboxes; each listener waits on its own.

`Hub` decides synchronously (who gets what, who holds the source back, who is given up); the pump and `Subscription` only wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Self

import anyio

from headwater.actors import Source
from headwater.aggregate import Aggregator
from headwater.catch_up import catch_up
from headwater.mailbox import Mailbox, Policy, SubscriberStats
from headwater_codecs.neutral import TERMINALS, ErrorInfo, Event, SubscriberLagged, SubscriptionError, error_info

BUFFER = 256  # events that a listener may be behind
PATIENCE = 30.0  # seconds for which one listener may hold the source back (policy `block`)


class Subscription:
    """One listener of a stream: an async iterator of events that ends after the terminal event, and a context manager.

    Leaving it (or `close`) ends the listening, not the stream. With policy `disconnect` (and with `block` after its patience) a listener
    that fell behind gets SubscriberLagged, after what was buffered for it.
    """

    def __init__(self, hub: Hub, mailbox: Mailbox, patience: float) -> None:
        self.mailbox = mailbox
        self.patience = patience
        self._hub = hub
        self._ready: Iterator[Event] = iter(())
        self._closed = False
        self.wake = anyio.Event()

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
        try:
            return await self._next()
        except StopAsyncIteration:
            return None

    async def _next(self) -> Sequence[Event]:
        while True:
            batch = self.mailbox.take()
            if batch:
                self._hub.took(self)
                return batch
            if self.mailbox.lagged:
                raise SubscriberLagged(
                    f"this listener fell more than {self.mailbox.buffer} events behind: read faster, or subscribe with policy 'coalesce'"
                )
            if self._closed or self._hub.over:
                raise StopAsyncIteration
            self.wake = anyio.Event()
            await self.wake.wait()

    def close(self) -> None:
        """Stop listening; a source that waited for this listener goes on."""
        if not self._closed:
            self._closed = True
            self._hub.leave(self)
            self.wake.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()


class Hub:
    """All listeners of one stream. `on_empty` is called when the last one has left before the end."""

    def __init__(self, aggregator: Aggregator, replay: int, on_empty: Callable[[], None]) -> None:
        self.over = False
        self.subscriptions: list[Subscription] = []
        self._aggregator = aggregator
        self._on_empty = on_empty
        self._terminal: Event | None = None
        self._replay = replay
        self._replayed: list[Sequence[Event]] | None = [] if aggregator.state == "new" else None
        self._replay_size = 0
        self._room = anyio.Event()

    def subscribe(self, policy: Policy, buffer: int, patience: float) -> Subscription:
        """A new listener. A late one first gets what happened so far: as it was (with `replay`), else as one merged batch."""
        mailbox = Mailbox(policy, buffer)
        subscription = Subscription(self, mailbox, patience)
        if self._aggregator.state != "new":
            for batch in self._so_far():
                mailbox.waiting -= len(batch)  # what was before its time does not count as lag
                mailbox.put(batch)
        if not self.over:
            self.subscriptions.append(subscription)
        return subscription

    def publish(self, batch: Sequence[Event], *, last: bool) -> None:
        """Hand a batch to every listener. After the last one nothing follows."""
        if last:
            self.over = True
            self._terminal = batch[-1]
        if self._replay:
            self._keep(batch)
        for subscription in self.subscriptions:
            mailbox = subscription.mailbox
            mailbox.put(batch)
            subscription.wake.set()
        if last:
            self.subscriptions.clear()

    def full(self) -> list[Subscription]:
        """The listeners that hold the source back."""
        return [subscription for subscription in self.subscriptions if subscription.mailbox.full]

    async def room(self, clock: Callable[[], float]) -> None:
        """Wait until nobody holds the source back; who does for longer than its patience is given up."""
        while waiting := self.full():
            started = clock()
            self._room = anyio.Event()
            with anyio.move_on_after(min(subscription.patience for subscription in waiting)):
                await self._room.wait()
            waited = clock() - started
            for subscription in waiting:
                subscription.mailbox.stats.blocked += waited
                if subscription.mailbox.full and waited >= subscription.patience:
                    subscription.mailbox.lagged = True
                    subscription.wake.set()
                    self.subscriptions.remove(subscription)

    def took(self, subscription: Subscription) -> None:
        """A listener made room."""
        self._room.set()

    def leave(self, subscription: Subscription) -> None:
        """A listener left."""
        if subscription in self.subscriptions:
            self.subscriptions.remove(subscription)
            self._room.set()
            if not self.subscriptions and not self.over:
                self._on_empty()

    def _keep(self, batch: Sequence[Event]) -> None:
        if self._replayed is None:
            return
        self._replay_size += sum(_size(event) for event in batch)
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
        events = catch_up(self._aggregator.response)
        if self._terminal is not None:
            events.append(self._terminal)
        return [events]


async def pump(source: Source[Event], hub: Hub, clock: Callable[[], float], abort: Callable[[ErrorInfo], Sequence[Event]]) -> None:
    """The fan-out actor: every batch of the source to all listeners, held back while one of them is full.

    When it is cancelled the listeners are told: their stream ends with StreamFailed of kind `aborted`.
    """
    try:
        while (batch := await source.next_batch()) is not None:
            hub.publish(batch, last=_is_terminal(batch))
            if hub.full():
                await hub.room(clock)
    finally:
        if not hub.over:
            hub.publish(abort(error_info("aborted", "the stream was closed before its end", phase="stream", retryable=False)), last=True)


def _is_terminal(batch: Sequence[Event]) -> bool:
    return type(batch[-1]) in TERMINALS


def _size(event: Event) -> int:
    """About how many bytes an event holds: its strings and bytes, and its own 64."""
    return 64 + sum(len(value) for name in event.__struct_fields__ if isinstance(value := getattr(event, name), str | bytes))
