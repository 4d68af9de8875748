"""A stream of events as the answer that it tells, and that answer as events again, in one form: two streams that tell the same come out equal.

What differs without a difference in what was told goes: how text was cut into deltas, how blocks were interleaved, the counts on the way to the last
ones, raw frames, the provider's name and its own form of the counts, how an empty object of arguments was written and white space before arguments,
ids that were made up, and of a failure where in the exchange it was noticed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from msgspec import Raw
from msgspec.structs import replace

from headwater_codecs.neutral.errors import ErrorInfo
from headwater_codecs.neutral.events import (
    CallKind,
    ChoiceEnd,
    Citation,
    Event,
    Finish,
    OpaqueEnd,
    OpaqueStart,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    RefusalDelta,
    RefusalEnd,
    RefusalStart,
    StreamFailed,
    StreamStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from headwater_codecs.neutral.usage import Usage

Kind = Literal["text", "reasoning", "refusal", "tool_call", "opaque"]
MADE_UP = "*"  # in place of an id that Headwater made up
_MADE_UP = re.compile(r"call_[0-9a-f]{24}")
BlockStart = TextStart | ReasoningStart | RefusalStart | ToolCallStart | OpaqueStart
KINDS: dict[type[BlockStart], Kind] = {
    TextStart: "text",
    ReasoningStart: "reasoning",
    RefusalStart: "refusal",
    ToolCallStart: "tool_call",
    OpaqueStart: "opaque",
}

# What says something of a block.
_SAYING = (TextDelta, ReasoningDelta, RefusalDelta, ToolCallDelta, Citation, TextEnd, ReasoningEnd, RefusalEnd, ToolCallEnd, OpaqueEnd)


class Told:
    """What a stream told of one block. `late` are the sources that came behind its end.

    `began` is its place in the stream, `spoke` that of the first event that said something of it. `broken`: its end said that it was not whole.
    """

    __slots__ = (
        "began",
        "broken",
        "call_kind",
        "choice",
        "citations",
        "closed",
        "complete",
        "data",
        "id",
        "index",
        "item_id",
        "kind",
        "late",
        "meta",
        "name",
        "opaque_kind",
        "pieces",
        "raw",
        "redacted",
        "signature",
        "spoke",
    )

    def __init__(self, kind: Kind, choice: int, index: int = 0) -> None:
        self.kind = kind
        self.choice = choice
        self.index = index
        self.item_id: str | None = None
        self.pieces: list[str] = []
        self.complete = True
        self.broken = False
        self.closed = False
        self.began = -1
        self.spoke = -1
        self.signature: str | None = None
        self.redacted = False
        self.data: str | None = None
        self.meta: Raw | None = None
        self.raw = b""
        self.opaque_kind = ""
        self.id = ""
        self.name = ""
        self.call_kind: CallKind = "function"
        self.citations: list[Citation] = []
        self.late: list[Citation] = []

    @property
    def text(self) -> str:
        """The pieces joined."""
        return "".join(self.pieces)

    def end(self, event: TextEnd | ReasoningEnd | RefusalEnd | ToolCallEnd | OpaqueEnd) -> None:
        """Take what the block's end says."""
        self.complete = event.complete
        self.closed = True
        if isinstance(event, OpaqueEnd):
            self.raw = event.raw
        elif not isinstance(event, RefusalEnd):
            self.signature, self.meta = event.signature, event.meta
            if isinstance(event, ReasoningEnd):
                self.redacted, self.data = event.redacted, event.data


class Story:
    """The answer that a stream told: its blocks in the order in which they began."""

    def __init__(self, events: Sequence[Event] = ()) -> None:
        self.start = StreamStart()
        self.blocks: dict[int, Told] = {}
        self.ends: list[ChoiceEnd] = []
        self.terminal: Finish | StreamFailed | None = None
        for place, event in enumerate(events):
            if isinstance(event, StreamStart):
                self.start = event
            elif isinstance(event, BlockStart):
                block = self.blocks[event.index] = told_of(event, KINDS[type(event)])
                block.began = place
            elif isinstance(event, TextDelta | ReasoningDelta | RefusalDelta):
                self.blocks[event.index].pieces.append(event.text)
            elif isinstance(event, ToolCallDelta):
                self.blocks[event.index].pieces.append(event.arguments)
            elif isinstance(event, TextEnd | ReasoningEnd | RefusalEnd | ToolCallEnd | OpaqueEnd):
                self.blocks[event.index].end(event)
            elif isinstance(event, Citation):
                block = self.blocks[event.index]
                (block.late if block.closed else block.citations).append(event)
            elif isinstance(event, ChoiceEnd):
                self.ends.append(event)
            elif isinstance(event, Finish | StreamFailed):
                self.terminal = event
            if isinstance(event, _SAYING) and self.blocks[event.index].spoke < 0:
                self.blocks[event.index].spoke = place


def told_of(event: BlockStart, kind: Kind) -> Told:
    """The block that begins with this event."""
    block = Told(kind, event.choice, event.index)
    block.item_id = event.item_id
    if isinstance(event, ToolCallStart):
        block.id, block.name, block.call_kind = event.id, event.name, event.kind
    elif isinstance(event, OpaqueStart):
        block.opaque_kind = event.kind
    return block


def settled(events: Sequence[Event]) -> list[Event]:
    """The events that tell the same in the one form; lawful events give lawful events."""
    story = Story(events)
    return written(story.start, list(story.blocks.values()), story.ends, story.terminal)


def written(start: StreamStart, blocks: Sequence[Told], ends: Sequence[ChoiceEnd], terminal: Finish | StreamFailed | None) -> list[Event]:
    """These as events in the one form: the blocks of one choice after those of the other, each whole, then the choices' ends."""
    events: list[Event] = [replace(start, provider=None)]
    for index, block in enumerate(sorted(blocks, key=lambda block: block.choice)):
        events += _block(block, index)
    ordered = sorted(ends, key=lambda end: end.choice)
    events += ordered
    if isinstance(terminal, Finish):
        events.append(replace(terminal, usage=_counts(terminal.usage)))
    elif terminal is not None:
        events.append(replace(terminal, error=_failure(terminal.error), usage=_counts(terminal.usage)))
    return events


def _block(block: Told, index: int) -> list[Event]:
    text, choice, item = block.text, block.choice, block.item_id
    cited = [replace(citation, index=index) for citation in (*block.citations, *block.late)]
    if block.kind == "text":
        return [TextStart(index, choice, item), *_delta(TextDelta, index, text), *cited, TextEnd(index, block.complete, block.signature, block.meta)]
    if block.kind == "reasoning":
        end = ReasoningEnd(index, block.complete, block.signature, block.redacted, block.data, block.meta)
        return [ReasoningStart(index, choice, item), *_delta(ReasoningDelta, index, text), *cited, end]
    if block.kind == "refusal":
        return [RefusalStart(index, choice, item), *_delta(RefusalDelta, index, text), *cited, RefusalEnd(index, block.complete)]
    if block.kind == "opaque":
        return [OpaqueStart(index, block.opaque_kind, choice, item), OpaqueEnd(index, block.complete, block.raw)]
    if block.call_kind == "function":
        text = text.lstrip() or ("{}" if block.complete else "")
    id = MADE_UP if _MADE_UP.fullmatch(block.id) else block.id
    start = ToolCallStart(index, id, block.name, choice, item, block.call_kind)
    return [start, *_delta(ToolCallDelta, index, text), ToolCallEnd(index, block.complete, block.signature, block.meta)]


def _delta(type: type[TextDelta | ReasoningDelta | RefusalDelta | ToolCallDelta], index: int, text: str) -> list[Event]:
    return [type(index, text)] if text else []


def _counts(usage: Usage | None) -> Usage | None:
    return None if usage is None else replace(usage, raw=None)


def _failure(error: ErrorInfo) -> ErrorInfo:
    return ErrorInfo(error.kind, error.message, error.code, error.status, retryable=error.retryable)
