"""The one writer of events: whatever a translator does, the stream it writes obeys the laws.

It sends StreamStart right before the first content (with what was held until then), numbers blocks, closes what is open, and sends exactly
one terminal. Translators append their deltas to `out` themselves: that is the hot path.
"""

from __future__ import annotations

from collections.abc import Iterable

from headwater_codecs.neutral import (
    ChoiceEnd,
    ErrorInfo,
    Event,
    Finish,
    FinishReason,
    OpaqueEnd,
    OpaqueStart,
    ReasoningEnd,
    ReasoningStart,
    RefusalEnd,
    RefusalStart,
    StreamFailed,
    StreamStart,
    TextEnd,
    TextStart,
    ToolCallEnd,
    ToolCallStart,
    Usage,
    UsageUpdate,
)
from headwater_codecs.tolerant_json import clean, has_surrogates

BlockStart = TextStart | ReasoningStart | RefusalStart | ToolCallStart | OpaqueStart
BlockEnd = TextEnd | ReasoningEnd | RefusalEnd | ToolCallEnd | OpaqueEnd
_CUT: dict[type, type[BlockEnd]] = {
    TextStart: TextEnd,
    ReasoningStart: ReasoningEnd,
    RefusalStart: RefusalEnd,
    ToolCallStart: ToolCallEnd,
    OpaqueStart: OpaqueEnd,
}


class EventWriter:
    """Writes one stream. `take` hands over what was written since the last call."""

    __slots__ = ("_held", "_open", "done", "model", "next_index", "out", "provider", "response_id", "started", "usage")

    def __init__(self, provider: str | None = None) -> None:
        self.out: list[Event] = []
        self.started = False
        self.done = False
        self.provider = provider
        self.model: str | None = None
        self.response_id: str | None = None
        self.usage: Usage | None = None
        self.next_index = 0  # the number that the next block must carry
        self._held: list[Event] = []
        self._open: dict[int, type[BlockEnd]] = {}

    def take(self) -> list[Event]:
        """The events since the last call, in a list that is the caller's."""
        out, self.out = self.out, []
        return out

    def begin(self) -> None:
        """Send StreamStart and what was held back, if that has not been done."""
        if not self.started:
            self.started = True
            self.out.append(StreamStart(self.model, self.response_id, self.provider))
            if self._held:
                self.out += self._held
                self._held.clear()

    def open(self, start: BlockStart) -> int:
        """Open the block; its index must be `next_index`."""
        if not self.started:
            self.begin()
        self.next_index += 1
        self._open[start.index] = _CUT[type(start)]
        self.out.append(start)
        return start.index

    def close(self, end: BlockEnd) -> None:
        """Close an open block."""
        del self._open[end.index]
        self.out.append(end)

    def aside(self, event: Event) -> None:
        """Send an event that is no content: held back until the stream has begun."""
        (self.out if self.started else self._held).append(event)

    def content(self, event: Event) -> None:
        """Send an event that is content but no block: a citation."""
        self.begin()
        self.out.append(event)

    def count(self, usage: Usage) -> None:
        """Merge a usage report, and send the sum when it changed."""
        if self.usage is not None:
            usage = self.usage.merged(usage)
            if usage == self.usage:
                return
        self.usage = usage
        (self.out if self.started else self._held).append(UsageUpdate(usage))

    def finish(self, choices: Iterable[ChoiceEnd], detail: str | None = None) -> None:
        """End well: every choice, then Finish with the reason of the first one. Blocks must be closed."""
        if not self.started:
            self.begin()
        out = self.out
        reason: FinishReason = "unknown"
        raw = None
        for end in choices:
            if end.choice == 0:
                reason, raw = end.finish_reason, end.raw_finish_reason
            out.append(end)
        self.done = True
        out.append(Finish(reason, raw, self.usage, detail))

    def fail(self, error: ErrorInfo, raw_finish_reason: str | None = None) -> None:
        """End badly: open blocks end incomplete. Whatever the error quotes can be written down."""
        if self.done:
            return
        self.begin()
        for index in sorted(self._open):
            self.out.append(self._open[index](index, complete=False))
        self._open.clear()
        self.done = True
        quoted = {name: clean(text) for name in ("message", "code", "request_id") if (text := getattr(error, name)) and has_surrogates(text)}
        self.out.append(StreamFailed(error.with_(**quoted) if quoted else error, raw_finish_reason, self.usage))
