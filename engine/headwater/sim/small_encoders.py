"""Encoders that only the simulator needs, as streams and whole: cohere-chat and openai-text."""

from __future__ import annotations

from typing import ClassVar

from headwater.sim.one_choice import OneChoice, sse
from headwater_codecs.event_encoder import EventEncoder, Handlers, Json, encode_json
from headwater_codecs.neutral import ErrorInfo, FinishReason, Response, Usage
from headwater_codecs.neutral.events import (
    ChoiceEnd,
    Finish,
    ReasoningDelta,
    ReasoningStart,
    RefusalDelta,
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
from headwater_codecs.openai_chat.encode import encode_error
from headwater_codecs.openai_chat.encode_wire import written_usage

_COHERE = {"stop": "COMPLETE", "length": "MAX_TOKENS", "tool_calls": "TOOL_CALL", "content_filter": "ERROR_TOXIC"}


class CohereEncoder(OneChoice):
    """The events of Cohere's chat, version 2."""

    def _event(self, kind: str, index: int | None, message: Json, out: list[bytes]) -> None:
        value: Json = {"type": kind, "delta": {"message": message}}
        out.append(sse({**value, "index": index} if index is not None else value, kind))

    def _start(self, event: StreamStart, out: list[bytes]) -> None:
        message = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
        out.append(sse({"id": self.id, "type": "message-start", "delta": {"message": message}}, "message-start"))

    def _text_start(self, event: TextStart | RefusalStart, out: list[bytes]) -> None:
        self._event("content-start", event.index, {"content": {"type": "text", "text": ""}}, out)

    def _reasoning_start(self, event: ReasoningStart, out: list[bytes]) -> None:
        self._event("content-start", event.index, {"content": {"type": "thinking", "thinking": ""}}, out)

    def _text(self, event: TextDelta | RefusalDelta, out: list[bytes]) -> None:
        self._event("content-delta", event.index, {"content": {"text": event.text}}, out)

    def _reasoning(self, event: ReasoningDelta, out: list[bytes]) -> None:
        self._event("content-delta", event.index, {"content": {"thinking": event.text}}, out)

    def _text_end(self, event: TextEnd, out: list[bytes]) -> None:
        out.append(sse({"type": "content-end", "index": event.index}, "content-end"))

    def _call_start(self, event: ToolCallStart, out: list[bytes]) -> None:
        call = {"id": event.id, "type": "function", "function": {"name": event.name, "arguments": ""}}
        self._event("tool-call-start", event.index, {"tool_calls": call}, out)

    def _arguments(self, event: ToolCallDelta, out: list[bytes]) -> None:
        self._event("tool-call-delta", event.index, {"tool_calls": {"function": {"arguments": event.arguments}}}, out)

    def _call_end(self, event: ToolCallEnd, out: list[bytes]) -> None:
        out.append(sse({"type": "tool-call-end", "index": event.index}, "tool-call-end"))

    def _finish(self, event: Finish, out: list[bytes]) -> None:
        delta = {"finish_reason": _COHERE.get(event.finish_reason, "COMPLETE"), **_cohere_usage(event.usage)}
        out.append(sse({"type": "message-end", "delta": delta}, "message-end"))

    def _fail(self, event: StreamFailed, out: list[bytes]) -> None:
        out.append(sse({"type": "message-end", "delta": {"finish_reason": "ERROR", "error": event.error.message}}, "message-end"))

    handlers: ClassVar[Handlers] = {
        StreamStart: _start,
        TextStart: _text_start,
        RefusalStart: _text_start,
        ReasoningStart: _reasoning_start,
        TextDelta: _text,
        RefusalDelta: _text,
        ReasoningDelta: _reasoning,
        TextEnd: _text_end,
        ToolCallStart: _call_start,
        ToolCallDelta: _arguments,
        ToolCallEnd: _call_end,
        Finish: _finish,
        StreamFailed: _fail,
    }


class TextEncoder(EventEncoder):
    """The chunks of a legacy completion."""

    def __init__(self, *, model: str, id: str, created: int) -> None:
        super().__init__(model=model, id=id, created=created)
        self._choices: dict[int, int] = {}

    def _chunk(self, choices: list[Json], out: list[bytes], **more: object) -> None:
        chunk = {"id": self.id, "object": "text_completion", "created": self.created, "model": self.model, "choices": choices, **more}
        out.append(sse(chunk))

    def _start(self, event: TextStart, out: list[bytes]) -> None:
        self._choices[event.index] = event.choice

    def _text(self, event: TextDelta, out: list[bytes]) -> None:
        self._chunk([{"text": event.text, "index": self._choices[event.index], "logprobs": None, "finish_reason": None}], out)

    def _choice_end(self, event: ChoiceEnd, out: list[bytes]) -> None:
        self._chunk([{"text": "", "index": event.choice, "logprobs": None, "finish_reason": _text_reason(event.finish_reason)}], out)

    def _finish(self, event: Finish, out: list[bytes]) -> None:
        if (usage := event.usage) is not None:
            self._chunk([], out, usage=written_usage(usage))
        out.append(b"data: [DONE]\n\n")

    def _fail(self, event: StreamFailed, out: list[bytes]) -> None:
        out.append(b"data: %b\n\n" % encode_error(event.error))

    handlers: ClassVar[Handlers] = {TextStart: _start, TextDelta: _text, ChoiceEnd: _choice_end, Finish: _finish, StreamFailed: _fail}


def encode_cohere_error(error: ErrorInfo) -> bytes:
    """A failure in Cohere's own form."""
    return encode_json({"id": "sim", "message": error.message})


def encode_cohere(response: Response, *, model: str, id: str, created: int) -> bytes:
    """A whole answer of Cohere's; calls that were cut are left out."""
    content: list[Json] = []
    for block in response.blocks:
        if block.kind == "reasoning":
            content.append({"type": "thinking", "thinking": block.text})
        elif block.kind in ("text", "refusal"):
            content.append({"type": "text", "text": block.text})
    message: Json = {"role": "assistant", **({"content": content} if content else {})}
    calls = [call for call in response.tool_calls if call.complete]
    if calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments or "{}"}} for call in calls
        ]
    reason = _COHERE.get(response.finish_reason or "", "COMPLETE")
    return encode_json({"id": id, "finish_reason": reason, "message": message, **_cohere_usage(response.usage)})


def _cohere_usage(usage: Usage | None) -> Json:
    if usage is None:
        return {}
    counts = {"input_tokens": usage.input_tokens or 0, "output_tokens": usage.output_tokens or 0}
    return {"usage": {"billed_units": counts, "tokens": counts}}


def encode_text(response: Response, *, model: str, id: str, created: int) -> bytes:
    """A whole legacy completion."""
    choices = [
        {"text": choice.text, "index": choice.index, "logprobs": None, "finish_reason": _text_reason(choice.finish_reason)}
        for choice in response.choices
    ]
    usage = {} if response.usage is None else {"usage": written_usage(response.usage)}
    return encode_json({"id": id, "object": "text_completion", "created": created, "model": model, "choices": choices, **usage})


def _text_reason(reason: FinishReason | None) -> str:
    return reason if reason in ("length", "content_filter") else "stop"
