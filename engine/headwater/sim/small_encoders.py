"""Encoders that only the simulator needs: cohere-chat, openai-text, openai-assistants, and what bedrock-invoke packs. Choice 0, text and calls."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import ClassVar

from headwater_codecs.anthropic_messages.encode import MessagesEncoder
from headwater_codecs.aws_event_stream import encode_message
from headwater_codecs.event_encoder import EventEncoder, Handlers, Json, encode_json
from headwater_codecs.neutral.errors import ErrorInfo
from headwater_codecs.neutral.events import (
    ChoiceEnd,
    Event,
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

_COHERE = {"stop": "COMPLETE", "length": "MAX_TOKENS", "tool_calls": "TOOL_CALL", "content_filter": "ERROR_TOXIC"}
_INCOMPLETE = {"length": "max_completion_tokens", "content_filter": "content_filter"}


def _sse(value: Json, event: str | None = None) -> bytes:
    head = b"" if event is None else b"event: %b\n" % event.encode()
    return head + b"data: %b\n\n" % encode_json(value)


class _OneChoice(EventEncoder):
    """Says choice 0 only, since its wire has no place for others."""

    def __init__(self, *, model: str, id: str, created: int) -> None:
        super().__init__(model=model, id=id, created=created)
        self._others: set[int] = set()  # the blocks of other choices

    def feed(self, events: Iterable[Event], /) -> bytes:
        """The bytes of these events."""
        return super().feed([event for event in events if self._is_said(event)])

    def _is_said(self, event: Event) -> bool:
        index = getattr(event, "index", None)
        if getattr(event, "choice", 0):
            self._others.add(index or 0)
            return False
        return index not in self._others


class CohereEncoder(_OneChoice):
    """The events of Cohere's chat, version 2."""

    def _event(self, kind: str, index: int | None, message: Json, out: list[bytes]) -> None:
        value: Json = {"type": kind, "delta": {"message": message}}
        out.append(_sse({**value, "index": index} if index is not None else value, kind))

    def _start(self, event: StreamStart, out: list[bytes]) -> None:
        message = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
        out.append(_sse({"id": self.id, "type": "message-start", "delta": {"message": message}}, "message-start"))

    def _text_start(self, event: TextStart | RefusalStart, out: list[bytes]) -> None:
        self._event("content-start", event.index, {"content": {"type": "text", "text": ""}}, out)

    def _reasoning_start(self, event: ReasoningStart, out: list[bytes]) -> None:
        self._event("content-start", event.index, {"content": {"type": "thinking", "thinking": ""}}, out)

    def _text(self, event: TextDelta | RefusalDelta, out: list[bytes]) -> None:
        self._event("content-delta", event.index, {"content": {"text": event.text}}, out)

    def _reasoning(self, event: ReasoningDelta, out: list[bytes]) -> None:
        self._event("content-delta", event.index, {"content": {"thinking": event.text}}, out)

    def _text_end(self, event: TextEnd, out: list[bytes]) -> None:
        out.append(_sse({"type": "content-end", "index": event.index}, "content-end"))

    def _call_start(self, event: ToolCallStart, out: list[bytes]) -> None:
        call = {"id": event.id, "type": "function", "function": {"name": event.name, "arguments": ""}}
        self._event("tool-call-start", event.index, {"tool_calls": call}, out)

    def _arguments(self, event: ToolCallDelta, out: list[bytes]) -> None:
        self._event("tool-call-delta", event.index, {"tool_calls": {"function": {"arguments": event.arguments}}}, out)

    def _call_end(self, event: ToolCallEnd, out: list[bytes]) -> None:
        out.append(_sse({"type": "tool-call-end", "index": event.index}, "tool-call-end"))

    def _finish(self, event: Finish, out: list[bytes]) -> None:
        delta: Json = {"finish_reason": _COHERE.get(event.finish_reason, "COMPLETE")}
        if (usage := event.usage) is not None:
            counts = {"input_tokens": usage.input_tokens or 0, "output_tokens": usage.output_tokens or 0}
            delta["usage"] = {"billed_units": counts, "tokens": counts}
        out.append(_sse({"type": "message-end", "delta": delta}, "message-end"))

    def _fail(self, event: StreamFailed, out: list[bytes]) -> None:
        out.append(_sse({"type": "message-end", "delta": {"finish_reason": "ERROR", "error": event.error.message}}, "message-end"))

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
        out.append(_sse(chunk))

    def _start(self, event: TextStart, out: list[bytes]) -> None:
        self._choices[event.index] = event.choice

    def _text(self, event: TextDelta, out: list[bytes]) -> None:
        self._chunk([{"text": event.text, "index": self._choices[event.index], "logprobs": None, "finish_reason": None}], out)

    def _choice_end(self, event: ChoiceEnd, out: list[bytes]) -> None:
        reason = "length" if event.finish_reason == "length" else "stop"
        self._chunk([{"text": "", "index": event.choice, "logprobs": None, "finish_reason": reason}], out)

    def _finish(self, event: Finish, out: list[bytes]) -> None:
        if (usage := event.usage) is not None:
            read, written = usage.input_tokens or 0, usage.output_tokens or 0
            self._chunk([], out, usage={"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written})
        out.append(b"data: [DONE]\n\n")

    def _fail(self, event: StreamFailed, out: list[bytes]) -> None:
        out.append(_sse({"error": {"message": event.error.message, "type": "server_error", "param": None, "code": None}}))

    handlers: ClassVar[Handlers] = {TextStart: _start, TextDelta: _text, ChoiceEnd: _choice_end, Finish: _finish, StreamFailed: _fail}


class AssistantsEncoder(_OneChoice):
    """The events of a run: one message, or calls that require an action."""

    def __init__(self, *, model: str, id: str, created: int) -> None:
        super().__init__(model=model, id=id, created=created)
        self._calls: dict[int, tuple[ToolCallStart, list[str]]] = {}

    def _run(self, status: str, out: list[bytes], **more: object) -> None:
        run = {"id": self.id, "object": "thread.run", "created_at": self.created, "model": self.model, "thread_id": "thread_sim", "status": status}
        out.append(_sse({**run, **more}, f"thread.run.{status}"))

    def _start(self, event: StreamStart, out: list[bytes]) -> None:
        out.append(_sse({"id": self.id, "object": "thread.run", "model": self.model, "status": "queued"}, "thread.run.created"))
        self._run("in_progress", out)

    def _text(self, event: TextDelta | RefusalDelta, out: list[bytes]) -> None:
        content = [{"index": event.index, "type": "text", "text": {"value": event.text}}]
        value = {"id": f"msg_{self.id}", "object": "thread.message.delta", "delta": {"content": content}}
        out.append(_sse(value, "thread.message.delta"))

    def _call_start(self, event: ToolCallStart, out: list[bytes]) -> None:
        self._calls[event.index] = (event, [])

    def _arguments(self, event: ToolCallDelta, out: list[bytes]) -> None:
        self._calls[event.index][1].append(event.arguments)

    def _finish(self, event: Finish, out: list[bytes]) -> None:
        usage: Json | None = None
        if event.usage is not None:
            read, written = event.usage.input_tokens or 0, event.usage.output_tokens or 0
            usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
        if self._calls:
            calls = [
                {"id": start.id, "type": "function", "function": {"name": start.name, "arguments": "".join(pieces) or "{}"}}
                for start, pieces in self._calls.values()
            ]
            action = {"type": "submit_tool_outputs", "submit_tool_outputs": {"tool_calls": calls}}
            self._run("requires_action", out, required_action=action, usage=usage)
        elif (reason := _INCOMPLETE.get(event.finish_reason)) is not None:
            self._run("incomplete", out, incomplete_details={"reason": reason}, usage=usage)
        else:
            self._run("completed", out, usage=usage)
        out.append(b"event: done\ndata: [DONE]\n\n")

    def _fail(self, event: StreamFailed, out: list[bytes]) -> None:
        self._run("failed", out, last_error={"code": "server_error", "message": event.error.message})

    handlers: ClassVar[Handlers] = {
        StreamStart: _start,
        TextDelta: _text,
        RefusalDelta: _text,
        ToolCallStart: _call_start,
        ToolCallDelta: _arguments,
        Finish: _finish,
        StreamFailed: _fail,
    }


class InvokeEncoder:
    """Anthropic's events, each packed into a message of the AWS event stream."""

    def __init__(self, *, model: str, id: str, created: int) -> None:
        self._inner = MessagesEncoder(model=model, id=id, created=created)

    def feed(self, events: Iterable[Event], /) -> bytes:
        """The bytes of these events."""
        return _packed(self._inner.feed(events))

    def finish(self) -> bytes:
        """Nothing more comes."""
        return _packed(self._inner.finish())


def _packed(events: bytes) -> bytes:
    out = b""
    for frame in events.split(b"\n\n"):
        _, found, data = frame.partition(b"data: ")
        if found:
            headers = {":event-type": "chunk", ":content-type": "application/json", ":message-type": "event"}
            out += encode_message(headers, encode_json({"bytes": base64.b64encode(data).decode()}))
    return out


def encode_cohere_error(error: ErrorInfo) -> bytes:
    """A failure in Cohere's own form."""
    return encode_json({"id": "sim", "message": error.message})
