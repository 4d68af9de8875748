"""Events to the bytes of a Gemini stream, for services that answer in that protocol: server-sent events, or one JSON array.

Blocks of a candidate come one after the other, so those that interleave are put in sequence. A call goes out whole, at its end. What this wire
cannot carry: refusal blocks (their text goes out as text); redacted reasoning and its data; `meta`, item ids; the free text of custom tools (it
becomes `{"input": text}`); cut calls, and calls whose arguments are no object (left out); opaque items that are no part of Gemini's (left out);
sources but as web addresses; the finish reasons `refusal` and `pause` (STOP), `error` (OTHER) and `unknown` (OTHER); other words for a reason than
its own; where one of two blocks of one kind ends; unknown counts (zero is left out on this wire).
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import Raw

from headwater_codecs.event_encoder import Handlers, Json, as_object, encode_json
from headwater_codecs.gemini.wire import decode_raw, part_kind
from headwater_codecs.neutral.errors import ErrorInfo
from headwater_codecs.neutral.events import (
    ChoiceEnd,
    Citation,
    Finish,
    OpaqueEnd,
    OpaqueStart,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    RefusalDelta,
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
from headwater_codecs.sequential_encoder import WholeCallEncoder

FINISH = {"stop": "STOP", "length": "MAX_TOKENS", "tool_calls": "STOP", "content_filter": "SAFETY", "refusal": "STOP", "pause": "STOP"}
# Error kind -> status of google.rpc, and the HTTP status that goes with it.
STATUS = {
    "auth": ("UNAUTHENTICATED", 401),
    "permission": ("PERMISSION_DENIED", 403),
    "not_found": ("NOT_FOUND", 404),
    "invalid_request": ("INVALID_ARGUMENT", 400),
    "context_overflow": ("INVALID_ARGUMENT", 400),
    "rate_limit": ("RESOURCE_EXHAUSTED", 429),
    "quota": ("RESOURCE_EXHAUSTED", 429),
    "overloaded": ("UNAVAILABLE", 503),
    "timeout": ("DEADLINE_EXCEEDED", 504),
}


class GeminiEncoder(WholeCallEncoder):
    """One answer as chunks; with `array` as the elements of one JSON array."""

    def __init__(self, *, model: str, id: str, created: int, array: bool = False) -> None:
        super().__init__(model=model, id=id, created=created)
        self._array = array
        self._chunks = 0
        self._choices: dict[int, int] = {}
        self._opaque: dict[int, OpaqueStart] = {}
        self._usage: Usage | None = None
        self._reasons: dict[int, str] = {}

    def _write(self, chunk: Json, out: list[bytes], last: bool = False) -> None:
        data = encode_json(chunk)
        if not self._array:
            out.append(b"data: %b\n\n" % data)
            return
        out.append((b"[" if self._chunks == 0 else b",\n") + data + (b"]" if last else b""))
        self._chunks += 1

    def _part(self, choice: int, part: Json | Raw, out: list[bytes]) -> None:
        candidate = {"content": {"role": "model", "parts": [part]}, "index": choice}
        self._write({"candidates": [candidate], "modelVersion": self.model, "responseId": self.id}, out)

    def _on_block_start(self, event: TextStart | ReasoningStart | RefusalStart, out: list[bytes]) -> None:
        self._choices[event.index] = event.choice

    def _on_text(self, event: TextDelta | RefusalDelta, out: list[bytes]) -> None:
        self._part(self._choices[event.index], {"text": event.text}, out)

    def _on_text_end(self, event: TextEnd, out: list[bytes]) -> None:
        if event.signature:
            self._part(self._choices[event.index], {"text": "", "thoughtSignature": event.signature}, out)

    def _on_reasoning(self, event: ReasoningDelta, out: list[bytes]) -> None:
        self._part(self._choices[event.index], {"text": event.text, "thought": True}, out)

    def _on_reasoning_end(self, event: ReasoningEnd, out: list[bytes]) -> None:
        if event.signature:
            self._part(self._choices[event.index], {"text": "", "thought": True, "thoughtSignature": event.signature}, out)

    def _on_call_end(self, event: ToolCallEnd, out: list[bytes]) -> None:
        start, args = self._whole_call(event)
        if args is None:
            return
        part: Json = {"functionCall": {"id": start.id, "name": start.name, "args": args}}
        if event.signature:
            part["thoughtSignature"] = event.signature
        self._part(start.choice, part, out)

    def _on_opaque_start(self, event: OpaqueStart, out: list[bytes]) -> None:
        self._opaque[event.index] = event

    def _on_opaque_end(self, event: OpaqueEnd, out: list[bytes]) -> None:
        start = self._opaque.pop(event.index)
        part = as_object(event.raw)
        if part is not None and part_kind(part) == start.kind and event.complete:
            written = part if b"\n" in event.raw or b"\r" in event.raw else Raw(event.raw)  # a frame ends with its line
            self._part(start.choice, written, out)

    def _on_citation(self, event: Citation, out: list[bytes]) -> None:
        if event.url is not None:
            web: Json = {"uri": event.url}
            if event.title:
                web["title"] = event.title
            candidate = {"index": event.choice, "groundingMetadata": {"groundingChunks": [{"web": web}]}}
            self._write({"candidates": [candidate], "modelVersion": self.model, "responseId": self.id}, out)

    def _on_usage(self, event: UsageUpdate, out: list[bytes]) -> None:
        self._usage = event.usage

    def _on_choice_end(self, event: ChoiceEnd, out: list[bytes]) -> None:
        self._reasons[event.choice] = FINISH.get(event.finish_reason, "OTHER")

    def _on_finish(self, event: Finish, out: list[bytes]) -> None:
        reasons = self._reasons or {0: FINISH.get(event.finish_reason, "OTHER")}
        candidates = []
        for choice in sorted(reasons):
            candidate: Json = {"finishReason": reasons[choice], "index": choice}
            if event.detail is not None and choice == 0:
                candidate["finishMessage"] = event.detail
            candidates.append(candidate)
        chunk: Json = {"candidates": candidates, "modelVersion": self.model, "responseId": self.id}
        if usage := event.usage or self._usage:
            chunk["usageMetadata"] = written_usage(usage)
        self._write(chunk, out, last=True)

    def _on_failed(self, event: StreamFailed, out: list[bytes]) -> None:
        self._write(_error(event.error), out, last=True)

    handlers: ClassVar[Handlers] = {
        TextStart: _on_block_start,
        ReasoningStart: _on_block_start,
        RefusalStart: _on_block_start,
        TextDelta: _on_text,
        RefusalDelta: _on_text,
        TextEnd: _on_text_end,
        ReasoningDelta: _on_reasoning,
        ReasoningEnd: _on_reasoning_end,
        ToolCallStart: WholeCallEncoder._on_call_start,
        ToolCallDelta: WholeCallEncoder._on_arguments,
        ToolCallEnd: _on_call_end,
        OpaqueStart: _on_opaque_start,
        OpaqueEnd: _on_opaque_end,
        Citation: _on_citation,
        UsageUpdate: _on_usage,
        ChoiceEnd: _on_choice_end,
        Finish: _on_finish,
        StreamFailed: _on_failed,
    }


def written_usage(usage: Usage) -> Json:
    """The counts; thoughts are counted beside the answer here."""
    thoughts = usage.reasoning_tokens or 0
    read, written = usage.input_tokens or 0, max(0, (usage.output_tokens or 0) - thoughts)
    counts: Json = {"promptTokenCount": read, "candidatesTokenCount": written, "totalTokenCount": read + written + thoughts}
    if usage.reasoning_tokens is not None:
        counts["thoughtsTokenCount"] = thoughts
    if usage.cached_input_tokens is not None:
        counts["cachedContentTokenCount"] = usage.cached_input_tokens
    return counts


def _error(error: ErrorInfo) -> Json:
    status, code = STATUS.get(error.kind, ("INTERNAL", 500))
    return {"error": {"code": code, "message": error.message, "status": status}}


def encode_error(error: ErrorInfo) -> bytes:
    """A failure in the protocol's own form."""
    return encode_json(_error(error))


def encode_response(response: Response, *, model: str, id: str, created: int) -> bytes:
    """The whole answer as one GenerateContentResponse; an error object where it failed."""
    if response.error is not None:
        return encode_error(response.error)
    from headwater_codecs.replay import events_of

    encoder = GeminiEncoder(model=model, id=id, created=created)
    lines = [line[6:] for line in encoder.feed(events_of(response)).split(b"\n\n") if line]
    chunks = [as_object(line) or {} for line in lines]
    candidates: dict[int, Json] = {}
    for chunk, line in zip(chunks, lines, strict=True):
        for candidate, raw in zip(chunk["candidates"], decode_raw(line).candidates or (), strict=True):
            if raw.content is not None:
                candidate["content"]["parts"] = raw.content.parts  # as they came
    for candidate in [candidate for chunk in chunks for candidate in chunk["candidates"]]:
        whole = candidates.setdefault(candidate["index"], {"content": {"role": "model", "parts": []}, "index": candidate["index"]})
        whole["content"]["parts"] += candidate.get("content", {}).get("parts", [])
        if (grounding := candidate.get("groundingMetadata")) is not None:
            kept = whole.setdefault("groundingMetadata", {"groundingChunks": []})
            kept["groundingChunks"] += grounding["groundingChunks"]
        whole.update({name: value for name, value in candidate.items() if name not in ("content", "groundingMetadata")})
    body: Json = {"candidates": [candidates[number] for number in sorted(candidates)], "modelVersion": model, "responseId": id}
    if "usageMetadata" in chunks[-1]:
        body["usageMetadata"] = chunks[-1]["usageMetadata"]
    return encode_json(body)
