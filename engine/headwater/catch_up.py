"""The events that a late listener is given first: the aggregate so far as one merged batch, lawful like the live stream."""

from __future__ import annotations

from collections.abc import Sequence

from headwater_codecs.neutral import (
    Block,
    ChoiceEnd,
    Event,
    OpaqueEnd,
    OpaqueStart,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    RefusalDelta,
    RefusalEnd,
    RefusalStart,
    Response,
    StreamStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    UsageUpdate,
)


def catch_up(response: Response) -> list[Event]:
    """The response as events, without the terminal: each block as a start, one delta and, if it is closed, its end."""
    events: list[Event] = [StreamStart(response.model, response.response_id, response.provider)]
    blocks = sorted((block for choice in response.choices for block in choice.blocks), key=lambda block: block.index)
    for block in blocks:
        events += _block(block)
    if response.usage is not None:
        events.append(UsageUpdate(response.usage))
    events += [
        ChoiceEnd(choice.index, choice.finish_reason, choice.raw_finish_reason) for choice in response.choices if choice.finish_reason is not None
    ]
    return events


def _block(block: Block) -> Sequence[Event]:
    start, delta, end = _EVENTS[block.kind](block)
    events: list[Event] = [start]
    if delta is not None:
        events.append(delta)
    events += block.citations
    if block.closed:
        events.append(end)
    return events


def _text(block: Block) -> tuple[Event, Event | None, Event]:
    delta = TextDelta(block.index, block.text) if block.text else None
    return TextStart(block.index, block.choice, block.item_id), delta, TextEnd(block.index, block.complete, block.signature, block.meta)


def _reasoning(block: Block) -> tuple[Event, Event | None, Event]:
    delta = ReasoningDelta(block.index, block.text) if block.text else None
    end = ReasoningEnd(block.index, block.complete, block.signature, block.redacted, block.data, block.meta)
    return ReasoningStart(block.index, block.choice, block.item_id), delta, end


def _refusal(block: Block) -> tuple[Event, Event | None, Event]:
    delta = RefusalDelta(block.index, block.text) if block.text else None
    return RefusalStart(block.index, block.choice, block.item_id), delta, RefusalEnd(block.index, block.complete)


def _tool_call(block: Block) -> tuple[Event, Event | None, Event]:
    delta = ToolCallDelta(block.index, block.text) if block.text else None
    start = ToolCallStart(block.index, block.id, block.name, block.choice, block.item_id, block.arguments_kind)
    return start, delta, ToolCallEnd(block.index, block.complete, block.signature, block.meta)


def _opaque(block: Block) -> tuple[Event, Event | None, Event]:
    return OpaqueStart(block.index, block.opaque_kind, block.choice, block.item_id), None, OpaqueEnd(block.index, block.complete, block.raw)


_EVENTS = {"text": _text, "reasoning": _reasoning, "refusal": _refusal, "tool_call": _tool_call, "opaque": _opaque}
