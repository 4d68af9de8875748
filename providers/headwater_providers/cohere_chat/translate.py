"""From the events of Cohere's chat (version 2) to ours. The stream ends well with `message-end`."""

from __future__ import annotations

from collections.abc import Hashable

from msgspec import Raw

from headwater_codecs.cohere_chat.wire import decode_text
from headwater_codecs.framing import snippet
from headwater_codecs.neutral import Citation, ErrorInfo, FinishReason, TextDelta, Usage, error_info
from headwater_codecs.sse import Frame
from headwater_codecs.tolerant_json import clean, encode_json
from headwater_providers.bare_error import is_bare_error
from headwater_providers.cohere_chat.dialect import CohereDialect
from headwater_providers.counts import read_count
from headwater_providers.errors import read_in_band
from headwater_providers.event_translator import EventTranslator, Json, list_of, object_of, text_of, word_of

FINISH: dict[str, FinishReason] = {
    "COMPLETE": "stop",
    "STOP_SEQUENCE": "stop",
    "MAX_TOKENS": "length",
    "TOOL_CALL": "tool_calls",
    "ERROR_TOXIC": "content_filter",
    "ERROR": "error",
    "ERROR_LIMIT": "error",
    "TIMEOUT": "error",
}


class CohereTranslator(EventTranslator):
    """Frames of one response to events."""

    protocol = "cohere-chat"

    def __init__(self, dialect: CohereDialect | None = None, *, provider: str | None = None, choices: int = 1, raw: bool = False) -> None:
        super().__init__(dialect or CohereDialect(), provider=provider, choices=choices, raw=raw)
        self._finish_reason: str | None = None
        self._tool_plan: list[str] = []
        self._plain_at = 0  # the number on the wire of the text that was written last
        self._plain_index: int | None = None  # of its block, None where a plain piece of text would not just go on with it
        # The newest block of each kind, which sources are for.
        self._text: int | None = None
        self._thinking: int | None = None
        self._planned: int | None = None

    def _plain(self, frame: Frame) -> bool:
        if (index := self._plain_index) is None:
            return False
        try:
            event = decode_text(frame.data)
        except (ValueError, RecursionError):  # also msgspec's own errors
            return False
        if event.index != self._plain_at:
            return False
        if text := event.delta.message.content.text:
            self._writer.out.append(TextDelta(index, text))
        return True

    def _frame(self, frame: Frame) -> None:
        super()._frame(frame)
        block = self._blocks.get(("content", self._plain_at))
        self._plain_index = block.index if block is not None and block.kind == "text" and not block.held else None

    def _event(self, value: Json, frame: Frame) -> None:
        kind = value.get("type") or frame.event
        handle = _EVENTS.get(kind) if isinstance(kind, str) else None
        delta = object_of(value.get("delta"))
        if handle is not None:
            handle(self, value, delta, object_of(delta.get("message")))
        elif isinstance(value.get("message"), dict) and "finish_reason" in value:
            self._whole(value)
        elif value.get("error") or "error" in (kind, frame.event) or (text_of(value.get("message")) and kind in (None, "")) or is_bare_error(value):
            self._in_band(value)
        elif not frame.terminated and not self._writer.started:
            self._fail(error_info("malformed", f"the body is no answer of Cohere's: {snippet(frame.data)}", phase="stream"))

    def _start(self, value: Json, delta: Json, message: Json) -> None:
        self._writer.response_id = self._writer.response_id or word_of(value.get("id"))

    def _content_start(self, value: Json, delta: Json, message: Json) -> None:
        self.progress += 1  # it has no text yet, as a rule, so that no event shows it
        self._content(value, delta, message)

    def _content(self, value: Json, delta: Json, message: Json) -> None:
        self._part(("content", _index(value)), object_of(message.get("content")))

    def _part(self, key: tuple[str, int], content: Json) -> None:
        if text := text_of(content.get("thinking")):
            self._blocks.write(key, "reasoning", text)
            self._thinking = self._index_of(key, self._thinking)
        if text := text_of(content.get("text")):
            self._blocks.write(key, "text", text)
            self._text = self._index_of(key, self._text)
            self._plain_at = key[1]

    def _index_of(self, key: Hashable, before: int | None) -> int | None:
        block = self._blocks.get(key)
        return before if block is None else block.index

    def _content_end(self, value: Json, delta: Json, message: Json) -> None:
        if ("content", _index(value)) in self._blocks:
            self._blocks.close(("content", _index(value)))

    def _plan(self, value: Json, delta: Json, message: Json) -> None:
        """What the model means to do with its tools: neither its answer nor its thinking, and kept for replay."""
        self._add_plan(text_of(message.get("tool_plan")))

    def _add_plan(self, text: str) -> None:
        if text:
            self.progress += 1
            if "plan" not in self._blocks:
                self._planned = self._blocks.open_opaque("plan", "tool_plan").index
            self._tool_plan.append(text)

    def _call_start(self, value: Json, delta: Json, message: Json) -> None:
        self._close_plan()
        self._open_call(_index(value), object_of(message.get("tool_calls")))

    def _open_call(self, index: int, call: Json) -> None:
        function = object_of(call.get("function"))
        name = word_of(function.get("name"))
        if name is None:
            self.note("nameless_call", "a tool call has no name; it was left out")
            return
        self._blocks.open_call(index, name, word_of(call.get("id")))
        self._blocks.add_arguments(index, text_of(function.get("arguments")))

    def _call_delta(self, value: Json, delta: Json, message: Json) -> None:
        piece = text_of(object_of(object_of(message.get("tool_calls")).get("function")).get("arguments"))
        if _index(value) in self._blocks:
            self._blocks.add_arguments(_index(value), piece)
        elif piece:
            self.note("odd_delta", "arguments came for no tool call; they were left out", snippet(piece.encode("utf-8", "replace")))

    def _call_end(self, value: Json, delta: Json, message: Json) -> None:
        if _index(value) in self._blocks:
            self._blocks.close(_index(value))

    def _cite(self, value: Json, delta: Json, message: Json) -> None:
        citations = message.get("citations")
        for citation in citations if isinstance(citations, list) else [citations]:
            if isinstance(citation, dict):
                self._source(citation)

    def _source(self, citation: Json) -> None:
        cited = object_of(clean(citation))
        place = {"PLAN": self._planned, "THINKING_CONTENT": self._thinking}.get(word_of(cited.get("type")) or "", self._text)
        if place is None:
            place = self._text = self._blocks.open("cited", "text").index
        sources = [object_of(source) for source in list_of(cited.get("sources"))]
        document = next((object_of(source.get("document")) for source in sources if source.get("document")), {})
        kind = next((word for source in sources if (word := word_of(source.get("type")))), None) or "citation"
        url, title = word_of(document.get("url")), word_of(document.get("title"))
        self._writer.content(Citation(place, 0, kind, url, title, word_of(cited.get("text")), Raw(encode_json(cited))))

    def _close_plan(self, complete: bool = True) -> None:
        if (block := self._blocks.get("plan")) is not None:
            block.raw = encode_json(clean("".join(self._tool_plan)))
            self._blocks.close("plan", complete)
            self._tool_plan.clear()

    def _message_end(self, value: Json, delta: Json, message: Json) -> None:
        self._finish_reason = word_of(delta.get("finish_reason"))
        self._count(object_of(delta.get("usage")))
        if error := delta.get("error"):
            told = error if isinstance(error, dict) else {"message": str(error)}
            info = read_in_band(clean({"type": delta.get("error_type"), **told}))
            self._fail(info.with_(phase="stream"), self._finish_reason)
        else:
            self._end()

    def _whole(self, value: Json) -> None:
        """An answer that was not streamed."""
        self._writer.response_id = word_of(value.get("id"))
        message = object_of(value.get("message"))
        self._add_plan(text_of(message.get("tool_plan")))
        self._close_plan()
        for index, part in enumerate(list_of(message.get("content"))):
            self._part(("content", index), object_of(part))
        for citation in list_of(message.get("citations")):
            self._source(object_of(citation))
        for index, call in enumerate(list_of(message.get("tool_calls"))):
            self._open_call(index, object_of(call))
        self._finish_reason = word_of(value.get("finish_reason"))
        self._count(object_of(value.get("usage")))
        self._end()

    def _count(self, usage: Json) -> None:
        """The tokens, else what of them is paid for."""
        tokens, billed = object_of(usage.get("tokens")), object_of(usage.get("billed_units"))
        read, written = (
            read_count(billed.get(name)) if (count := read_count(tokens.get(name))) is None else count for name in ("input_tokens", "output_tokens")
        )
        if usage:
            kept = clean(usage)
            assert isinstance(kept, dict)
            self._writer.count(Usage(read, written, read_count(usage.get("cached_tokens")), raw=kept))

    def _fail(self, error: ErrorInfo, raw_finish_reason: str | None = None) -> None:
        self._close_plan(complete=False)
        super()._fail(error, raw_finish_reason)

    def _ended_well(self) -> bool:
        return False

    def _missing(self) -> str:
        return "message-end"

    def _end(self) -> None:
        self._close_plan()
        raw = self._finish_reason
        reason: FinishReason = "unknown" if raw is None else FINISH.get(raw.upper(), "unknown")
        self._finish_with(reason, raw, cut=reason in ("length", "error"))


def _index(value: Json) -> int:
    index = value.get("index")
    return index if isinstance(index, int) and not isinstance(index, bool) else 0


_EVENTS = {
    "message-start": CohereTranslator._start,
    "content-start": CohereTranslator._content_start,
    "content-delta": CohereTranslator._content,
    "content-end": CohereTranslator._content_end,
    "tool-plan-delta": CohereTranslator._plan,
    "tool-call-start": CohereTranslator._call_start,
    "tool-call-delta": CohereTranslator._call_delta,
    "tool-call-end": CohereTranslator._call_end,
    "citation-start": CohereTranslator._cite,
    "message-end": CohereTranslator._message_end,
}
