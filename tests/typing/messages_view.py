"""Typical uses of the messages view, as a type checker sees them: checked by mypy, never run."""

from __future__ import annotations

from typing import assert_type

import headwater as hw
from headwater.views import messages as m


def price(usage: m.Usage) -> m.Cost | None:
    """A price for what is known."""
    return None if usage.input is None else m.Cost(usage.input * 1e-6, 0.0, 0.0, 0.0, usage.input * 1e-6)


async def every_event(engine: hw.Engine, context: m.Context) -> m.AssistantMessage:
    """Events are told apart by their type or their class."""
    async with m.stream(engine, "openai/gpt-4o-mini", context, cost=price, temperature=0.0, reasoning="low", parity=m.Parity()) as answer:
        async for event in answer:
            assert_type(event, m.MessageEvent)
            if event.type == "text_delta":
                assert_type(event, m.TextDelta)
                assert_type(event.delta, str)
                assert_type(event.partial, m.AssistantMessage)
            elif event.type == "toolcall_delta":
                assert_type(event.parsed_so_far, dict[str, object])
            match event:
                case m.ToolCallEnd():
                    assert_type(event.tool_call, m.ToolCall)
                case m.Done():
                    assert_type(event.message, m.AssistantMessage)
                case m.Error():
                    assert_type(event.error, hw.HeadwaterError)
                case _:
                    pass
    assert_type(answer.message.stop_reason, m.StopReason | None)
    return answer.message


async def a_loop(engine: hw.Engine, context: m.Context) -> m.Context:
    """Calls, checked, and their results."""
    message = await m.complete(engine, hw.Model("gpt-4o-mini", provider="openai"), context, raise_on_error=False)
    context = context.with_messages(message)
    for call in message.tool_calls():
        arguments = m.check_arguments(call, context.tools)
        context = context.with_messages(m.tool_result(call, str(arguments), m.ImageContent("aGk=", "image/png")))
    return m.decode_context(m.encode(context))


def what_may_stand_where() -> None:
    """Each of these is an error of its own (OR-TYPE-04)."""
    m.user(m.ThinkingContent("no"))  # type: ignore[arg-type]  # the user does not think
    m.UserMessage((m.ToolCall("c", "f"),))  # type: ignore[arg-type]  # nor call
    m.AssistantMessage((m.ImageContent("aGk=", "image/png"),))  # type: ignore[arg-type]  # a model shows no images
    m.ToolResultMessage("c", "f", (m.ToolCall("c", "f"),))  # type: ignore[arg-type]  # a tool calls nobody
