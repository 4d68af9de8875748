"""From the neutral events to or's: one `start`, one terminal, and nothing after it. Rows OR-SW-01 to 10; the crosswalk of stop reasons.

Pure and synchronous: events in, events out. What or has no word for (usage, citations, a refusal's text, items of the provider) is folded into the
message. Only choice 0 is told (OR-CCS-02).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec import Struct

import headwater_codecs.neutral as n
from headwater.views.messages import events as m
from headwater.views.messages.draft import Draft, DraftBlock, Head, Kind
from headwater.views.messages.packing import pack
from headwater.views.messages.protocols import shown_protocol
from headwater.views.messages.types import AssistantMessage, Diagnostic, ProviderItem, StopReason
from headwater.views.messages.usage import CostOf

BlockStart = n.TextStart | n.ReasoningStart | n.ToolCallStart
BlockEnd = n.TextEnd | n.ReasoningEnd | n.ToolCallEnd
_STOPS: dict[n.FinishReason, StopReason] = {"stop": "stop", "length": "length", "tool_calls": "toolUse", "pause": "stop"}
_FAILURES: dict[n.FinishReason, str] = {
    "content_filter": "the answer was blocked by the content filter",
    "refusal": "the model refused to complete the request",
    "error": "the provider ended the answer with an error",
    "unknown": "the stream ended without a finish reason that is known",
}


class Parity(Struct, frozen=True, kw_only=True):
    """Where or's own behaviour is wanted instead of the safe one.

    chat_blocks: one block of text and one of thinking at most, in which later ones go on, and every `*_end` at the end of the stream (AMB-21).
    stop_as_said: `stop` of a provider that made calls stays `stop` (AMB-29). open_cut_blocks: what is cut by a failure gets no `*_end` (AMB-37).
    """

    chat_blocks: bool = False
    stop_as_said: bool = False
    open_cut_blocks: bool = False


class _Ending(NamedTuple):
    """How the stream ended: its terminal event has these."""

    message: AssistantMessage
    error: n.HeadwaterError | None


def now_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class MessageWriter:
    """Writes the events of one answer. `response` says who was asked; the one of a `Stream`, or a fresh one for events from elsewhere.

    `cost` gives the price of an answer's usage. Whatever goes wrong in here ends the answer with `Error` (OR-SW-08).
    """

    def __init__(self, response: n.Response, *, cost: CostOf | None = None, parity: Parity | None = None, now: Callable[[], int] = now_ms) -> None:
        self._response = response
        self._parity = parity or Parity()
        self._now = now
        self._draft = Draft(now(), cost)
        self._started = False
        self._ending: _Ending | None = None
        self._open: dict[int, tuple[int, DraftBlock]] = {}  # neutral index -> where the block stands in the content, and the block
        self._merged: dict[Kind, tuple[int, DraftBlock]] = {}
        self._held: dict[int, tuple[DraftBlock, BlockEnd]] = {}  # ends that wait for the end of the stream
        self._items: dict[int, tuple[int, str]] = {}  # neutral index -> where the item stands in the content, and its kind
        self._refusals: dict[int, list[str]] = {}
        self._out: list[m.MessageEvent] = []

    @property
    def over(self) -> bool:
        """Whether the terminal event was written."""
        return self._ending is not None

    @property
    def message(self) -> AssistantMessage:
        """The message so far; the final one once it is over."""
        return self._ending.message if self._ending is not None else self._draft.message(self._draft.moment)

    @property
    def error(self) -> n.HeadwaterError | None:
        """Why the answer failed, None while it did not."""
        return self._ending.error if self._ending is not None else None

    def feed(self, batch: Sequence[n.Event], /) -> list[m.MessageEvent]:
        """The events that these mean. After the terminal: none."""
        out: list[m.MessageEvent] = []
        self._out = out
        delta = n.TextDelta
        try:
            for event in batch:
                if self._ending is not None:
                    break
                if type(event) is delta:  # most events by far
                    if (place := self._open.get(event.index)) is not None:
                        self._grow(m.TextDelta, place, event.text)
                elif (write := _ON.get(type(event))) is not None:
                    write(self, event)
        except Exception as error:
            self._draft.cost = None  # it may be what failed
            info = n.error_info("internal", f"the messages view failed: {type(error).__name__}: {error}", phase="stream")
            self._fail(n.exception_for(info, self._response), cause=error)
        return out

    def fail(self, error: n.ErrorInfo | None = None) -> list[m.MessageEvent]:
        """End the answer from outside: what came stays. Nothing where it is over (OR-SW-05, 06)."""
        self._out = []
        if self._ending is None:
            self._fail(n.exception_for(error or n.error_info("internal", "stream failed"), self._response))
        return self._out

    # --- the stream

    def _start(self, event: n.StreamStart) -> None:
        if self._started:
            return
        self._started = True
        asked = self._response
        model = asked.requested_model or event.model or ""
        self._draft.head = Head(
            shown_protocol(asked.protocol or ""),
            event.provider or asked.provider or "",
            model,
            asked.request_id,
            event.model if event.model != model else None,
            event.response_id,
        )
        self._out.append(m.Start(self._draft.snapshot()))

    def _usage(self, event: n.UsageUpdate) -> None:
        self._draft.add_usage(event.usage)

    def _finish(self, event: n.Finish) -> None:
        reason, said = event.finish_reason, event.raw_finish_reason
        if event.usage is not None:
            self._draft.add_usage(event.usage)
        stop = _STOPS.get(reason)
        if stop is None:
            text = _FAILURES[reason]
            more = "".join(self._refusal()) or event.detail or (said if reason in ("error", "unknown") else None)
            info = n.ErrorInfo("server", f"{text}: {more}" if more else text, code=said, phase="stream", retryable=reason == "error")
            self._fail(n.ProviderError(info, self._response), raw=said)
            return
        self._release()
        if self._parity.stop_as_said and said == "stop":
            stop = "stop"
        message = self._draft.message(self._draft.moment, stop_reason=stop, raw_stop_reason=said, paused=reason == "pause")
        self._ending = _Ending(message, None)
        self._out.append(m.Done(message))

    def _failed(self, event: n.StreamFailed) -> None:
        if event.usage is not None:
            self._draft.add_usage(event.usage)
        self._fail(n.exception_for(event.error, self._response), raw=event.raw_finish_reason)

    def _fail(self, error: n.HeadwaterError, cause: Exception | None = None, raw: str | None = None) -> None:
        self._start(n.StreamStart())
        error.__cause__ = cause
        stop: StopReason = "aborted" if error.info.kind == "aborted" else "error"
        message = self._draft.message(self._draft.moment, stop_reason=stop, raw_stop_reason=raw, error_message=str(error))
        self._ending = _Ending(message, error)
        self._out.append(m.Error(message, error))

    # --- blocks

    def _open_block(self, event: BlockStart) -> None:
        if event.choice != 0:
            return
        kind, started = _STARTS[type(event)]
        if self._parity.chat_blocks and (place := self._merged.get(kind)) is not None:
            self._open[event.index] = place
            return
        block = DraftBlock(kind, self._draft.moment)
        if isinstance(event, n.ToolCallStart):
            block.call_id, block.name, block.call_kind = event.id, event.name, event.kind
        place = self._open[event.index] = (len(self._draft.blocks), block)
        self._draft.blocks.append(block)
        if kind != "toolCall":
            self._merged[kind] = place
        self._out.append(started(self._draft.snapshot(), place[0]))

    def _reasoning(self, event: n.ReasoningDelta) -> None:
        if (place := self._open.get(event.index)) is not None:
            self._grow(m.ThinkingDelta, place, event.text)

    def _arguments(self, event: n.ToolCallDelta) -> None:
        if (place := self._open.get(event.index)) is not None:
            self._grow(m.ToolCallDelta, place, event.arguments)

    def _grow(self, delta: type[m.TextDelta | m.ThinkingDelta | m.ToolCallDelta], place: tuple[int, DraftBlock], text: str) -> None:
        position, block = place
        block.fragments.append(text)
        block.moments.append(self._draft.moment)
        self._out.append(delta(self._draft.snapshot(), position, text))

    def _end_block(self, event: BlockEnd) -> None:
        if (place := self._open.pop(event.index, None)) is None:
            return
        position, block = place
        if self._parity.chat_blocks or (self._parity.open_cut_blocks and not event.complete):
            self._held[position] = (block, event)
        else:
            self._close(position, block, event)

    def _release(self) -> None:
        """The ends that were held back, in the order of the content."""
        for position in sorted(self._held):
            self._close(position, *self._held[position])
        self._held.clear()

    def _close(self, position: int, block: DraftBlock, event: BlockEnd) -> None:
        block.closed = self._draft.moment
        if isinstance(event, n.TextEnd):
            block.signature = pack(event.signature, None, event.meta)
            self._out.append(m.TextEnd(self._draft.snapshot(), position, block.text()))
        elif isinstance(event, n.ReasoningEnd):
            block.signature = pack(event.signature, event.data, event.meta, redacted=event.redacted)
            block.redacted = event.redacted
            self._out.append(m.ThinkingEnd(self._draft.snapshot(), position, block.shown_text()))
        else:
            block.signature = pack(event.signature, None, event.meta)
            mode = block.close_call(event.complete)
            if mode != "strict":
                details = {"toolCallId": block.call_id, "toolName": block.name, "mode": mode}
                self._draft.add_diagnostic(Diagnostic("tool_arguments_recovered", self._now(), f"the arguments of a call are {mode}", details))
            self._out.append(m.ToolCallEnd(self._draft.snapshot(), position))

    # --- what has no event of its own

    def _open_refusal(self, event: n.RefusalStart) -> None:
        if event.choice == 0:
            self._refusals[event.index] = []

    def _refuse(self, event: n.RefusalDelta) -> None:
        if event.index in self._refusals:
            self._refusals[event.index].append(event.text)

    def _refusal(self) -> list[str]:
        return ["".join(pieces) for pieces in self._refusals.values()]

    def _open_item(self, event: n.OpaqueStart) -> None:
        if event.choice == 0:
            self._items[event.index] = (len(self._draft.blocks), event.kind)

    def _end_item(self, event: n.OpaqueEnd) -> None:
        if event.raw and event.index in self._items:
            self._draft.add_item(event.index, ProviderItem(*self._items[event.index], event.raw))


_STARTS: dict[type, tuple[Kind, type[m.TextStart | m.ThinkingStart | m.ToolCallStart]]] = {
    n.TextStart: ("text", m.TextStart),
    n.ReasoningStart: ("thinking", m.ThinkingStart),
    n.ToolCallStart: ("toolCall", m.ToolCallStart),
}
# Citations, the end of a choice and raw frames mean nothing here.
_ON: dict[type, Callable[..., None]] = {
    n.StreamStart: MessageWriter._start,
    **dict.fromkeys(_STARTS, MessageWriter._open_block),
    n.ReasoningDelta: MessageWriter._reasoning,
    n.ToolCallDelta: MessageWriter._arguments,
    **dict.fromkeys((n.TextEnd, n.ReasoningEnd, n.ToolCallEnd), MessageWriter._end_block),
    n.RefusalStart: MessageWriter._open_refusal,
    n.RefusalDelta: MessageWriter._refuse,
    n.OpaqueStart: MessageWriter._open_item,
    n.OpaqueEnd: MessageWriter._end_item,
    n.UsageUpdate: MessageWriter._usage,
    n.Finish: MessageWriter._finish,
    n.StreamFailed: MessageWriter._failed,
}
