"""From the events of a ConverseStream to ours. Rows WIRE-37 to 46, PI-BR-01 to 03.

Only tool calls, results and images announce their block; text and reasoning open theirs with the first piece. Usage comes behind `messageStop`, in
`metadata`. The object may stand under its event type (`{"messageStop": {...}}`), as in what InvokeModel sends for Nova. A source belongs to the text
of its own block, or, where it has a block to itself, to the text before it.
"""

from __future__ import annotations

from headwater_codecs.bedrock_converse.wire import decode_text
from headwater_codecs.framing import snippet
from headwater_codecs.neutral import ErrorInfo, FinishReason, TextDelta, error_info
from headwater_codecs.sse import Frame
from headwater_codecs.tolerant_json import clean, encode_json
from headwater_providers.bare_error import says_error
from headwater_providers.bedrock_converse.dialect import ConverseDialect
from headwater_providers.bedrock_converse.items import Item, join_base64
from headwater_providers.bedrock_converse.said import hidden_failure, read_citation, read_usage, told_failure, with_inner_message
from headwater_providers.event_translator import EventTranslator, Json, list_of, object_of, text_of, word_of
from headwater_providers.flags import Dialect

FINISH: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "guardrail_intervened": "content_filter",
    "content_filtered": "content_filter",
    "malformed_model_output": "error",
    "malformed_tool_use": "error",
}
_BREAKING = frozenset({"max_tokens", "model_context_window_exceeded", "guardrail_intervened", "content_filtered", "malformed_tool_use"})
_EVENTS = ("messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata")


class ConverseTranslator(EventTranslator):
    """Frames of one response to events; see the module's text for the rules."""

    protocol = "bedrock-converse"

    def __init__(self, dialect: Dialect | None = None, *, provider: str | None = None, choices: int = 1, raw: bool = False) -> None:
        super().__init__(dialect or ConverseDialect(), provider=provider, choices=choices, raw=raw)
        self._stop_reason: str | None = None
        self._detail: str | None = None  # the stop sequence, or why a guardrail stepped in
        self._items: dict[int, Item] = {}  # open blocks that we do not model
        self._redacted: dict[int, list[str]] = {}
        self._ended_empty: int | None = None  # a call that stopped without arguments: only what follows tells whether they are missing
        self._nameless = False  # a call that nobody named
        self._last_text = -1  # our index of the last block of text
        self._sources: dict[int, list[Json]] = {}  # of blocks whose text has not come
        self._text_at = -1  # the open text block that the last event wrote to, and its index in our stream; -1: it was another one
        self._text_index = 0

    def _plain(self, frame: Frame) -> bool:
        if self._text_at < 0 or frame.event != "contentBlockDelta":
            return False
        try:
            event = decode_text(frame.data)
        except (ValueError, RecursionError):  # also msgspec's own errors
            return False
        if event.index != self._text_at:
            return False
        if text := event.delta.text:
            self._writer.out.append(TextDelta(self._text_index, text))
        return True

    def _event(self, value: Json, frame: Frame) -> None:
        self._text_at = -1
        if (failure := hidden_failure(value, frame.event)) is not None:
            self._in_band(failure)
            return
        kind = frame.event
        if kind not in _EVENTS:
            kind = next((name for name in _EVENTS if isinstance(value.get(name), dict)), kind)
        if isinstance(inner := value.get(kind), dict):
            value = inner
        if kind == "contentBlockDelta":
            self._delta(_index(value), object_of(value.get("delta")))
        elif kind == "contentBlockStart":
            self._start(_index(value), object_of(value.get("start")))
        elif kind == "contentBlockStop":
            self._stop(_index(value))
        elif kind == "messageStop":
            self._message_stop(value)
        elif kind == "metadata":
            self._metadata(value)
        elif "output" in value and "stopReason" in value:
            self._whole(value)
        elif says_error(value.get("error")):
            self._in_band(value)
        elif not frame.terminated:
            if (failure := told_failure(value)) is not None:
                self._in_band(failure)
            else:
                self._fail(error_info("malformed", f"the body is no Converse stream: {snippet(frame.data)}", phase="stream"))

    def _start(self, index: int, start: Json) -> None:
        self.progress += 1
        self._settle_empty(cut=False)
        if index in self._blocks:
            self._close(index)
            self.note("block_not_stopped", "a content block began under the number of one that had not stopped")
        call = start.get("toolUse")
        if isinstance(call, dict) and call.get("type") in (None, "tool_use"):
            self._open_call(index, call)
        elif start:
            kind = next(iter(start))
            self._open_item(index, kind, start[kind])

    def _open_call(self, index: int, call: Json) -> None:
        name = word_of(call.get("name"))
        if name is None:
            self._nameless = True
            self.note("nameless_call", "a tool call came without a name")
        else:
            self._blocks.open_call(index, name, word_of(call.get("toolUseId")))

    def _open_item(self, index: int, kind: str, start: object) -> None:
        self._blocks.open_opaque(index, word_of(kind) or "unknown")
        self._items[index] = Item(kind, start)

    def _stop(self, index: int) -> None:
        self._settle_sources(index)
        if index != self._ended_empty:
            self._settle_empty(cut=False)
        block = self._blocks.get(index)
        if block is not None and block.kind == "tool_call" and not block.fragments:
            self._ended_empty = index
        elif block is not None:
            self._close(index)

    def _settle_empty(self, cut: bool) -> None:
        """Close the call that stopped without arguments: it takes none, unless the answer was `cut` right there."""
        index, self._ended_empty = self._ended_empty, None
        if index is not None and index in self._blocks:
            self._close(index, complete=not cut)

    def _close(self, index: int, complete: bool = True) -> None:
        self._blocks.close(index, self._fold(index) and complete)

    def _fold(self, index: int) -> bool:
        """Put together what came in pieces for the block; whether it is whole."""
        block = self._blocks.get(index)
        item, redacted = self._items.pop(index, None), self._redacted.pop(index, None)
        whole = True
        if block is not None and item is not None:
            block.raw, whole = item.whole()
        if block is not None and redacted is not None:
            block.data = join_base64(redacted)
        return whole

    def _delta(self, index: int, delta: Json) -> None:
        blocks = self._blocks
        if delta and index != self._ended_empty:
            self._settle_empty(cut=False)
        if text := text_of(delta.get("text")):
            self._prose(index, "text")
            blocks.write(index, "text", text)
        if isinstance(call := delta.get("toolUse"), dict):
            self._input(index, call)
        if isinstance(reasoning := delta.get("reasoningContent"), dict):
            self._reasoning(index, reasoning)
        if isinstance(citation := delta.get("citation"), dict):
            self._cite(index, citation)
        for name, value in delta.items():
            if name not in ("text", "toolUse", "reasoningContent", "citation"):
                self._other(index, name, value)
        block = blocks.get(index)
        if block is not None and block.kind == "text":
            self._last_text = block.index
            self._settle_sources(index)
            if not block.held:
                self._text_at, self._text_index = index, block.index

    def _prose(self, index: int, kind: str) -> None:
        """A block of prose comes where another kind is open: that one ends."""
        block = self._blocks.get(index)
        if block is not None and block.kind != kind:
            self._close(index)

    def _input(self, index: int, call: Json) -> None:
        piece = call.get("input")
        text = piece if isinstance(piece, str) else encode_json(clean(piece)).decode() if piece is not None else ""
        block = self._blocks.get(index)
        if block is not None and block.kind == "tool_call":
            if not block.fragments and not text.strip():
                return  # white space in front says nothing yet
            if index == self._ended_empty:
                self._ended_empty = None  # its arguments came behind its stop
            self._blocks.add_arguments(index, text)
        elif index in self._items:
            self._items[index].add(call)
            self.progress += 1
        elif text:
            self.note("odd_delta", "arguments came for no tool call; they were left out", snippet(text.encode("utf-8", "replace")))

    def _reasoning(self, index: int, piece: Json) -> None:
        if isinstance(whole := piece.get("reasoningText"), dict):  # the form of a whole message
            piece = {**whole, **piece}
        text = text_of(piece.get("text"))
        signature, redacted = text_of(piece.get("signature")), text_of(piece.get("redactedContent"))
        if not (text or signature or redacted):
            return
        self._prose(index, "reasoning")
        self._blocks.write(index, "reasoning", text)
        if signature or redacted:
            self.progress += 1
            block = self._blocks.get(index) or self._blocks.open(index, "reasoning")
            if signature:
                block.signature = (block.signature or "") + str(clean(signature))
            if redacted:
                block.redacted = True
                self._redacted.setdefault(index, []).append(str(clean(redacted)))

    def _cite(self, index: int, citation: Json) -> None:
        self.progress += 1
        self._sources.setdefault(index, []).append(citation)

    def _settle_sources(self, index: int) -> None:
        """Send the sources of a block: it has text now, or it ended without."""
        sources = self._sources.pop(index, [])
        if sources and self._last_text < 0:
            self._prose(index, "text")
            self._last_text = self._blocks.open(index, "text").index
        for source in sources:
            self._writer.content(read_citation(self._last_text, source))

    def _other(self, index: int, name: str, value: object) -> None:
        """A piece of a tool's result, of an image, or of something new."""
        self.progress += 1
        if index in self._items:
            self._items[index].add(value)
        elif index not in self._blocks:
            self._open_item(index, name, value)
        else:  # beside something else: an item of its own
            key = (index, name)
            self._blocks.open_opaque(key, word_of(name) or "unknown").raw = Item(name, value).whole()[0]
            self._blocks.close(key)

    def _message_stop(self, value: Json) -> None:
        self._stop_reason = word_of(value.get("stopReason"))
        self._detail = word_of(object_of(value.get("additionalModelResponseFields")).get("stop_sequence"))
        if self._stop_reason is None:
            self.note("no_stop_reason", "messageStop came without a stop reason")
        self._close_all(cut=self._stop_reason in _BREAKING)
        self.settled = True

    def _close_all(self, cut: bool) -> None:
        self._settle_empty(cut)
        for index in list(self._sources):
            self._settle_sources(index)
        for index in list(self._items):
            self._close(index)
        for index in list(self._redacted):
            self._fold(index)
        self._blocks.close_all(cut)

    def _metadata(self, value: Json) -> None:
        if usage := object_of(value.get("usage")):
            self._writer.count(read_usage(usage))
        if self._stop_reason == "guardrail_intervened":
            guardrail = object_of(object_of(value.get("trace")).get("guardrail"))
            self._detail = word_of(guardrail.get("actionReason")) or self._detail

    def _whole(self, value: Json) -> None:
        """An answer that was not streamed."""
        message = object_of(object_of(value.get("output")).get("message"))
        for index, part in enumerate(list_of(message.get("content"))):
            content = object_of(part)
            cited = object_of(content.pop("citationsContent", None))
            for piece in list_of(cited.get("content")):
                self._delta(index, object_of(piece))
            for citation in list_of(cited.get("citations")):
                self._cite(index, object_of(citation))
            if isinstance(call := content.get("toolUse"), dict):
                self._start(index, {"toolUse": call})
                if index not in self._items and (given := call.get("input")):
                    self._delta(index, {"toolUse": {"input": given}})
            else:
                self._delta(index, content)
            self._stop(index)
        self._message_stop(value)
        self._metadata(value)
        self._end()

    def _ended_well(self) -> bool:
        return self.settled

    def _missing(self) -> str:
        return "messageStop"

    def _end(self) -> None:
        raw = self._stop_reason
        self._close_all(cut=raw in _BREAKING)
        if self._nameless:
            self._fail(error_info("malformed", "a tool call never got a name", phase="stream"))
            return
        self._finish_with("unknown" if raw is None else FINISH.get(raw, "unknown"), raw, detail=self._detail)

    def _in_band(self, payload: object) -> None:
        super()._in_band(with_inner_message(payload))

    def _fail(self, error: ErrorInfo, raw_finish_reason: str | None = None) -> None:
        if not self._writer.done:
            for index in list(self._sources):
                self._settle_sources(index)
            for index in [*self._items, *self._redacted]:
                self._fold(index)
        super()._fail(error, raw_finish_reason or self._stop_reason)


def _index(value: Json) -> int:
    index = value.get("contentBlockIndex")
    return index if isinstance(index, int) and not isinstance(index, bool) else 0
