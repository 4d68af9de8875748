"""The families of bedrock-invoke whose chunks are text with a stop reason: Titan, Llama, Mistral, and Claude's old completions."""

from __future__ import annotations

from headwater_codecs.framing import snippet
from headwater_codecs.neutral import FinishReason, Usage, error_info
from headwater_codecs.sse import Frame
from headwater_codecs.tolerant_json import clean, encode_json
from headwater_providers.bare_error import is_bare_error, says_error
from headwater_providers.bedrock_converse.said import told_failure
from headwater_providers.counts import read_count
from headwater_providers.event_translator import EventTranslator, Json, list_of, object_of, text_of, word_of

FINISH: dict[str, FinishReason] = {
    "FINISH": "stop",
    "FINISHED": "stop",
    "STOP_CRITERIA_MET": "stop",
    "LENGTH": "length",
    "CONTENT_FILTERED": "content_filter",
    "RAG_QUERY_WHEN_RAG_DISABLED": "error",
    "stop": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "tool_calls": "tool_calls",
    "content_filtered": "content_filter",
}
_METRICS = "amazon-bedrock-invocationMetrics"


class PlainInvokeTranslator(EventTranslator):
    """Chunks of text to events."""

    protocol = "bedrock-invoke"

    def __init__(self, **settings: object) -> None:
        super().__init__(**settings)  # type: ignore[arg-type]  # as the caller got them
        self._stop_reason: str | None = None
        self._detail: str | None = None

    def _event(self, value: Json, frame: Frame) -> None:
        text, reason = value.get("outputText"), value.get("completionReason")  # Titan
        if results := list_of(value.get("results")):  # Titan, in one piece
            text = "".join([text_of(object_of(result).get("outputText")) for result in results])
            reason = object_of(results[0]).get("completionReason")
            value = {"totalOutputTextTokenCount": object_of(results[0]).get("tokenCount"), **value}
        elif "generation" in value:  # Llama
            text, reason = value.get("generation"), value.get("stop_reason")
        elif "completion" in value:  # Claude's old completions
            text, reason = value.get("completion"), value.get("stop_reason")
            self._detail = word_of(value.get("stop")) or self._detail
        elif isinstance(outputs := value.get("outputs"), list):  # Mistral
            text = "".join([text_of(object_of(output).get("text")) for output in outputs])
            reason = next((found for output in outputs if (found := object_of(output).get("stop_reason"))), None)
        elif isinstance(choices := value.get("choices"), list):  # Mistral's chat
            text, reason = "", None
            for choice in choices:
                message = object_of(object_of(choice).get("message") or object_of(choice).get("delta"))
                text += text_of(message.get("content")) or text_of(object_of(choice).get("text"))  # the latter is DeepSeek's
                reason = object_of(choice).get("stop_reason") or object_of(choice).get("finish_reason") or reason
                self._calls(list_of(message.get("tool_calls")))
        elif "outputText" not in value and not self._answers(value, frame):
            return
        self._blocks.write("text", "text", text_of(text))
        self._count(value)
        if (word := word_of(reason)) is not None:
            self._stop_reason = word
            self._blocks.close_all(cut=FINISH.get(word) == "length")
            self.settled = True

    def _answers(self, value: Json, frame: Frame) -> bool:
        """Whether what names no text may be part of an answer all the same; else it is a failure, and told as one."""
        if says_error(value.get("error")) or is_bare_error(value) or text_of(value.get("Message")):
            self._in_band(told_failure(value) or value)
        elif not frame.terminated:
            self._fail(error_info("malformed", f"the body is no answer of InvokeModel: {snippet(frame.data)}", phase="stream"))
        else:
            return True
        return False

    def _calls(self, calls: list[object]) -> None:
        for call in calls:
            function = object_of(object_of(call).get("function"))
            key = ("call", len(self._blocks.calls), word_of(object_of(call).get("id")))
            self._blocks.open_call(key, word_of(function.get("name")) or "", word_of(object_of(call).get("id")))
            arguments = function.get("arguments")
            self._blocks.add_arguments(key, arguments if isinstance(arguments, str) else encode_json(clean(arguments or {})).decode())
            self._blocks.close(key)

    def _count(self, value: Json) -> None:
        metrics = object_of(value.get(_METRICS))
        usage = object_of(value.get("usage"))
        read = _first(metrics.get("inputTokenCount"), value.get("inputTextTokenCount"), value.get("prompt_token_count"), usage.get("prompt_tokens"))
        written = _first(
            metrics.get("outputTokenCount"),
            value.get("totalOutputTextTokenCount"),
            value.get("generation_token_count"),
            usage.get("completion_tokens"),
        )
        if read is not None or written is not None:
            kept = clean(metrics or usage or None)
            self._writer.count(Usage(read, written, raw=kept if isinstance(kept, dict) else None))

    def _ended_well(self) -> bool:
        return self._stop_reason is not None

    def _missing(self) -> str:
        return "a stop reason"

    def _end(self) -> None:
        raw = self._stop_reason
        known: FinishReason = "unknown" if raw is None else FINISH.get(raw, "unknown")
        self._finish_with(known, raw, detail=self._detail)


def _first(*counts: object) -> int | None:
    return next((count for value in counts if (count := read_count(value)) is not None), None)
