"""Events to the bytes of a ConverseStream (binary AWS event stream), for services that answer in that protocol.

Blocks come one after the other, so those that interleave are put in sequence. What this wire cannot carry: further choices (only choice 0 is
written); refusal blocks (their text goes out as text); signatures of text and of calls; `meta`, item ids; the free text of custom tools (it becomes
`{"input": text}`); that a block was cut, unless the stream failed there (a call's arguments stop where they stop); opaque items and citations
(left out); the finish reasons `refusal`
(content_filtered), `pause` and `unknown` (end_turn), `error` (malformed_model_output); other words for a reason than its own; `Finish.detail`;
unknown counts (zero); reasoning tokens; the model and the id of the answer; error kinds beyond the five exceptions.
"""

from __future__ import annotations

from typing import ClassVar

from headwater_codecs.aws_event_stream import encode_message
from headwater_codecs.event_encoder import Handlers, Json, encode_json
from headwater_codecs.neutral.errors import ErrorInfo
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
    UsageUpdate,
)
from headwater_codecs.neutral.response import Response
from headwater_codecs.neutral.usage import Usage
from headwater_codecs.sequential_encoder import SequentialEncoder

STOP = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "content_filtered",
    "refusal": "content_filtered",
    "error": "malformed_model_output",
}
EXCEPTIONS = {
    "rate_limit": "throttlingException",
    "quota": "throttlingException",
    "overloaded": "serviceUnavailableException",
    "invalid_request": "validationException",
    "context_overflow": "validationException",
    "configuration": "validationException",
    "malformed": "modelStreamErrorException",
    "truncated": "modelStreamErrorException",
}


class ConverseEncoder(SequentialEncoder):
    """One answer as messages; see the module's text for what is left out."""

    def __init__(self, *, model: str, id: str, created: int) -> None:
        super().__init__(model=model, id=id, created=created)
        self._begun = False
        self._blocks: dict[int, int] = {}  # our index -> the wire's
        self._custom: dict[int, list[str]] = {}
        self._bare: set[int] = set()  # open blocks that have said nothing yet
        self._usage: Usage | None = None
        self._held = b""  # how the last block stops, where that was cut

    def _event(self, kind: str, payload: Json, out: list[bytes]) -> None:
        if self._held:
            out.append(self._held)
            self._held = b""
        out.append(_message(kind, payload))

    def _begin(self, out: list[bytes]) -> None:
        if not self._begun:
            self._begun = True
            self._event("messageStart", {"role": "assistant"}, out)

    def _on_start(self, event: StreamStart, out: list[bytes]) -> None:
        self._begin(out)

    def _on_block_start(self, event: TextStart | ReasoningStart | RefusalStart, out: list[bytes]) -> None:
        if not event.choice:
            self._begin(out)
            self._blocks[event.index] = len(self._blocks)
            self._bare.add(event.index)

    def _delta(self, index: int, delta: Json, out: list[bytes]) -> None:
        if index in self._blocks:
            self._bare.discard(index)
            self._event("contentBlockDelta", {"contentBlockIndex": self._blocks[index], "delta": delta}, out)

    def _stop(self, index: int, complete: bool, out: list[bytes]) -> None:
        """A block that was cut is stopped only when the answer goes on: behind a failure it must not look whole."""
        if index not in self._blocks:
            return
        if index in self._bare:
            self._delta(index, {"text": ""}, out)  # shows that the answer had gone on to this block
        stop = {"contentBlockIndex": self._blocks[index]}
        if complete:
            self._event("contentBlockStop", stop, out)
        else:
            out.append(self._held)
            self._held = _message("contentBlockStop", stop)

    def _on_text(self, event: TextDelta | RefusalDelta, out: list[bytes]) -> None:
        self._delta(event.index, {"text": event.text}, out)

    def _on_reasoning(self, event: ReasoningDelta, out: list[bytes]) -> None:
        self._delta(event.index, {"reasoningContent": {"text": event.text}}, out)

    def _on_end(self, event: TextEnd | RefusalEnd, out: list[bytes]) -> None:
        self._stop(event.index, event.complete, out)

    def _on_reasoning_end(self, event: ReasoningEnd, out: list[bytes]) -> None:
        if event.redacted and event.data is not None:
            self._delta(event.index, {"reasoningContent": {"redactedContent": event.data}}, out)
        elif event.signature is not None:
            self._delta(event.index, {"reasoningContent": {"signature": event.signature}}, out)
        self._stop(event.index, event.complete, out)

    def _on_call_start(self, event: ToolCallStart, out: list[bytes]) -> None:
        if event.choice:
            return
        self._begin(out)
        self._blocks[event.index] = len(self._blocks)
        if event.kind == "custom":
            self._custom[event.index] = []
        else:
            self._bare.add(event.index)
        start = {"toolUse": {"toolUseId": event.id, "name": event.name}}
        self._event("contentBlockStart", {"contentBlockIndex": self._blocks[event.index], "start": start}, out)

    def _on_arguments(self, event: ToolCallDelta, out: list[bytes]) -> None:
        if event.index in self._custom:
            self._custom[event.index].append(event.arguments)
        else:
            self._delta(event.index, {"toolUse": {"input": event.arguments}}, out)

    def _on_call_end(self, event: ToolCallEnd, out: list[bytes]) -> None:
        if event.index in self._custom:
            text = encode_json({"input": "".join(self._custom.pop(event.index))}).decode()
            self._delta(event.index, {"toolUse": {"input": text if event.complete else text[:-2]}}, out)
        elif event.index in self._bare:
            self._bare.discard(event.index)
            if event.complete:  # said, since behind an answer that was cut they would look missing
                self._delta(event.index, {"toolUse": {"input": "{}"}}, out)
        self._stop(event.index, event.complete, out)

    def _on_usage(self, event: UsageUpdate, out: list[bytes]) -> None:
        self._usage = event.usage

    def _on_finish(self, event: Finish, out: list[bytes]) -> None:
        self._begin(out)
        self._event("messageStop", {"stopReason": STOP.get(event.finish_reason, "end_turn")}, out)
        if usage := event.usage or self._usage:
            self._event("metadata", {"usage": written_usage(usage), "metrics": {"latencyMs": 0}}, out)

    def _on_failed(self, event: StreamFailed, out: list[bytes]) -> None:
        self._begin(out)
        out.append(encode_exception(event.error))

    handlers: ClassVar[Handlers] = {
        StreamStart: _on_start,
        TextStart: _on_block_start,
        ReasoningStart: _on_block_start,
        RefusalStart: _on_block_start,
        TextDelta: _on_text,
        RefusalDelta: _on_text,
        ReasoningDelta: _on_reasoning,
        TextEnd: _on_end,
        RefusalEnd: _on_end,
        ReasoningEnd: _on_reasoning_end,
        ToolCallStart: _on_call_start,
        ToolCallDelta: _on_arguments,
        ToolCallEnd: _on_call_end,
        UsageUpdate: _on_usage,
        Finish: _on_finish,
        StreamFailed: _on_failed,
    }


def _message(kind: str, payload: Json) -> bytes:
    return encode_message({":event-type": kind, ":content-type": "application/json", ":message-type": "event"}, encode_json(payload))


def written_usage(usage: Usage) -> Json:
    """The counts; what a cache gave or took is counted beside the input here."""
    cached, written = usage.cached_input_tokens or 0, usage.cache_write_tokens or 0
    read = max(0, (usage.input_tokens or 0) - cached - written)
    counts: Json = {"inputTokens": read, "outputTokens": usage.output_tokens or 0}
    counts["totalTokens"] = read + cached + written + counts["outputTokens"]
    if usage.cached_input_tokens is not None:
        counts["cacheReadInputTokens"] = cached
    if usage.cache_write_tokens is not None:
        counts["cacheWriteInputTokens"] = written
    return counts


def encode_exception(error: ErrorInfo) -> bytes:
    """A failure as the last message of a stream of Bedrock's."""
    headers = {":exception-type": EXCEPTIONS.get(error.kind, "internalServerException"), ":content-type": "application/json"}
    return encode_message({**headers, ":message-type": "exception"}, encode_error(error))


def encode_error(error: ErrorInfo) -> bytes:
    """A failure as the payload of an exception, or as the body of an HTTP error."""
    return encode_json({"message": error.message})


def error_headers(error: ErrorInfo) -> dict[str, str]:
    """Where an HTTP error of Amazon's names its kind: the body has the message alone."""
    name = EXCEPTIONS.get(error.kind, "internalServerException")
    return {"x-amzn-errortype": name[0].upper() + name[1:]}


def encode_response(response: Response, *, model: str, id: str, created: int) -> bytes:
    """The whole answer as one body of Converse; an error object where it failed."""
    if response.error is not None:
        return encode_error(response.error)
    content: list[Json] = []
    for block in response.blocks:
        if block.kind in ("text", "refusal") and block.text:
            content.append({"text": block.text})
        elif block.kind == "reasoning" and block.redacted:
            content.append({"reasoningContent": {"redactedContent": block.data or ""}})
        elif block.kind == "reasoning":
            text: Json = {"text": block.text}
            if block.signature is not None:
                text["signature"] = block.signature
            content.append({"reasoningContent": {"reasoningText": text}})
        elif block.kind == "tool_call" and block.complete:
            call = block.call
            given = {"input": call.arguments} if call.kind == "custom" else call.input
            content.append({"toolUse": {"toolUseId": call.id, "name": call.name, "input": given}})
    body: Json = {"output": {"message": {"role": "assistant", "content": content}}, "stopReason": STOP.get(response.finish_reason or "", "end_turn")}
    body["usage"] = written_usage(response.usage or Usage())
    return encode_json({**body, "metrics": {"latencyMs": 0}})
