"""A whole answer as the events that would have brought it, for encoders that write answers that were not streamed."""

from __future__ import annotations

from msgspec.structs import replace

from headwater_codecs.neutral.events import (
    ChoiceEnd,
    Event,
    Finish,
    OpaqueEnd,
    OpaqueStart,
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
from headwater_codecs.neutral.response import Block, Response


def events_of(response: Response) -> list[Event]:
    """The events of an answer, its choices one after the other, block after block."""
    events: list[Event] = [StreamStart(response.model, response.response_id, response.provider)]
    index = 0
    for choice in response.choices:
        for block in choice.blocks:
            events += _block(block, index, choice.index)
            index += 1
    if response.error is not None:
        return [*events, StreamFailed(response.error, response.raw_finish_reason, response.usage)]
    events += [ChoiceEnd(choice.index, choice.finish_reason or "unknown", choice.raw_finish_reason) for choice in response.choices]
    return [*events, Finish(response.finish_reason or "unknown", response.raw_finish_reason, response.usage, response.detail)]


def _block(block: Block, index: int, choice: int) -> list[Event]:
    text, item = block.text, block.item_id
    cited: list[Event] = [replace(citation, index=index, choice=choice) for citation in block.citations]
    if block.kind == "text":
        deltas: list[Event] = [TextDelta(index, text)] if text else []
        return [TextStart(index, choice, item), *deltas, *cited, TextEnd(index, block.complete, block.signature, block.meta)]
    if block.kind == "reasoning":
        deltas = [ReasoningDelta(index, text)] if text else []
        end = ReasoningEnd(index, block.complete, block.signature, block.redacted, block.data, block.meta)
        return [ReasoningStart(index, choice, item), *deltas, *cited, end]
    if block.kind == "refusal":
        return [RefusalStart(index, choice, item), *([RefusalDelta(index, text)] if text else []), RefusalEnd(index, block.complete)]
    if block.kind == "tool_call":
        deltas = [ToolCallDelta(index, text)] if text else []
        start = ToolCallStart(index, block.id, block.name, choice, item, block.arguments_kind)
        return [start, *deltas, ToolCallEnd(index, block.complete, block.signature, block.meta)]
    return [OpaqueStart(index, block.opaque_kind, choice, item), OpaqueEnd(index, block.complete, block.raw)]
