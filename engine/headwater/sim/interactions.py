"""Google's Interactions as the simulator writes them: steps that start, grow and stop, or one interaction as a whole."""

from __future__ import annotations

from typing import ClassVar

from headwater.sim.one_choice import OneChoice, sse
from headwater_codecs.event_encoder import Handlers, Json, encode_json
from headwater_codecs.neutral import ErrorInfo, Response, Usage
from headwater_codecs.neutral.events import (
    Finish,
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

_STATUS = {"length": "incomplete", "tool_calls": "requires_action"}
_CODES = {
    "auth": "unauthenticated",
    "permission": "permission_denied",
    "not_found": "not_found",
    "invalid_request": "invalid_request",
    "rate_limit": "rate_limit_exceeded",
    "quota": "resource_exhausted",
    "overloaded": "service_unavailable",
    "timeout": "deadline_exceeded",
}


class InteractionsEncoder(OneChoice):
    """The events of an interaction."""

    def _event(self, kind: str, value: Json, out: list[bytes]) -> None:
        out.append(sse({"event_type": kind, **value}, kind))

    def _life(self, status: str, **more: object) -> Json:
        return {"interaction": {"id": self.id, "object": "interaction", "model": self.model, "status": status, **more}}

    def _start(self, event: StreamStart, out: list[bytes]) -> None:
        self._event("interaction.created", self._life("in_progress"), out)

    def _step(self, index: int, step: Json, out: list[bytes]) -> None:
        self._event("step.start", {"index": index, "step": step}, out)

    def _delta(self, index: int, delta: Json, out: list[bytes]) -> None:
        self._event("step.delta", {"index": index, "delta": delta}, out)

    def _text_start(self, event: TextStart | RefusalStart, out: list[bytes]) -> None:
        self._step(event.index, {"type": "model_output"}, out)

    def _thought_start(self, event: ReasoningStart, out: list[bytes]) -> None:
        self._step(event.index, {"type": "thought"}, out)

    def _call_start(self, event: ToolCallStart, out: list[bytes]) -> None:
        self._step(event.index, {"type": "function_call", "id": event.id, "name": event.name, "arguments": {}}, out)

    def _text(self, event: TextDelta | RefusalDelta, out: list[bytes]) -> None:
        self._delta(event.index, {"type": "text", "text": event.text}, out)

    def _thought(self, event: ReasoningDelta, out: list[bytes]) -> None:
        self._delta(event.index, {"type": "thought_summary", "content": {"type": "text", "text": event.text}}, out)

    def _arguments(self, event: ToolCallDelta, out: list[bytes]) -> None:
        self._delta(event.index, {"type": "arguments_delta", "arguments": event.arguments}, out)

    def _stop(self, event: TextEnd | ReasoningEnd | RefusalEnd | ToolCallEnd, out: list[bytes]) -> None:
        if isinstance(event, ReasoningEnd) and event.signature is not None:
            self._delta(event.index, {"type": "thought_signature", "signature": event.signature}, out)
        self._event("step.stop", {"index": event.index}, out)

    def _finish(self, event: Finish, out: list[bytes]) -> None:
        usage = {} if event.usage is None else {"usage": written_usage(event.usage)}
        self._event("interaction.completed", self._life(_STATUS.get(event.finish_reason, "completed"), **usage), out)
        out.append(b"event: done\ndata: [DONE]\n\n")

    def _fail(self, event: StreamFailed, out: list[bytes]) -> None:
        self._event("error", {"error": _error(event.error)}, out)

    handlers: ClassVar[Handlers] = {
        StreamStart: _start,
        TextStart: _text_start,
        RefusalStart: _text_start,
        ReasoningStart: _thought_start,
        ToolCallStart: _call_start,
        TextDelta: _text,
        RefusalDelta: _text,
        ReasoningDelta: _thought,
        ToolCallDelta: _arguments,
        **dict.fromkeys((TextEnd, ReasoningEnd, RefusalEnd, ToolCallEnd), _stop),
        Finish: _finish,
        StreamFailed: _fail,
    }


def written_usage(usage: Usage) -> Json:
    """The counts; what was thought is counted beside the output here."""
    thought = usage.reasoning_tokens or 0
    read, written = usage.input_tokens or 0, max(0, (usage.output_tokens or 0) - thought)
    counts: Json = {"total_input_tokens": read, "total_output_tokens": written, "total_tokens": read + written + thought}
    if usage.reasoning_tokens is not None:
        counts["total_thought_tokens"] = thought
    if usage.cached_input_tokens is not None:
        counts["total_cached_tokens"] = usage.cached_input_tokens
    return counts


def encode_interaction(response: Response, *, model: str, id: str, created: int) -> bytes:
    """The whole answer as one interaction; calls that were cut are left out."""
    steps: list[Json] = []
    for block in response.blocks:
        said = [{"type": "text", "text": block.text}] if block.text else []
        if block.kind == "tool_call" and block.complete:
            steps.append({"type": "function_call", "id": block.id, "name": block.name, "arguments": block.call.input})
        elif block.kind == "reasoning":
            steps.append({"type": "thought", "summary": said, **({"signature": block.signature} if block.signature else {})})
        elif block.kind in ("text", "refusal") and said:
            steps.append({"type": "model_output", "content": said})
    status = _STATUS.get(response.finish_reason or "", "completed")
    body: Json = {"id": id, "object": "interaction", "model": model, "status": status, "role": "model", "steps": steps}
    return encode_json(body if response.usage is None else {**body, "usage": written_usage(response.usage)})


def encode_interaction_error(error: ErrorInfo) -> bytes:
    """A failure as the body of an HTTP error."""
    return encode_json({"error": _error(error)})


def _error(error: ErrorInfo) -> Json:
    return {"code": _CODES.get(error.kind, "internal_error"), "message": error.message}
