"""From the events of a ConverseStream to ours. Rows WIRE-37 to 46, PI-BR-01 to 03.

Only tool calls announce their block; text and reasoning open theirs with the first piece. Usage comes behind `messageStop`, in `metadata`.
The object may stand under its event type (`{"messageStop": {...}}`), as in what InvokeModel sends for Nova.
"""

from __future__ import annotations

from headwater_codecs import tolerant_json
from headwater_codecs.bedrock_converse.wire import decode_text
from headwater_codecs.framing import snippet
from headwater_codecs.neutral import FinishReason, TextDelta, Usage, error_info
from headwater_codecs.sse import Frame
from headwater_codecs.tolerant_json import clean, encode_json, is_json
from headwater_providers.bedrock_converse.dialect import ConverseDialect
from headwater_providers.counts import read_count
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
_EXCEPTIONS = ("internalServerException", "modelStreamErrorException", "validationException", "throttlingException", "serviceUnavailableException")


class ConverseTranslator(EventTranslator):
    """Frames of one response to events; see the module's text for the rules."""

    protocol = "bedrock-converse"

    def __init__(self, dialect: Dialect | None = None, *, provider: str | None = None, choices: int = 1, raw: bool = False) -> None:
        super().__init__(dialect or ConverseDialect(), provider=provider, choices=choices, raw=raw)
        self._stop_reason: str | None = None
        self._inputs: dict[int, list[str]] = {}  # of tools of the provider's that are open
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
        for name in _EXCEPTIONS:
            if isinstance(told := value.get(name), dict):  # hidden in the payload of an event (B215)
                self._in_band({"code": name, **told})
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
            self._stop_reason = word_of(value.get("stopReason"))
            for index in list(self._inputs):
                self._stop(index)
            self._blocks.close_all(cut=self._stop_reason in _BREAKING)
            self.settled = self._stop_reason is not None
        elif kind == "metadata":
            if usage := object_of(value.get("usage")):
                self._writer.count(read_usage(usage))
        elif "output" in value and "stopReason" in value:
            self._whole(value)
        elif frame.event.endswith("Exception") or value.get("error"):
            self._in_band({"code": frame.event, **value})
        elif not frame.terminated:
            if text_of(value.get("message")) or text_of(value.get("Message")):
                self._in_band(value)
            else:
                self._fail(error_info("malformed", f"the body is no Converse stream: {snippet(frame.data)}", phase="stream"))

    def _start(self, index: int, start: Json) -> None:
        self.progress += 1
        call = start.get("toolUse")
        if isinstance(call, dict) and call.get("type") in (None, "tool_use"):
            self._blocks.open_call(index, word_of(call.get("name")) or "", word_of(call.get("toolUseId")))
        elif start:
            kind = next(iter(start))
            self._blocks.open_opaque(index, kind).raw = encode_json(clean(start))

    def _stop(self, index: int) -> None:
        block = self._blocks.get(index)
        if block is None:
            return
        if inputs := self._inputs.pop(index, None):
            start = object_of(tolerant_json.decode(block.raw))
            kind = next(iter(start), "toolUse")
            text = "".join(inputs)
            given = tolerant_json.decode(text.encode("utf-8", "surrogatepass")) if is_json(text) else text
            block.raw = encode_json(clean({kind: {**object_of(start.get(kind)), "input": given}}))
        self._blocks.close(index)

    def _delta(self, index: int, delta: Json) -> None:
        blocks = self._blocks
        if text := text_of(delta.get("text")):
            blocks.write(index, "text", text)
        if isinstance(call := delta.get("toolUse"), dict):
            piece = call.get("input")
            text = piece if isinstance(piece, str) else encode_json(clean(piece)).decode() if piece is not None else ""
            block = blocks.get(index)
            if block is not None and block.kind == "tool_call":
                blocks.add_arguments(index, text)
            elif block is not None and block.kind == "opaque":
                self._inputs.setdefault(index, []).append(text)  # of a tool of the provider's
                self.progress += 1
            elif text:
                self.note("odd_delta", "arguments came for no tool call; they were left out", snippet(text.encode("utf-8", "replace")))
        if isinstance(reasoning := delta.get("reasoningContent"), dict):
            self._reasoning(index, reasoning)
        for name in delta:
            if name not in ("text", "toolUse", "reasoningContent"):
                self._other(index, name, delta[name])
        block = blocks.get(index)
        if block is not None and block.kind == "text" and not block.held:
            self._text_at, self._text_index = index, block.index

    def _reasoning(self, index: int, piece: Json) -> None:
        blocks = self._blocks
        if isinstance(whole := piece.get("reasoningText"), dict):  # the form of a whole message
            piece = {**whole, **piece}
        if text := text_of(piece.get("text")):
            blocks.write(index, "reasoning", text)
        signature = text_of(piece.get("signature"))
        redacted = text_of(piece.get("redactedContent"))
        if signature or redacted:
            self.progress += 1
            block = blocks.get(index) or blocks.open(index, "reasoning")
            if signature:
                block.signature = (block.signature or "") + str(clean(signature))
            if redacted:
                block.redacted, block.data = True, (block.data or "") + str(clean(redacted))

    def _other(self, index: int, name: str, value: object) -> None:
        """A citation, a result of a tool of the provider's: kept as it is."""
        self.progress += 1
        key = (index, name)
        block = self._blocks.open_opaque(key, name)
        block.raw = encode_json(clean(value))
        self._blocks.close(key)

    def _whole(self, value: Json) -> None:
        """An answer that was not streamed."""
        message = object_of(object_of(value.get("output")).get("message"))
        for index, part in enumerate(list_of(message.get("content"))):
            content = object_of(part)
            if isinstance(call := content.get("toolUse"), dict):
                self._start(index, {"toolUse": call})
                self._delta(index, {"toolUse": {"input": call.get("input")}} if call.get("input") else {})
            else:
                self._delta(index, content)
            if index in self._blocks:
                self._blocks.close(index)
        if usage := object_of(value.get("usage")):
            self._writer.count(read_usage(usage))
        self._stop_reason = word_of(value.get("stopReason"))
        self._end()

    def _ended_well(self) -> bool:
        return self._stop_reason is not None

    def _missing(self) -> str:
        return "messageStop"

    def _end(self) -> None:
        raw = self._stop_reason
        self._finish_with("unknown" if raw is None else FINISH.get(raw, "unknown"), raw, cut=raw in _BREAKING)


def read_usage(raw: Json) -> Usage:
    """The counts of a `metadata` event. What a cache gave or took is counted beside the input, so the total adds them up."""
    fresh = read_count(raw.get("inputTokens"))
    cached = read_count(raw.get("cacheReadInputTokens", raw.get("cacheReadInputTokenCount")))
    written = read_count(raw.get("cacheWriteInputTokens", raw.get("cacheWriteInputTokenCount")))
    kept = clean(raw)
    assert isinstance(kept, dict)
    total = None if fresh is None else fresh + (cached or 0) + (written or 0)
    return Usage(total, read_count(raw.get("outputTokens")), cached, written, None, kept)


def _index(value: Json) -> int:
    index = value.get("contentBlockIndex")
    return index if isinstance(index, int) and not isinstance(index, bool) else 0
