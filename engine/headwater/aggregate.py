"""The aggregator: a pure stage that folds events into the `Response` and lets them pass.

One table is the state machine: `STREAM` for the stream as a whole, `BLOCK` for each block. What is not in it is illegal and raises
LocalProtocolError, since only a faulty translator or stage can cause it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import length_hint
from typing import Literal

from headwater_codecs.neutral import (
    Block,
    ChoiceEnd,
    Citation,
    ErrorInfo,
    Event,
    Finish,
    LocalProtocolError,
    OpaqueEnd,
    OpaqueStart,
    RawFrame,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    RefusalDelta,
    RefusalEnd,
    RefusalStart,
    Response,
    StreamFailed,
    StreamStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    UsageUpdate,
)
from headwater_codecs.neutral.response import BlockKind

StreamState = Literal["new", "running", "ended"]

# The state of the stream -> event -> its next state.
STREAM: dict[StreamState, dict[type, StreamState]] = {
    "new": {StreamStart: "running"},
    "running": {
        **dict.fromkeys(
            (TextStart, TextDelta, TextEnd, ReasoningStart, ReasoningDelta, ReasoningEnd, RefusalStart, RefusalDelta, RefusalEnd), "running"
        ),
        **dict.fromkeys((ToolCallStart, ToolCallDelta, ToolCallEnd, OpaqueStart, OpaqueEnd, Citation, UsageUpdate, ChoiceEnd, RawFrame), "running"),
        Finish: "ended",
        StreamFailed: "ended",
    },
    "ended": {},
}
# The kind of block -> the events that it takes while it is open: a delta keeps it open, an end closes it.
BLOCK: dict[BlockKind, dict[type, Literal["open", "closed"]]] = {
    "text": {TextDelta: "open", TextEnd: "closed"},
    "reasoning": {ReasoningDelta: "open", ReasoningEnd: "closed"},
    "refusal": {RefusalDelta: "open", RefusalEnd: "closed"},
    "tool_call": {ToolCallDelta: "open", ToolCallEnd: "closed"},
    "opaque": {OpaqueEnd: "closed"},
}
ENDS: dict[BlockKind, type[TextEnd | ReasoningEnd | RefusalEnd | ToolCallEnd | OpaqueEnd]] = {
    "text": TextEnd,
    "reasoning": ReasoningEnd,
    "refusal": RefusalEnd,
    "tool_call": ToolCallEnd,
    "opaque": OpaqueEnd,
}
OPENS: dict[type, BlockKind] = {
    TextStart: "text",
    ReasoningStart: "reasoning",
    RefusalStart: "refusal",
    ToolCallStart: "tool_call",
    OpaqueStart: "opaque",
}
_DELTA: dict[BlockKind, type] = {"text": TextDelta, "reasoning": ReasoningDelta, "refusal": RefusalDelta, "tool_call": ToolCallDelta}


class Aggregator:
    """Folds one stream into `response`. `feed` gives its events back unchanged."""

    def __init__(self, response: Response | None = None) -> None:
        self.response = response if response is not None else Response()
        self.state: StreamState = "new"
        self.terminal: Finish | StreamFailed | None = None
        self.last_words: Sequence[Event] = ()  # what `abort` gave
        self.folded = 0  # events of the last batch that were folded before one raised
        self._blocks: dict[int, Block] = {}
        self._open_blocks = 0
        # Per kind of delta, the open blocks' `append`: being there is the permission to fold.
        self._text: dict[int, Callable[[str], None]] = {}
        self._sinks: dict[type, dict[int, Callable[[str], None]]] = {TextDelta: self._text}

    def feed(self, batch: Sequence[Event], /) -> Sequence[Event]:
        """Fold the events. Raises LocalProtocolError at an illegal one; those before it are folded, `folded` counts them."""
        text = self._text
        left = iter(batch)
        try:
            for event in left:
                if type(event) is TextDelta:  # most events by far; the table says the same
                    try:
                        text[event.index](event.text)
                        continue
                    except KeyError:
                        pass
                kind = type(event)
                following = STREAM[self.state].get(kind)
                if following is None:
                    raise LocalProtocolError(f"{kind.__name__} in a stream that is {self.state}")
                _FOLD[kind](self, event)
                self.state = following
        except Exception:
            self.folded = len(batch) - length_hint(left) - 1
            raise
        return batch

    def finish(self) -> list[Event]:
        """Nothing is held back."""
        return []

    def choice_of(self, index: int) -> int:
        """The choice of block `index`."""
        return self._blocks[index].choice

    def abort(self, error: ErrorInfo) -> list[Event]:
        """The events that end the stream from our side: open blocks end incomplete, then StreamFailed. They are folded."""
        if self.state == "ended":
            return []
        events: list[Event] = [] if self.state == "running" else [StreamStart(provider=self.response.provider)]
        events += [ENDS[self._blocks[index].kind](index, complete=False) for index in self._still_open()]
        events.append(StreamFailed(error, usage=self.response.usage))
        self.feed(events)
        self.last_words = events
        return events

    def _still_open(self) -> list[int]:
        return [index for index, block in self._blocks.items() if not block.closed]

    def _must_be_closed(self, event: Finish | StreamFailed) -> None:
        if self._open_blocks:
            raise LocalProtocolError(f"{type(event).__name__} while a block is open: {', '.join(map(str, self._still_open()))}")

    def _open(self, event: TextStart | ReasoningStart | RefusalStart | ToolCallStart | OpaqueStart) -> Block:
        index, kind = event.index, OPENS[type(event)]
        if index != len(self._blocks):
            raise LocalProtocolError(f"{type(event).__name__} has index {index}, the next one is {len(self._blocks)}")
        block = self._blocks[index] = Block(kind, index, event.choice, event.item_id)
        self._open_blocks += 1
        self.response.choice(event.choice).blocks.append(block)
        if kind != "opaque":
            self._sinks.setdefault(_DELTA[kind], {})[index] = block.fragments.append
        return block

    def _open_call(self, event: ToolCallStart) -> None:
        block = self._open(event)
        block.id, block.name, block.arguments_kind = event.id, event.name, event.kind

    def _open_opaque(self, event: OpaqueStart) -> None:
        self._open(event).opaque_kind = event.kind

    def _delta(self, event: TextDelta | ReasoningDelta | RefusalDelta) -> None:
        try:
            self._sinks[type(event)][event.index](event.text)
        except KeyError:
            self._illegal(event)

    def _arguments(self, event: ToolCallDelta) -> None:
        try:
            self._sinks[ToolCallDelta][event.index](event.arguments)
        except KeyError:
            self._illegal(event)

    def _illegal(
        self, event: TextDelta | ReasoningDelta | RefusalDelta | ToolCallDelta | TextEnd | ReasoningEnd | RefusalEnd | ToolCallEnd | OpaqueEnd
    ) -> None:
        block = self._blocks.get(event.index)
        what = "was never opened" if block is None else f"is {'closed' if block.closed else 'open'} and of kind {block.kind}"
        raise LocalProtocolError(f"{type(event).__name__} for block {event.index}, which {what}") from None

    def _close(self, event: TextEnd | ReasoningEnd | RefusalEnd | ToolCallEnd | OpaqueEnd) -> Block:
        block = self._blocks.get(event.index)
        if block is None or block.closed or BLOCK[block.kind].get(type(event)) != "closed":
            self._illegal(event)
        assert block is not None
        block.closed = True
        block.complete = event.complete
        self._open_blocks -= 1
        if block.kind != "opaque":
            del self._sinks[_DELTA[block.kind]][event.index]
        return block

    def _close_signed(self, event: TextEnd | ReasoningEnd | ToolCallEnd) -> Block:
        block = self._close(event)
        block.signature, block.meta = event.signature, event.meta
        return block

    def _close_reasoning(self, event: ReasoningEnd) -> None:
        block = self._close_signed(event)
        block.redacted, block.data = event.redacted, event.data

    def _close_opaque(self, event: OpaqueEnd) -> None:
        self._close(event).raw = event.raw

    def _start(self, event: StreamStart) -> None:
        self.response.model, self.response.response_id = event.model, event.response_id
        self.response.provider = event.provider or self.response.provider

    def _cite(self, event: Citation) -> None:
        if (block := self._blocks.get(event.index)) is not None:
            block.citations.append(event)

    def _usage(self, event: UsageUpdate) -> None:
        self.response.usage = event.usage

    def _end_choice(self, event: ChoiceEnd) -> None:
        choice = self.response.choice(event.choice)
        choice.finish_reason, choice.raw_finish_reason = event.finish_reason, event.raw_finish_reason

    def _nothing(self, event: Event) -> None:
        """Passes through."""

    def _end(self, event: Finish) -> None:
        self._must_be_closed(event)
        self.terminal = event
        self.response.usage = event.usage
        self.response.detail = event.detail

    def _fail(self, event: StreamFailed) -> None:
        self._must_be_closed(event)
        self.terminal = event
        self.response.error = event.error
        self.response.usage = event.usage
        self.response.choice(0).raw_finish_reason = event.raw_finish_reason


_FOLD: dict[type, Callable[..., object]] = {
    StreamStart: Aggregator._start,
    **dict.fromkeys((TextStart, ReasoningStart, RefusalStart), Aggregator._open),
    ToolCallStart: Aggregator._open_call,
    OpaqueStart: Aggregator._open_opaque,
    **dict.fromkeys((TextDelta, ReasoningDelta, RefusalDelta), Aggregator._delta),
    ToolCallDelta: Aggregator._arguments,
    **dict.fromkeys((TextEnd, ToolCallEnd), Aggregator._close_signed),
    ReasoningEnd: Aggregator._close_reasoning,
    RefusalEnd: Aggregator._close,
    OpaqueEnd: Aggregator._close_opaque,
    Citation: Aggregator._cite,
    UsageUpdate: Aggregator._usage,
    ChoiceEnd: Aggregator._end_choice,
    RawFrame: Aggregator._nothing,
    Finish: Aggregator._end,
    StreamFailed: Aggregator._fail,
}
