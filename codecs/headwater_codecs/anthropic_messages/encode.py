"""Events to the bytes of a Messages stream, for services that answer in that protocol.

The blocks of this wire come strictly one after the other, numbered from 0: clients mix them up or lose data where they interleave. So the block
that was opened first is written as it comes, what belongs to later ones waits until it is closed. The identity of the answer (id, model) is given
from outside, so equal events give equal bytes.

What this wire cannot carry: further choices (only choice 0 is written); refusal blocks (their text goes out as text, the reason is `refusal`);
signatures of text and of calls; `meta`, item ids, raw frames; the free text of custom tools (it becomes `{"input": text}`); that a block was cut,
unless the stream failed there (a call's arguments stop where they stop); opaque items that are no JSON object of their own kind or were cut; the
finish reasons `content_filter` (`refusal` here), `error` and `unknown` (no reason); other words for a reason than its own; counts that are unknown
(zero where clients demand one); citations of anything but text, or that come after their block was closed; `Finish.detail` but a stop sequence.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import Raw, Struct

from headwater_codecs.anthropic_messages.encode_blocks import (
    call_start,
    citation_of,
    content_block,
    custom_input,
    is_object,
    on_one_line,
    redacted_block,
)
from headwater_codecs.anthropic_messages.encode_wire import (
    ERROR_TYPES,
    BlockDelta,
    BlockStart,
    BlockStop,
    CitationPiece,
    ErrorEvent,
    InputPiece,
    MessageDelta,
    MessageStart,
    SignaturePiece,
    StopDelta,
    TextPiece,
    ThinkingPiece,
    WrittenError,
    WrittenMessage,
    stop_reason,
    written_usage,
)
from headwater_codecs.event_encoder import EventEncoder, Handlers, encode_json
from headwater_codecs.neutral.errors import ErrorInfo, LocalProtocolError
from headwater_codecs.neutral.events import (
    Citation,
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
    TextDelta,
    TextEnd,
    TextStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    UsageUpdate,
)
from headwater_codecs.neutral.response import Response
from headwater_codecs.neutral.usage import Usage

PING = b'event: ping\ndata: {"type":"ping"}\n\n'  # a service may send it whenever nothing else comes

_EMPTY_TEXT = Raw(b'{"type":"text","text":""}')
_EMPTY_THINKING = Raw(b'{"type":"thinking","thinking":"","signature":""}')


class _Open:
    """A block that is not closed: its number on the wire once it is written, and what waits until then."""

    __slots__ = ("closed", "complete", "custom", "empty", "kind", "number", "start", "waiting")

    def __init__(self, start: Raw | None, custom: bool = False) -> None:
        self.start = start  # None where only its end tells what it is
        self.number = -1
        self.waiting: list[object] = []  # deltas
        self.closed = False
        self.complete = True
        self.kind = ""  # of an opaque item
        self.custom: list[str] | None = [] if custom else None
        self.empty = True


class MessagesEncoder(EventEncoder):
    """One answer as the events of a Messages stream. Pure and deterministic; `created` has no place on this wire.

    A failed stream ends with an `error` event instead of `message_stop`.
    """

    def __init__(self, *, model: str, id: str, created: int = 0) -> None:
        super().__init__(model=model, id=id, created=created)
        self._begun = False
        self._usage: Usage | None = None
        self._open: dict[int, _Open] = {}  # by our index, in the order in which they were opened
        self._others: set[int] = set()  # open blocks of further choices
        self._number = 0
        self._stop = b""  # of the last block, where that was cut
        self._refused = False

    def _begin(self, out: list[bytes]) -> None:
        """The start waits for the first block, so that the counts known by then are in it."""
        if not self._begun:
            self._begun = True
            usage = written_usage(self._usage, at_start=True)
            out.append(_frame("message_start", MessageStart(WrittenMessage(self.id, "message", "assistant", self.model, [], None, None, usage))))

    def _start(self, index: int, choice: int, start: Raw | None, out: list[bytes], custom: bool = False) -> None:
        if choice:
            self._others.add(index)
            return
        self._begin(out)
        self._open[index] = _Open(start, custom)
        self._write(out)

    def _write(self, out: list[bytes]) -> None:
        """Write what can be written: the first block that is not closed, and whatever waited for it."""
        while self._open:
            index, block = next(iter(self._open.items()))
            if block.start is None and not block.closed:
                return
            if block.number < 0 and block.start is not None:
                self._release(out)
                block.number, self._number = self._number, self._number + 1
                out.append(_frame("content_block_start", BlockStart(block.number, block.start)))
            if block.start is not None:
                out += [_frame("content_block_delta", BlockDelta(block.number, delta)) for delta in block.waiting]
            block.waiting.clear()
            if not block.closed:
                return
            del self._open[index]
            if block.start is not None:
                self._stop = _frame("content_block_stop", BlockStop(block.number))
                if block.complete:
                    self._release(out)

    def _release(self, out: list[bytes]) -> None:
        """A block that was cut is stopped only when the answer goes on: behind a failure it must not look whole."""
        if self._stop:
            out.append(self._stop)
            self._stop = b""

    def _delta(self, index: int, delta: object, out: list[bytes]) -> None:
        if index in self._others:
            return
        block = self._open[index]
        if block.closed:
            raise KeyError(index)
        block.empty = False
        block.waiting.append(delta)
        self._write(out)

    def _close(self, index: int, out: list[bytes], complete: bool = True) -> None:
        if index in self._others:
            self._others.discard(index)
            return
        block = self._open[index]
        if block.closed:
            raise KeyError(index)
        block.closed, block.complete = True, complete
        self._write(out)

    def _on_text_start(self, event: TextStart, out: list[bytes]) -> None:
        self._start(event.index, event.choice, _EMPTY_TEXT, out)

    def _on_refusal_start(self, event: RefusalStart, out: list[bytes]) -> None:
        self._refused = self._refused or not event.choice
        self._start(event.index, event.choice, _EMPTY_TEXT, out)

    def _on_reasoning_start(self, event: ReasoningStart, out: list[bytes]) -> None:
        """A redacted block is known by its end, or a thinking one by its first piece."""
        self._start(event.index, event.choice, None, out)

    def _on_call_start(self, event: ToolCallStart, out: list[bytes]) -> None:
        self._start(event.index, event.choice, call_start(event.id, event.name), out, event.kind == "custom")

    def _on_opaque_start(self, event: OpaqueStart, out: list[bytes]) -> None:
        self._start(event.index, event.choice, None, out)
        if not event.choice:
            self._open[event.index].kind = event.kind

    def _on_text(self, event: TextDelta | RefusalDelta, out: list[bytes]) -> None:
        self._delta(event.index, TextPiece(event.text), out)

    def _on_reasoning(self, event: ReasoningDelta, out: list[bytes]) -> None:
        if event.index not in self._others:
            self._open[event.index].start = _EMPTY_THINKING
        self._delta(event.index, ThinkingPiece(event.text), out)

    def _on_arguments(self, event: ToolCallDelta, out: list[bytes]) -> None:
        if event.index not in self._others and (text := self._open[event.index].custom) is not None:
            text.append(event.arguments)
        else:
            self._delta(event.index, InputPiece(event.arguments), out)

    def _on_end(self, event: TextEnd | RefusalEnd, out: list[bytes]) -> None:
        self._close(event.index, out, event.complete)

    def _on_reasoning_end(self, event: ReasoningEnd, out: list[bytes]) -> None:
        if event.index not in self._others:
            block = self._open[event.index]
            if event.redacted and event.data is not None and block.start is None:
                block.start = redacted_block(event.data)
            else:
                block.start = _EMPTY_THINKING
                if event.signature:
                    block.waiting.append(SignaturePiece(event.signature))
        self._close(event.index, out, event.complete)

    def _on_call_end(self, event: ToolCallEnd, out: list[bytes]) -> None:
        """A call without arguments gets `{}`: clients parse what they were sent. The object that is made of free text stops where it was cut."""
        if event.index not in self._others:
            block = self._open[event.index]
            if block.custom is not None:
                whole = custom_input("".join(block.custom)).decode()
                block.waiting.append(InputPiece(whole if event.complete else whole[:-2]))
            elif block.empty and event.complete:
                block.waiting.append(InputPiece("{}"))
        self._close(event.index, out, event.complete)

    def _on_opaque_end(self, event: OpaqueEnd, out: list[bytes]) -> None:
        if event.index not in self._others and event.complete and is_object(event.raw, self._open[event.index].kind):
            self._open[event.index].start = on_one_line(event.raw)
        self._close(event.index, out)

    def _on_citation(self, event: Citation, out: list[bytes]) -> None:
        """Only text has sources on this wire."""
        block = self._open.get(event.index)
        if block is not None and not block.closed and block.start is _EMPTY_TEXT:
            self._delta(event.index, CitationPiece(citation_of(event)), out)

    def _on_usage(self, event: UsageUpdate, out: list[bytes]) -> None:
        self._usage = event.usage

    def _on_finish(self, event: Finish, out: list[bytes]) -> None:
        if self._open:
            raise LocalProtocolError("Finish came while a block is open")
        self._begin(out)
        self._release(out)
        reason = "refusal" if self._refused and event.finish_reason == "stop" else stop_reason(event.finish_reason, event.raw_finish_reason)
        sequence = event.detail if reason == "stop_sequence" else None
        out.append(_frame("message_delta", MessageDelta(StopDelta(reason, sequence), written_usage(event.usage or self._usage))))
        out.append(b'event: message_stop\ndata: {"type":"message_stop"}\n\n')

    def _on_failed(self, event: StreamFailed, out: list[bytes]) -> None:
        out.append(b"event: error\ndata: %b\n\n" % encode_error(event.error))

    handlers: ClassVar[Handlers] = {
        TextStart: _on_text_start,
        ReasoningStart: _on_reasoning_start,
        RefusalStart: _on_refusal_start,
        ToolCallStart: _on_call_start,
        OpaqueStart: _on_opaque_start,
        TextDelta: _on_text,
        RefusalDelta: _on_text,
        ReasoningDelta: _on_reasoning,
        ToolCallDelta: _on_arguments,
        TextEnd: _on_end,
        RefusalEnd: _on_end,
        ReasoningEnd: _on_reasoning_end,
        ToolCallEnd: _on_call_end,
        OpaqueEnd: _on_opaque_end,
        Citation: _on_citation,
        UsageUpdate: _on_usage,
        Finish: _on_finish,
        StreamFailed: _on_failed,
    }


def encode_error(error: ErrorInfo) -> bytes:
    """A failure in the protocol's own form: the data of an event, or the body of a JSON answer."""
    return encode_json(ErrorEvent(WrittenError(ERROR_TYPES.get(error.kind, "api_error"), error.message)))


def encode_response(response: Response, *, model: str, id: str, created: int = 0) -> bytes:
    """The whole answer as one `message` body; an error object where it failed.

    Cut calls are left out: a body of one piece has no place for arguments that are no JSON.
    """
    if response.error is not None:
        return encode_error(response.error)
    choice = response.choice(0)
    content = [raw for block in choice.blocks if (raw := content_block(block)) is not None]
    refused = choice.refusal and choice.finish_reason == "stop"
    reason = "refusal" if refused else stop_reason(choice.finish_reason, choice.raw_finish_reason)
    sequence = response.detail if reason == "stop_sequence" else None
    usage = written_usage(response.usage, at_start=True)
    return encode_json(WrittenMessage(id, "message", "assistant", model, content, reason, sequence, usage))


def _frame(event: str, data: Struct) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (event.encode(), encode_json(data))
