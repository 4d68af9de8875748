"""Events to the lines of an Ollama answer, for services that answer in that protocol.

Blocks come one after the other, so those that interleave are put in sequence; a call goes out whole, at its end. What this wire cannot carry:
further choices (only choice 0 is written); refusal blocks (their text goes out as text); signatures, redacted reasoning, `meta`, item ids, opaque
items, citations; the free text of custom tools (it becomes `{"input": text}`); cut calls, and calls whose arguments are no object (left out); the
finish reasons but `stop`, `tool_calls` and `length` (stop); where one of two blocks of one kind ends; `Finish.detail`; counts but those of input and
output; the id of the answer; what kind of failure it was.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import ClassVar

from headwater_codecs.event_encoder import Handlers, Json, as_object, encode_json
from headwater_codecs.neutral.errors import ErrorInfo
from headwater_codecs.neutral.events import (
    Finish,
    ReasoningDelta,
    ReasoningStart,
    RefusalDelta,
    RefusalStart,
    StreamFailed,
    TextDelta,
    TextStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    UsageUpdate,
)
from headwater_codecs.neutral.response import Response
from headwater_codecs.neutral.usage import Usage
from headwater_codecs.sequential_encoder import WholeCallEncoder


class OllamaEncoder(WholeCallEncoder):
    """One answer as lines; see the module's text for what is left out."""

    def __init__(self, *, model: str, id: str, created: int) -> None:
        super().__init__(model=model, id=id, created=created)
        self._created_at = datetime.fromtimestamp(created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self._written: set[int] = set()  # blocks of choice 0
        self._usage: Usage | None = None

    def _line(self, message: Json, out: list[bytes], **more: object) -> None:
        line = {"model": self.model, "created_at": self._created_at, "message": {"role": "assistant", **message}, "done": False, **more}
        out.append(encode_json(line) + b"\n")

    def _on_block_start(self, event: TextStart | ReasoningStart | RefusalStart, out: list[bytes]) -> None:
        if not event.choice:
            self._written.add(event.index)

    def _on_text(self, event: TextDelta | RefusalDelta, out: list[bytes]) -> None:
        if event.index in self._written:
            self._line({"content": event.text}, out)

    def _on_reasoning(self, event: ReasoningDelta, out: list[bytes]) -> None:
        if event.index in self._written:
            self._line({"content": "", "thinking": event.text}, out)

    def _on_call_end(self, event: ToolCallEnd, out: list[bytes]) -> None:
        start, arguments = self._whole_call(event)
        if start.choice or arguments is None:
            return
        self._line({"content": "", "tool_calls": [{"id": start.id, "function": {"name": start.name, "arguments": arguments}}]}, out)

    def _on_usage(self, event: UsageUpdate, out: list[bytes]) -> None:
        self._usage = event.usage

    def _on_finish(self, event: Finish, out: list[bytes]) -> None:
        counts: Json = {}
        if usage := event.usage or self._usage:
            counts = {"prompt_eval_count": usage.input_tokens, "eval_count": usage.output_tokens}
        counts = {name: count for name, count in counts.items() if count is not None}
        self._line({"content": ""}, out, done=True, done_reason="length" if event.finish_reason == "length" else "stop", **counts)

    def _on_failed(self, event: StreamFailed, out: list[bytes]) -> None:
        out.append(encode_error(event.error) + b"\n")

    handlers: ClassVar[Handlers] = {
        TextStart: _on_block_start,
        ReasoningStart: _on_block_start,
        RefusalStart: _on_block_start,
        TextDelta: _on_text,
        RefusalDelta: _on_text,
        ReasoningDelta: _on_reasoning,
        ToolCallStart: WholeCallEncoder._on_call_start,
        ToolCallDelta: WholeCallEncoder._on_arguments,
        ToolCallEnd: _on_call_end,
        UsageUpdate: _on_usage,
        Finish: _on_finish,
        StreamFailed: _on_failed,
    }


def encode_error(error: ErrorInfo) -> bytes:
    """A failure in the protocol's own form."""
    return encode_json({"error": error.message})


def encode_response(response: Response, *, model: str, id: str, created: int) -> bytes:
    """The whole answer as one object; an error object where it failed."""
    if response.error is not None:
        return encode_error(response.error)
    from headwater_codecs.replay import events_of

    encoder = OllamaEncoder(model=model, id=id, created=created)
    lines = [as_object(line) or {} for line in encoder.feed(events_of(response)).splitlines()]
    message: Json = {"role": "assistant", "content": "".join([line["message"].get("content", "") for line in lines])}
    if thinking := "".join([line["message"].get("thinking", "") for line in lines]):
        message["thinking"] = thinking
    if calls := [call for line in lines for call in line["message"].get("tool_calls", [])]:
        message["tool_calls"] = calls
    return encode_json({**lines[-1], "message": message})
