"""Headwater: raw provider bytes in, one typed event stream out, on asyncio and on trio.

import headwater as hw

async with hw.Engine() as engine:
    async with engine.stream(hw.Request(model="openai/gpt-4o-mini", messages=[hw.user("hi")])) as stream:
        async for text in stream.text_deltas():
            print(text, end="")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.budget import RetryBudget
from headwater.call import Reply
from headwater.decode import decode, decode_events
from headwater.drain import Drained
from headwater.engine import Engine
from headwater.fanout import Subscription
from headwater.mailbox import SubscriberStats
from headwater.retry import Retry
from headwater.stream import Stream
from headwater.transport import Transport
from headwater_codecs.neutral import (
    AnswerTooLarge,
    AuthenticationError,
    Block,
    Choice,
    ChoiceEnd,
    Citation,
    ConfigurationError,
    ContextOverflowError,
    DeadlineExceeded,
    Diagnostic,
    ErrorInfo,
    Event,
    FailedAttempt,
    FilePart,
    Finish,
    FinishReason,
    FrameTooLarge,
    HeadwaterError,
    ImagePart,
    InvalidRequestError,
    JsonSchema,
    MalformedError,
    Message,
    Model,
    NetworkError,
    NotFoundError,
    OpaqueEnd,
    OpaquePart,
    OpaqueStart,
    Origin,
    OverloadedError,
    Part,
    PermissionDeniedError,
    ProtocolError,
    ProviderError,
    QuotaError,
    RateLimitError,
    RawFrame,
    Reasoning,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningPart,
    ReasoningStart,
    RefusalDelta,
    RefusalEnd,
    RefusalStart,
    Request,
    Response,
    Secret,
    ServerError,
    StreamAborted,
    StreamFailed,
    StreamStart,
    SubscriberLagged,
    SubscriptionError,
    TextDelta,
    TextEnd,
    TextPart,
    TextStart,
    Timeouts,
    Timing,
    Tool,
    ToolCall,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallPart,
    ToolCallStart,
    ToolResultPart,
    TransportError,
    TruncatedError,
    Usage,
    UsageUpdate,
    assistant,
    system,
    tool_result,
    user,
)
from headwater_providers.history import History
from headwater_providers.resolve import Registries

if TYPE_CHECKING:
    from headwater.blocking import SyncStream, generate_sync, stream_sync
    from headwater.catalogue import Cost, ModelInfo, cost, model_info, overflowed

__all__ = [
    "AnswerTooLarge",
    "AuthenticationError",
    "Block",
    "Choice",
    "ChoiceEnd",
    "Citation",
    "ConfigurationError",
    "ContextOverflowError",
    "Cost",
    "DeadlineExceeded",
    "Diagnostic",
    "Drained",
    "Engine",
    "ErrorInfo",
    "Event",
    "FailedAttempt",
    "FilePart",
    "Finish",
    "FinishReason",
    "FrameTooLarge",
    "HeadwaterError",
    "History",
    "ImagePart",
    "InvalidRequestError",
    "JsonSchema",
    "MalformedError",
    "Message",
    "Model",
    "ModelInfo",
    "NetworkError",
    "NotFoundError",
    "OpaqueEnd",
    "OpaquePart",
    "OpaqueStart",
    "Origin",
    "OverloadedError",
    "Part",
    "PermissionDeniedError",
    "ProtocolError",
    "ProviderError",
    "QuotaError",
    "RateLimitError",
    "RawFrame",
    "Reasoning",
    "ReasoningDelta",
    "ReasoningEnd",
    "ReasoningPart",
    "ReasoningStart",
    "RefusalDelta",
    "RefusalEnd",
    "RefusalStart",
    "Registries",
    "Reply",
    "Request",
    "Response",
    "Retry",
    "RetryBudget",
    "Secret",
    "ServerError",
    "Stream",
    "StreamAborted",
    "StreamFailed",
    "StreamStart",
    "SubscriberLagged",
    "SubscriberStats",
    "Subscription",
    "SubscriptionError",
    "SyncStream",
    "TextDelta",
    "TextEnd",
    "TextPart",
    "TextStart",
    "Timeouts",
    "Timing",
    "Tool",
    "ToolCall",
    "ToolCallDelta",
    "ToolCallEnd",
    "ToolCallPart",
    "ToolCallStart",
    "ToolResultPart",
    "Transport",
    "TransportError",
    "TruncatedError",
    "Usage",
    "UsageUpdate",
    "assistant",
    "cost",
    "decode",
    "decode_events",
    "generate_sync",
    "model_info",
    "overflowed",
    "stream_sync",
    "system",
    "tool_result",
    "user",
]

# Threads and their portal are slow to import, and only scripts need them; the catalogue is a file of its own.
_LAZY = {
    **dict.fromkeys(("SyncStream", "generate_sync", "stream_sync"), "headwater.blocking"),
    **dict.fromkeys(("Cost", "ModelInfo", "cost", "model_info", "overflowed"), "headwater.catalogue"),
}


def __getattr__(name: str) -> object:
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
