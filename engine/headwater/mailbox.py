"""What a listener has not read yet, and what happens when it is too slow: one pure object per subscriber.

The bound counts events, and bytes where a listener says how many; an empty mailbox takes a batch of any size, since one read may bring more than
a prompt listener's bound. `block` holds the source back while the mailbox is full; `coalesce` merges the deltas of each block, so a slow listener
loses no text and memory stays bounded by the answer itself (raw frames, which nothing can merge, are left out then), and gives the listener up
where that passes its bytes; `disconnect` gives it up at once.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from headwater_codecs.neutral import (
    Citation,
    ConfigurationError,
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
POLICIES: tuple[Policy, ...] = ("block", "coalesce", "disconnect")
_DELTAS: dict[type, str] = {TextDelta: "text", ReasoningDelta: "text", RefusalDelta: "text", ToolCallDelta: "arguments"}


class SubscriberStats(Struct):
    """One subscriber: events `delivered`, deltas `merged` into others, `most_waiting` events at once, seconds for which it `blocked` the source."""

    delivered: int = 0
    merged: int = 0
    most_waiting: int = 0
    blocked: float = 0.0


class Mailbox:
    """A bounded queue of event batches with one policy. Everything here is synchronous; waiting is the reader's and the pump's business."""

    __slots__ = (
        "_batches",
        "_free",
        "_growing",
        "_merging",
        "_most",
        "_queue",
        "_size",
        "_usage_at",
        "buffer",
        "lagged",
        "max_bytes",
        "policy",
        "stats",
        "waiting",
    )

    def __init__(self, policy: Policy, buffer: int, max_bytes: int | None = None) -> None:
        self.policy = policy
        self.buffer = buffer
        self.max_bytes = max_bytes
        self.lagged = False
        self.waiting = 0  # events not read yet
        self._most = math.inf if max_bytes is None else max_bytes
        self._size = 0  # bytes of the same, counted where there is a bound for them
        self.stats = SubscriberStats()
        self._batches: deque[Sequence[Event]] = deque()
        self._free = 0  # batches at the front that do not count as waiting: they were before this listener's time
        self._merging = False
        self._queue: list[Event | _Merged] = []
        self._growing: dict[tuple[type, int], _Merged] = {}  # those that later deltas are merged into
        self._usage_at: int | None = None

    @property
    def full(self) -> bool:
        """Whether the source must wait: at least `buffer` events, or `max_bytes`, are unread and the policy is `block`."""
        return self.policy == "block" and (self.waiting >= self.buffer or self._size >= self._most)

    @property
    def bound(self) -> str:
        """How far this listener may fall behind, in words."""
        return f"{self.buffer} events" if self.max_bytes is None else f"{self.buffer} events or {self.max_bytes} bytes"

    def catch_up(self, batch: Sequence[Event]) -> None:
        """Add what was before this listener's time. It does not count as lag."""
        self._batches.append(batch)
        self._free += 1

    def put(self, batch: Sequence[Event]) -> None:
        """Add a batch. Nothing is ever refused here: `full` asks the source to wait, `lagged` says that the listener is given up."""
        if self.lagged:
            return
        too_large = False
        if self.max_bytes is not None:
            self._size += size_of(batch)
            too_large = self.waiting > 0 and self._size > self._most
        too_many = too_large or (self.waiting > 0 and self.waiting + len(batch) > self.buffer)
        if self._merging or (too_many and self.policy == "coalesce"):
            self._merge(batch)
            self.lagged = self._size > self._most and type(batch[-1]) not in TERMINALS
        elif too_many and self.policy == "disconnect" and type(batch[-1]) not in TERMINALS:
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
            self._forget_merged()
            self.waiting = self._size = 0
        elif self._batches:
            batch = self._batches.popleft()
            if self._free:
                self._free -= 1
            else:
                self.waiting -= len(batch)
                if self.max_bytes is not None:
                    self._size -= size_of(batch)
        else:
            return ()
        self.stats.delivered += len(batch)
        return batch

    def clear(self) -> None:
        """Forget what is unread: nobody will read it."""
        self._batches.clear()
        self._free = self.waiting = self._size = 0
        self._forget_merged()

    def _forget_merged(self) -> None:
        self._queue = []
        self._growing.clear()
        self._usage_at = None
        self._merging = False

    def _merge(self, batch: Sequence[Event]) -> None:
        """Queue with the deltas of one block as one. Deltas of different blocks may pass each other: only the order within a block counts."""
        if not self._merging:
            self._merging = True
            unread = [event for waiting in self._batches for event in waiting]
            self._batches.clear()
            self._free = 0
            self._merge_all(unread)
        self._merge_all(batch)
        self.waiting = len(self._queue)

    def _merge_all(self, events: Sequence[Event]) -> None:
        for event in events:
            kind = type(event)
            if kind in _DELTAS:
                key = (kind, event.index)  # type: ignore[union-attr]  # every delta has one
                item = self._growing.get(key)
                if item is None:
                    item = self._growing[key] = _Merged(kind, event.index)  # type: ignore[union-attr]
                    self._queue.append(item)
                else:
                    self.stats.merged += 1
                item.fragments.append(getattr(event, _DELTAS[kind]))
            elif kind is UsageUpdate and self._usage_at is not None:
                self._queue[self._usage_at] = event
                self.stats.merged += 1
            elif kind is not RawFrame:
                if kind is UsageUpdate:
                    self._usage_at = len(self._queue)
                elif isinstance(event, Citation):  # it stays where it is in its block's text
                    self._growing.pop((TextDelta, event.index), None)
                self._queue.append(event)
            elif self.max_bytes is not None:
                self._size -= size_of((event,))


def check_bounds(policy: str, buffer: int, max_bytes: int | None) -> None:
    """Raise ConfigurationError for a listener that cannot be."""
    if policy not in POLICIES:
        raise ConfigurationError(f"unknown policy {policy!r}: use one of {', '.join(POLICIES)}")
    if buffer < 1:
        raise ConfigurationError(f"buffer is {buffer}: a listener needs room for at least one event")
    if max_bytes is not None and max_bytes < 1:
        raise ConfigurationError(f"max_bytes is {max_bytes}: give the bytes that may be unread, or None for no bound")


def size_of(batch: Sequence[Event]) -> int:
    """About how many bytes these events hold: their strings and bytes, and 64 for each."""
    return sum(64 + sum(len(value) for name in event.__struct_fields__ if isinstance(value := getattr(event, name), str | bytes)) for event in batch)


class _Merged:
    """Deltas of one block on their way to become one."""

    __slots__ = ("fragments", "index", "kind")

    def __init__(self, kind: type, index: int) -> None:
        self.kind = kind
        self.index = index
        self.fragments: list[str] = []

    def event(self) -> Event:
        event: Event = self.kind(self.index, "".join(self.fragments))
        return event
