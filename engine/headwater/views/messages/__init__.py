"""The view in the shape of or's `llm`: messages with content blocks in, `start`, `*_start`, `*_delta`, `*_end` and `done` or `error` out.

from headwater.views import messages

async with hw.Engine() as engine:
    async with messages.stream(engine, "anthropic/claude-sonnet-4-5", messages.prompt("hi")) as answer:
        async for event in answer:
            if event.type == "text_delta":
                print(event.delta, end="")
    print(answer.message.stop_reason)
"""

from headwater.views.messages.arguments import check_arguments
from headwater.views.messages.events import (
    Done,
    Error,
    MessageEvent,
    Start,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from headwater.views.messages.persist import decode_context, decode_message, decode_messages, encode
from headwater.views.messages.protocols import supports_protocol
from headwater.views.messages.request import RequestFields, to_request
from headwater.views.messages.stream import MessageStream, complete, stream
from headwater.views.messages.types import (
    REDACTED,
    STOP_REASONS,
    AssistantMessage,
    Context,
    Cost,
    Diagnostic,
    ImageContent,
    Message,
    ProviderItem,
    StopReason,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolDefinition,
    ToolResultMessage,
    Usage,
    UserMessage,
    assistant,
    prompt,
    tool_result,
    user,
)
from headwater.views.messages.writer import MessageWriter, Parity

__all__ = [
    "REDACTED",
    "STOP_REASONS",
    "AssistantMessage",
    "Context",
    "Cost",
    "Diagnostic",
    "Done",
    "Error",
    "ImageContent",
    "Message",
    "MessageEvent",
    "MessageStream",
    "MessageWriter",
    "Parity",
    "ProviderItem",
    "RequestFields",
    "Start",
    "StopReason",
    "TextContent",
    "TextDelta",
    "TextEnd",
    "TextStart",
    "ThinkingContent",
    "ThinkingDelta",
    "ThinkingEnd",
    "ThinkingStart",
    "ToolCall",
    "ToolCallDelta",
    "ToolCallEnd",
    "ToolCallStart",
    "ToolDefinition",
    "ToolResultMessage",
    "Usage",
    "UserMessage",
    "assistant",
    "check_arguments",
    "complete",
    "decode_context",
    "decode_message",
    "decode_messages",
    "encode",
    "prompt",
    "stream",
    "supports_protocol",
    "to_request",
    "tool_result",
    "user",
]
