"""A conversation as a neutral request. Rows OR-TYPE-02, OR-TM-06; AMB-26.

Who made an answer goes along with it (`Origin`), so the builders of the protocols send signatures and reasoning back to the same model only. Answers
that failed or were given up are left out, together with the results of their calls.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypedDict, Unpack

import headwater_codecs.neutral as n
from headwater.views.messages.packing import unpack
from headwater.views.messages.protocols import our_protocol
from headwater.views.messages.types import (
    REDACTED,
    AssistantMessage,
    Context,
    ImageContent,
    Message,
    ProviderItem,
    Said,
    Shown,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolDefinition,
    ToolResultMessage,
    UserMessage,
)
from headwater_codecs.neutral.request import Effort


class RequestFields(TypedDict, total=False):
    """What may be said of a request beside its model and its conversation: the fields of `Request`, by the same names."""

    tool_choice: str | None
    parallel_tool_calls: bool | None
    max_tokens: int | None
    temperature: float | None
    top_p: float | None
    top_k: int | None
    stop: str | Sequence[str] | None
    seed: int | None
    presence_penalty: float | None
    frequency_penalty: float | None
    logprobs: bool | None
    top_logprobs: int | None
    logit_bias: Mapping[str, float] | None
    response_format: Literal["text", "json"] | n.JsonSchema | None
    reasoning: Effort | n.Reasoning | None
    service_tier: str | None
    verbosity: str | None
    user: str | None
    store: bool | None
    metadata: Mapping[str, str] | None
    cache_key: str | None
    extra_body: Mapping[str, object]
    extra_headers: Mapping[str, str]
    timeouts: n.Timeouts | None


def to_request(model: n.Model | str, context: Context, **fields: Unpack[RequestFields]) -> n.Request:
    """The request that asks this model to go on with the conversation. Raises ConfigurationError for arguments that JSON does not know."""
    return n.Request(model=model, messages=tuple(_messages(context)), tools=tuple(map(_tool, context.tools)), **fields)


def _messages(context: Context) -> Iterator[n.Message]:
    if context.system_prompt:
        yield n.system(context.system_prompt)
    dropped: set[str] = set()  # ids of the calls of answers that are left out
    for message in context.messages:
        if isinstance(message, AssistantMessage):
            calls = {block.id for block in message.content if isinstance(block, ToolCall)}
            if message.stop_reason in ("error", "aborted"):
                dropped |= calls
                continue
            dropped -= calls
            if not message.items and all(isinstance(block, TextContent) and not block.text.strip() for block in message.content):
                continue  # an empty answer, which providers refuse (OR-CC-04, ISS-26)
        elif isinstance(message, ToolResultMessage) and message.tool_call_id in dropped:
            continue
        yield _message(message)


def _message(message: Message) -> n.Message:
    if isinstance(message, UserMessage):
        return n.Message("user", tuple(map(_shown, message.content)))
    if isinstance(message, ToolResultMessage):
        return n.tool_result(message.tool_call_id, tuple(map(_shown, message.content)), name=message.tool_name or None, is_error=message.is_error)
    parts: list[n.Part] = []
    items = list(message.items)
    for position, block in enumerate(message.content):
        while items and items[0].position <= position:
            parts.append(_opaque(items.pop(0)))
        parts.append(_said(block))
    parts += map(_opaque, items)
    origin = n.Origin(message.provider or None, our_protocol(message.protocol) or None, message.model or None, message.response_model)
    return n.Message("assistant", tuple(parts), origin=origin if origin != n.Origin() else None)


def _shown(content: Shown) -> n.TextPart | n.ImagePart:
    if isinstance(content, ImageContent):
        return n.ImagePart(data=content.data, media_type=content.mime_type)
    kept = unpack(content.text_signature)
    return n.TextPart(content.text, kept.signature, kept.meta)


def _said(block: Said) -> n.Part:
    if isinstance(block, TextContent):
        return _shown(block)
    if isinstance(block, ThinkingContent):
        kept = unpack(block.thinking_signature, redacted=block.redacted)
        text = "" if block.redacted and block.thinking == REDACTED else block.thinking
        return n.ReasoningPart(text, kept.signature, block.redacted, kept.data, kept.meta)
    kept = unpack(block.thought_signature)
    return n.ToolCallPart(block.id, block.name, _arguments(block), "function", block.complete, kept.signature, kept.meta)


def _arguments(call: ToolCall) -> str:
    try:
        return json.dumps(call.arguments, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise n.ConfigurationError(f"the arguments of call {call.id} ({call.name}) cannot be written as JSON: {error}") from error


def _opaque(item: ProviderItem) -> n.OpaquePart:
    return n.OpaquePart(item.kind, item.raw)


def _tool(tool: ToolDefinition) -> n.Tool:
    return n.Tool(tool.name, tool.description or None, tool.parameters, tool.strict)
