"""What the openai-chat encoder writes: structs with the fields that real clients demand, and the tables of words.

Kept apart from `wire`, which lists what we read: readers are generous, writers exact.
"""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType

from headwater_codecs.neutral.events import CallKind, FinishReason
from headwater_codecs.neutral.usage import Usage


class WrittenFunction(Struct, frozen=True, omit_defaults=True):
    """A call's name and arguments, or a piece of them; `input` is a custom tool's text."""

    name: str | UnsetType = UNSET
    arguments: str | UnsetType = UNSET
    input: str | UnsetType = UNSET


class WrittenCall(Struct, frozen=True, omit_defaults=True):
    """One tool call, or a piece of one."""

    index: int | UnsetType = UNSET
    id: str | UnsetType = UNSET
    type: CallKind | UnsetType = UNSET
    function: WrittenFunction | UnsetType = UNSET
    custom: WrittenFunction | UnsetType = UNSET


class UrlCitation(Struct, frozen=True, omit_defaults=True):
    """The address of a source."""

    url: str
    title: str | None = None


class Annotation(Struct, frozen=True, tag="url_citation", tag_field="type"):
    """A source of the text."""

    url_citation: UrlCitation


class WrittenDelta(Struct, frozen=True, omit_defaults=True):
    """What a chunk adds; also the message of a whole answer, where `content` may be null."""

    role: str | UnsetType = UNSET
    content: str | UnsetType | None = UNSET
    reasoning_content: str | UnsetType = UNSET
    refusal: str | UnsetType = UNSET
    tool_calls: list[WrittenCall] | UnsetType = UNSET
    annotations: list[Annotation] | UnsetType = UNSET


class WrittenChoice(Struct, frozen=True):
    """One choice of a chunk; `finish_reason` is null until its last."""

    index: int
    delta: WrittenDelta
    finish_reason: str | None = None


class MessageChoice(Struct, frozen=True):
    """One choice of a whole answer."""

    index: int
    message: WrittenDelta
    finish_reason: str | None


class InputDetails(Struct, frozen=True, omit_defaults=True):
    """What part of the input was read from or written to a cache."""

    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class OutputDetails(Struct, frozen=True, omit_defaults=True):
    """What part of the output was reasoning."""

    reasoning_tokens: int | None = None


class WrittenUsage(Struct, frozen=True):
    """The counts; null where the provider said nothing, since unknown is not zero."""

    prompt_tokens: int | None
    completion_tokens: int | None
    total_tokens: int | None
    prompt_tokens_details: InputDetails | UnsetType
    completion_tokens_details: OutputDetails | UnsetType


class WrittenChunk(Struct, frozen=True):
    """One event of a stream. Clients need every field."""

    id: str
    object: str
    created: int
    model: str
    choices: list[WrittenChoice]
    usage: WrittenUsage | UnsetType = UNSET


class Completion(Struct, frozen=True):
    """A whole answer."""

    id: str
    object: str
    created: int
    model: str
    choices: list[MessageChoice]
    usage: WrittenUsage | UnsetType = UNSET


class WrittenError(Struct, frozen=True):
    """A failure; clients look for these four keys."""

    message: str
    type: str
    param: str | None
    code: str | None


# The wire has no word for `pause` and `refusal`: a refusal is told by its own field, so the answer stops; without one it was filtered.
_FINISH_REASONS: dict[FinishReason, str] = {"pause": "stop", "refusal": "content_filter"}
ERROR_TYPES: dict[str, str] = {
    "auth": "authentication_error",
    "configuration": "invalid_request_error",
    "context_overflow": "invalid_request_error",
    "invalid_request": "invalid_request_error",
    "malformed": "upstream_error",
    "network": "upstream_error",
    "not_found": "not_found_error",
    "overloaded": "overloaded_error",
    "permission": "permission_error",
    "quota": "insufficient_quota",
    "rate_limit": "rate_limit_error",
    "timeout": "timeout_error",
    "truncated": "upstream_error",
}
ERROR_CODES: dict[str, str] = {
    "auth": "invalid_api_key",
    "context_overflow": "context_length_exceeded",
    "not_found": "model_not_found",
    "quota": "insufficient_quota",
    "rate_limit": "rate_limit_exceeded",
}


def written_finish_reason(reason: FinishReason, refused: bool) -> str:
    """The wire's word for a reason; `refused`: the choice has a refusal of its own."""
    return "stop" if reason == "refusal" and refused else _FINISH_REASONS.get(reason, reason)


def written_call(index: int | UnsetType, id: str | UnsetType, name: str | UnsetType, text: str, kind: CallKind) -> WrittenCall:
    """A call or a piece of one; the type stands only where the id does."""
    if kind == "custom":
        return WrittenCall(index, id, UNSET if id is UNSET else kind, custom=WrittenFunction(name, input=text))
    return WrittenCall(index, id, UNSET if id is UNSET else kind, function=WrittenFunction(name, text))


def written_usage(usage: Usage) -> WrittenUsage:
    """The counts as this wire has them; the total only where both are known."""
    read, written = usage.input_tokens, usage.output_tokens
    cached = usage.cached_input_tokens is not None or usage.cache_write_tokens is not None
    return WrittenUsage(
        read,
        written,
        None if read is None or written is None else read + written,
        InputDetails(usage.cached_input_tokens, usage.cache_write_tokens) if cached else UNSET,
        UNSET if usage.reasoning_tokens is None else OutputDetails(usage.reasoning_tokens),
    )
