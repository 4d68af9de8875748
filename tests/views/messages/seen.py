"""Events of the messages view as short tuples, and the eager way to make what the view makes lazily."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence

import headwater as hw
from headwater.views import messages as m

NOW = 1_700_000_000_000


def writer(protocol: str = "openai-chat", *, provider: str = "prov", model: str = "model-1", **options: object) -> m.MessageWriter:
    """A writer for an answer of this model, at a fixed time."""
    response = hw.Response()
    response.protocol, response.provider, response.requested_model, response.request_id = protocol, provider, model, "req_1"
    return m.MessageWriter(response, now=lambda: NOW, **options)  # type: ignore[arg-type]


def read(protocol: str, data: bytes, content_type: str = "text/event-stream", **options: object) -> tuple[list[m.MessageEvent], m.AssistantMessage]:
    """What a body means to the view: its events, and the message."""
    view = writer(protocol, **options)
    events = view.feed(hw.decode_events(protocol, [data], content_type=content_type))
    assert view.over
    return events, view.message


def shown(events: Iterable[m.MessageEvent]) -> list[object]:
    """Each event as its type, its place and what it says."""
    return [_shown(event) for event in events]


def _shown(event: m.MessageEvent) -> object:
    if isinstance(event, m.Done):
        return ("done", event.message.stop_reason)
    if isinstance(event, m.Error):
        return ("error", event.message.stop_reason, event.message.error_message)
    if isinstance(event, m.Start):
        return "start"
    if isinstance(event, m.ToolCallEnd):
        call = event.tool_call
        return (event.type, event.content_index, call.id, call.name, call.arguments, *([] if call.complete else ["cut"]))
    if isinstance(event, m.ToolCallStart):
        return (event.type, event.content_index, event.tool_call.id, event.tool_call.name)
    if isinstance(event, m.TextEnd | m.ThinkingEnd):
        return (event.type, event.content_index, event.content)
    if isinstance(event, m.TextStart | m.ThinkingStart):
        return (event.type, event.content_index)
    return (event.type, event.content_index, event.delta)


def lawful(events: Sequence[m.MessageEvent]) -> None:
    """One start, one terminal; between them each block starts, grows and ends, at the next place of the content. Rows OR-EV-20, OR-EV-21."""
    assert isinstance(events[0], m.Start)
    assert isinstance(events[-1], m.Done | m.Error)
    states: list[str] = []
    for event in events[1:-1]:
        kind, _, step = event.type.rpartition("_")
        assert not isinstance(event, m.Start | m.Done | m.Error)
        if step == "start":
            assert event.content_index == len(states)
            states.append(kind)
        else:
            assert states[event.content_index] == kind
            if step == "end":
                states[event.content_index] = "over"
    if isinstance(events[-1], m.Done):
        assert set(states) <= {"over"}


def eagerly(batches: Iterable[Sequence[hw.Event]], **options: object) -> tuple[list[m.MessageEvent], list[m.AssistantMessage]]:
    """The events, and beside each a deep copy of the message that was made at once (OR-SW-03)."""
    view = writer(**options)  # type: ignore[arg-type]
    events: list[m.MessageEvent] = []
    copies: list[m.AssistantMessage] = []
    for batch in batches:
        for one in batch:
            for event in view.feed([one]):
                events.append(event)
                copies.append(copy.deepcopy(event.message if isinstance(event, m.Done | m.Error) else event.partial))
    return events, copies


def folded(events: Sequence[m.MessageEvent]) -> list[tuple[m.Said, ...]]:
    """The content after each event, from the events alone, by somebody who knows no drafts: lists that are changed, and copied each time."""
    content: list[dict[str, object]] = []
    seen: list[tuple[m.Said, ...]] = []
    for event in events:
        if isinstance(event, m.TextStart | m.ThinkingStart):
            content.append({"kind": event.type, "text": "", "end": None})
        elif isinstance(event, m.ToolCallStart):
            content.append({"kind": event.type, "text": "", "end": None, "call": event.tool_call})
        elif isinstance(event, m.TextDelta | m.ThinkingDelta):
            block = content[event.content_index]
            block["text"] = str(block["text"]) + event.delta
        elif isinstance(event, m.TextEnd | m.ThinkingEnd):
            content[event.content_index]["text"] = event.content
        elif isinstance(event, m.ToolCallEnd):
            content[event.content_index]["call"] = event.tool_call
        seen.append(tuple([_said(block) for block in copy.deepcopy(content)]))
    return seen


def _said(block: dict[str, object]) -> m.Said:
    if "call" in block:
        call = block["call"]
        assert isinstance(call, m.ToolCall)
        return call
    text = str(block["text"])
    return m.TextContent(text) if block["kind"] == "text_start" else m.ThinkingContent(text)


def unsigned(content: Iterable[m.Said]) -> tuple[m.Said, ...]:
    """The content without what only an end brings."""
    plain: list[m.Said] = []
    for block in content:
        if isinstance(block, m.TextContent):
            plain.append(m.TextContent(block.text))
        elif isinstance(block, m.ThinkingContent):
            plain.append(m.ThinkingContent(block.thinking))
        else:
            plain.append(block)
    return tuple(plain)
