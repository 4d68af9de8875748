"""What a listener has not read yet, and what happens when it is too slow: one pure object per subscriber.

The bound counts events. `block` holds the source back while the mailbox is full; `coalesce` merges the deltas of each block, so a slow
listener loses no text and memory stays bounded by the answer itself; `disconnect` gives the listener up.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from headwater_codecs.neutral import (
    Event,
    RawFrame,
    ReasoningDelta,
    RefusalDelta,
    TextDelta,
    ToolCallDelta,
    UsageUpdate,
)
from headwater_codecs.neutral.events import TERMINALS

Policy = Literal["block", "coalesce", "disconnect"]
_DELTAS: dict[type, str] = {TextDelta: "text", ReasoningDelta: "text", RefusalDelta: "text", ToolCallDelta: "arguments"}


class SubscriberStats(Struct):
    """One subscriber: events `delivered`, deltas `merged` into others, `most_waiting` events at once, seconds for which it `blocked` the source."""

    delivered: int = 0
    merged: int = 0
    most_waiting: int = 0
    blocked: float = 0.0


class Mailbox:
    """A bounded queue of event batches with one policy. Everything here is synchronous; waiting is the reader's and the pump's business."""

    __slots__ = ("_batches", "_merging", "_queue", "buffer", "lagged", "policy", "stats", "waiting")

    def __init__(self, policy: Policy, buffer: int) -> None:
        self.policy = policy
        self.buffer = buffer
        self.lagged = False
        self.waiting = 0  # events not read yet
        self.stats = SubscriberStats()
        self._batches: deque[Sequence[Event]] = deque()
        self._merging = False
        self._queue: list[Event | _Merged] = []

    @property
    def full(self) -> bool:
        """Whether the source must wait: at least `buffer` events are unread and the policy is `block`."""
        return self.policy == "block" and self.waiting >= self.buffer

    def put(self, batch: Sequence[Event]) -> None:
        """Add a batch. Nothing is ever refused here: `full` asks the source to wait, `lagged` says that the listener is given up."""
        if self.lagged:
            return
        if self._merging or (self.policy == "coalesce" and self.waiting + len(batch) > self.buffer):
            self._merge(batch)
        elif self.policy == "disconnect" and self.waiting + len(batch) > self.buffer and type(batch[-1]) not in TERMINALS:
            self.lagged = True
            return
        else:
            self._batches.append(batch)
            self.waiting += len(batch)
        self.stats.most_waiting = max(self.stats.most_waiting, self.waiting)

    def take(self) -> Sequence[Event]:
        """Everything unread, in order; empty when there is nothing."""
        if self._merging:
            batch: Sequence[Event] = [item.event() if isinstance(item, _Merged) else item for item in self._queue]
            self._queue = []
            self._merging = False
            self.waiting = 0
        elif self._batches:
            batch = self._batches.popleft()
            self.waiting -= len(batch)
        else:
            return ()
        self.stats.delivered += len(batch)
        return batch

    def _merge(self, batch: Sequence[Event]) -> None:
        """Queue with the deltas of one block as one. Deltas of different blocks may pass each other: only the order within a block counts."""
        if not self._merging:
            self._merging = True
            unread = [event for waiting in self._batches for event in waiting]
            self._batches.clear()
            self._merge_all(unread)
        self._merge_all(batch)
        self.waiting = len(self._queue)

    def _merge_all(self, events: Sequence[Event]) -> None:
        merged = {item.key: item for item in self._queue if isinstance(item, _Merged)}
        usage = next((at for at, item in enumerate(self._queue) if type(item) is UsageUpdate), None)
        for event in events:
            kind = type(event)
            if kind in _DELTAS:
                key = (kind, event.index)  # type: ignore[union-attr]  # every delta has one
                item = merged.get(key)
                if item is None:
                    item = merged[key] = _Merged(kind, event.index)  # type: ignore[union-attr]
                    self._queue.append(item)
                else:
                    self.stats.merged += 1
                item.fragments.append(getattr(event, _DELTAS[kind]))
            elif kind is UsageUpdate and usage is not None:
                self._queue[usage] = event
                self.stats.merged += 1
            else:
                if kind is UsageUpdate:
                    usage = len(self._queue)
                if kind is not RawFrame:
                    self._queue.append(event)


class _Merged:
    """Deltas of one block on their way to become one."""

    __slots__ = ("fragments", "index", "key", "kind")

    def __init__(self, kind: type, index: int) -> None:
        self.kind = kind
        self.index = index
        self.key = (kind, index)
        self.fragments: list[str] = []

    def event(self) -> Event:
        event: Event = self.kind(self.index, "".join(self.fragments))
        return event
