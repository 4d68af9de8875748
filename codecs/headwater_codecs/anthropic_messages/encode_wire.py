"""What the anthropic-messages encoder writes: structs with the fields that real clients demand, and the tables of words."""

from __future__ import annotations

from msgspec import UNSET, Raw, Struct, UnsetType

from headwater_codecs.neutral.events import FinishReason
from headwater_codecs.neutral.usage import Usage


class WrittenUsage(Struct, frozen=True, omit_defaults=True):
    """The counts. Clients refuse an answer without the first two, so what nobody knows is zero there."""

    input_tokens: int | UnsetType
    output_tokens: int
    cache_creation_input_tokens: int | UnsetType = UNSET
    cache_read_input_tokens: int | UnsetType = UNSET
    output_tokens_details: dict[str, int] | UnsetType = UNSET


class WrittenMessage(Struct, frozen=True):
    """The message: empty at the start of a stream, whole in an answer of one piece."""

    id: str
    type: str
    role: str
    model: str
    content: list[Raw]
    stop_reason: str | None
    stop_sequence: str | None
    usage: WrittenUsage


class MessageStart(Struct, frozen=True, tag_field="type", tag="message_start"):
    """First."""

    message: WrittenMessage


class BlockStart(Struct, frozen=True, tag_field="type", tag="content_block_start"):
    """A block opens."""

    index: int
    content_block: Raw


class BlockDelta(Struct, frozen=True, tag_field="type", tag="content_block_delta"):
    """A piece of the open block."""

    index: int
    delta: object


class BlockStop(Struct, frozen=True, tag_field="type", tag="content_block_stop"):
    """The open block is closed."""

    index: int


class StopDelta(Struct, frozen=True):
    """Why the answer ended."""

    stop_reason: str | None
    stop_sequence: str | None


class MessageDelta(Struct, frozen=True, tag_field="type", tag="message_delta"):
    """The reason and the counts."""

    delta: StopDelta
    usage: WrittenUsage


class TextPiece(Struct, frozen=True, tag_field="type", tag="text_delta"):
    """A piece of text."""

    text: str


class ThinkingPiece(Struct, frozen=True, tag_field="type", tag="thinking_delta"):
    """A piece of thinking."""

    thinking: str


class SignaturePiece(Struct, frozen=True, tag_field="type", tag="signature_delta"):
    """A block's signature, whole."""

    signature: str


class InputPiece(Struct, frozen=True, tag_field="type", tag="input_json_delta"):
    """A piece of a call's arguments."""

    partial_json: str


class CitationPiece(Struct, frozen=True, tag_field="type", tag="citations_delta"):
    """A source of the text."""

    citation: Raw


class WrittenError(Struct, frozen=True):
    """What failed."""

    type: str
    message: str


class ErrorEvent(Struct, frozen=True, tag_field="type", tag="error"):
    """A failure: an event of a stream, or the body of an answer."""

    error: WrittenError


# `content_filter`, `error` and `unknown` have no word: the first is a refusal to this wire, the others say nothing.
STOP_REASONS: dict[FinishReason, str | None] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "pause": "pause_turn",
    "refusal": "refusal",
    "content_filter": "refusal",
    "error": None,
    "unknown": None,
}
# The wire's own words, which go out as they came.
OWN_REASONS = frozenset({"end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal", "model_context_window_exceeded"})
ERROR_TYPES: dict[str, str] = {
    "auth": "authentication_error",
    "configuration": "invalid_request_error",
    "context_overflow": "request_too_large",
    "invalid_request": "invalid_request_error",
    "not_found": "not_found_error",
    "overloaded": "overloaded_error",
    "permission": "permission_error",
    "quota": "billing_error",
    "rate_limit": "rate_limit_error",
    "timeout": "timeout_error",
}


def stop_reason(reason: FinishReason | None, raw: str | None) -> str | None:
    """The wire's word for a reason: the provider's own where it is one of this wire's."""
    if raw in OWN_REASONS:
        return raw
    return None if reason is None else STOP_REASONS[reason]


def written_usage(usage: Usage | None, *, at_start: bool = False) -> WrittenUsage:
    """The counts as this wire has them: the input without what a cache gave or took."""
    if usage is None:
        return WrittenUsage(0 if at_start else UNSET, 0)
    read, written, total = usage.cached_input_tokens, usage.cache_write_tokens, usage.input_tokens
    fresh = UNSET if total is None else max(0, total - (read or 0) - (written or 0))
    thought = UNSET if usage.reasoning_tokens is None else {"thinking_tokens": usage.reasoning_tokens}
    return WrittenUsage(
        0 if fresh is UNSET and at_start else fresh,
        usage.output_tokens or 0,
        UNSET if written is None else written,
        UNSET if read is None else read,
        thought,
    )
