"""What each wire that we write can carry: one row for every encoder. `project` reads it, and nothing else says how an answer comes back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from headwater_codecs.neutral.errors import ErrorKind
from headwater_codecs.neutral.events import FinishReason

Reasons = Mapping[FinishReason, tuple[FinishReason, str | None]]
Counts = Literal["input_tokens", "output_tokens", "cached_input_tokens", "cache_write_tokens", "reasoning_tokens"]
ALL_COUNTS: tuple[Counts, ...] = ("input_tokens", "output_tokens", "cached_input_tokens", "cache_write_tokens", "reasoning_tokens")


class Failure(Struct, frozen=True):
    """How a failure comes back: its kind, the wire's word, its status."""

    kind: ErrorKind = "server"
    code: str | None = None
    status: int | None = None


class Wire(Struct, frozen=True, kw_only=True):
    """What comes back of an answer. A flag that is off means that the wire has no place for it."""

    # --- the answer
    choices: bool = False  # several; else choice 0 alone
    identity: Literal["always", "begun", "written", "never"]  # when model and id are told: also by failures, once a block began or said something
    ids: bool = True  # the id of the answer, beside the model
    sequential: bool = True  # of one choice one block after the other
    # --- blocks
    bounded: bool = True  # blocks have borders; else pieces of one kind that follow each other are one block
    cut_at_failure: bool = True  # the block that broke off when the stream failed comes back incomplete
    refusals: bool = False  # else their text is text
    signatures: frozenset[str] = frozenset()  # the kinds of block that are signed
    data: Literal["", "redacted", "redacted alone", "always"] = (
        ""  # of reasoning: not; of redacted blocks; of those without text and signature; of all
    )
    empty_reasoning: bool = False  # a block that says nothing
    custom: bool = False  # calls with free text; else it becomes `{"input": text}`
    calls: Literal["pieces", "whole"] = "pieces"  # whole: at their end; only an object can be written, and no cut call
    cut_calls: bool = False  # that a call was cut; else its arguments tell
    empty_calls_stay_open: bool = False  # arguments may still follow a call that has none, so that a failure cuts it
    opaque: Literal["", "typed", "part"] = ""  # not; an object with its kind as `type`; an object whose content is under its kind
    cut_opaque: bool = False  # also an item that was cut: it looks whole
    placed_by_content: bool = False  # a block other than a call takes its place among the others when it first says something
    item_ids: Mapping[str, str] | None = None  # kind of block -> how an item's id begins that had to be made up
    meta: Literal["", "citations", "item"] = ""  # what the reader keeps for replay
    citations: Literal["", "own", "note", "web"] = ""  # as they came where they are objects; addresses alone, in one of two forms
    title: str = "title"  # another field that may hold a source's title
    each_source_once: bool = False
    # --- the end
    reasons: Reasons
    own_reasons: Mapping[str, FinishReason] = {}  # the wire's words, which go out as they came
    detail: Literal["", "stop_sequence", "always"] = ""
    calls_needed: bool = False  # `tool_calls` without a call is a stop
    refused: Literal["", "first", "last", "word"] = (
        ""  # a refusal makes a stop a refusal: before calls are looked at, after them, by a word of its own
    )
    breaking: frozenset[str] = frozenset()  # reasons behind which the newest call may lack arguments
    # --- counts
    counts: tuple[Counts, ...] = ALL_COUNTS
    zero: frozenset[Counts] = frozenset()  # unknown ones come back as 0
    within: Literal["", "cache", "thought"] = ""  # input is at least what a cache gave and took; output at least the reasoning
    no_counts: bool = True  # that nothing is known; else zeros
    failed_counts: Literal["", "all", "begun"] = ""  # of a failed stream: not; all; those known when its first block began
    # --- failures
    failures: Mapping[ErrorKind, Failure]  # a reader may hear more in the message, most of all where there is no word beside it
    failure: Failure = Failure()  # of the other kinds
    codes: bool = False  # the provider's word stays beside the kind


WIRES: dict[str, Wire] = {
    "openai-chat": Wire(
        choices=True,
        identity="written",
        sequential=False,
        bounded=False,
        refusals=True,
        custom=True,
        citations="note",
        reasons={
            "stop": ("stop", "stop"),
            "length": ("length", "length"),
            "tool_calls": ("tool_calls", "tool_calls"),
            "content_filter": ("content_filter", "content_filter"),
            "refusal": ("content_filter", "content_filter"),
            "pause": ("stop", "stop"),
            "error": ("error", "error"),
            "unknown": ("unknown", "unknown"),
        },
        calls_needed=True,
        refused="last",
        breaking=frozenset({"length", "content_filter", "error"}),
        failures={
            "auth": Failure("auth", "invalid_api_key"),
            "permission": Failure("permission", "permission"),
            "not_found": Failure("not_found", "model_not_found"),
            "invalid_request": Failure("invalid_request", "invalid_request"),
            "configuration": Failure("invalid_request", "configuration"),
            "context_overflow": Failure("context_overflow", "context_length_exceeded"),
            "rate_limit": Failure("rate_limit", "rate_limit_exceeded"),
            "quota": Failure("quota", "insufficient_quota"),
            "overloaded": Failure("overloaded", "overloaded"),
            "server": Failure("server", "server"),
            "timeout": Failure("server", "timeout"),
            "network": Failure("server", "network"),
            "malformed": Failure("server", "malformed"),
            "truncated": Failure("server", "truncated"),
            "aborted": Failure("server", "aborted"),
            "internal": Failure("server", "internal"),
        },
        codes=True,
    ),
    "openai-responses": Wire(
        identity="always",
        sequential=False,
        cut_at_failure=False,
        refusals=True,
        data="always",
        empty_reasoning=True,
        custom=True,
        cut_calls=True,
        opaque="typed",
        cut_opaque=True,
        placed_by_content=True,
        item_ids={"text": "msg", "refusal": "msg", "reasoning": "rs", "function": "fc", "custom": "ctc", "opaque": "it"},
        meta="item",
        citations="own",
        title="filename",
        each_source_once=True,
        reasons={
            "stop": ("stop", "completed"),
            "length": ("length", "max_output_tokens"),
            "tool_calls": ("stop", "completed"),
            "content_filter": ("content_filter", "content_filter"),
            "refusal": ("stop", "completed"),
            "pause": ("stop", "completed"),
            "error": ("error", "error"),
            "unknown": ("stop", "completed"),
        },
        refused="first",
        zero=frozenset(ALL_COUNTS),
        failed_counts="all",
        failures={
            "auth": Failure("auth", "invalid_api_key"),
            "permission": Failure("permission", "permission_denied"),
            "not_found": Failure("not_found", "model_not_found"),
            "invalid_request": Failure("invalid_request", "invalid_prompt"),
            "context_overflow": Failure("context_overflow", "context_length_exceeded"),
            "rate_limit": Failure("rate_limit", "rate_limit_exceeded"),
            "quota": Failure("quota", "insufficient_quota"),
            "overloaded": Failure("overloaded", "overloaded"),
        },
        failure=Failure("server", "server_error"),
    ),
    "anthropic-messages": Wire(
        identity="begun",
        signatures=frozenset({"reasoning"}),
        data="redacted alone",
        opaque="typed",
        meta="citations",
        citations="own",
        title="document_title",
        reasons={
            "stop": ("stop", "end_turn"),
            "length": ("length", "max_tokens"),
            "tool_calls": ("tool_calls", "tool_use"),
            "content_filter": ("refusal", "refusal"),
            "refusal": ("refusal", "refusal"),
            "pause": ("pause", "pause_turn"),
            "error": ("unknown", None),
            "unknown": ("unknown", None),
        },
        own_reasons={
            "end_turn": "stop",
            "max_tokens": "length",
            "stop_sequence": "stop",
            "tool_use": "tool_calls",
            "pause_turn": "pause",
            "refusal": "refusal",
            "model_context_window_exceeded": "length",
        },
        detail="stop_sequence",
        calls_needed=True,
        refused="word",
        breaking=frozenset({"length", "content_filter", "error", "refusal"}),
        zero=frozenset({"input_tokens", "output_tokens"}),
        within="cache",
        no_counts=False,
        failed_counts="begun",
        failures={
            "auth": Failure("auth", "authentication_error"),
            "permission": Failure("permission", "permission_error"),
            "not_found": Failure("not_found", "not_found_error"),
            "invalid_request": Failure("invalid_request", "invalid_request_error"),
            "configuration": Failure("invalid_request", "invalid_request_error"),
            "context_overflow": Failure("context_overflow", "request_too_large"),
            "rate_limit": Failure("rate_limit", "rate_limit_error"),
            "quota": Failure("quota", "billing_error"),
            "overloaded": Failure("overloaded", "overloaded_error"),
            "timeout": Failure("server", "timeout_error"),
        },
        failure=Failure("server", "api_error"),
    ),
    "gemini": Wire(
        choices=True,
        identity="written",
        bounded=False,
        signatures=frozenset({"text", "reasoning", "tool_call"}),
        calls="whole",
        empty_calls_stay_open=True,
        opaque="part",
        citations="web",
        reasons={
            "stop": ("stop", "STOP"),
            "length": ("length", "MAX_TOKENS"),
            "tool_calls": ("stop", "STOP"),
            "content_filter": ("content_filter", "SAFETY"),
            "refusal": ("stop", "STOP"),
            "pause": ("stop", "STOP"),
            "error": ("unknown", "OTHER"),
            "unknown": ("unknown", "OTHER"),
        },
        detail="always",
        counts=("input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens"),
        zero=frozenset({"input_tokens", "output_tokens"}),
        within="thought",
        failures={
            "auth": Failure("auth", "UNAUTHENTICATED", 401),
            "permission": Failure("permission", "PERMISSION_DENIED", 403),
            "not_found": Failure("not_found", "NOT_FOUND", 404),
            "invalid_request": Failure("invalid_request", "INVALID_ARGUMENT", 400),
            "context_overflow": Failure("invalid_request", "INVALID_ARGUMENT", 400),
            "rate_limit": Failure("rate_limit", "RESOURCE_EXHAUSTED", 429),
            "quota": Failure("rate_limit", "RESOURCE_EXHAUSTED", 429),
            "overloaded": Failure("overloaded", "UNAVAILABLE", 503),
            "timeout": Failure("server", "DEADLINE_EXCEEDED", 504),
        },
        failure=Failure("server", "INTERNAL", 500),
    ),
    "bedrock-converse": Wire(
        identity="never",
        signatures=frozenset({"reasoning"}),
        data="redacted",
        reasons={
            "stop": ("stop", "end_turn"),
            "length": ("length", "max_tokens"),
            "tool_calls": ("tool_calls", "tool_use"),
            "content_filter": ("content_filter", "content_filtered"),
            "refusal": ("content_filter", "content_filtered"),
            "pause": ("stop", "end_turn"),
            "error": ("error", "malformed_model_output"),
            "unknown": ("stop", "end_turn"),
        },
        breaking=frozenset({"length", "content_filter"}),
        counts=("input_tokens", "output_tokens", "cached_input_tokens", "cache_write_tokens"),
        zero=frozenset({"input_tokens", "output_tokens"}),
        within="cache",
        failures={
            "invalid_request": Failure("invalid_request", "validationException"),
            "configuration": Failure("invalid_request", "validationException"),
            "context_overflow": Failure("invalid_request", "validationException"),
            "rate_limit": Failure("rate_limit", "throttlingException"),
            "quota": Failure("rate_limit", "throttlingException"),
            "overloaded": Failure("overloaded", "serviceUnavailableException"),
            "malformed": Failure("server", "modelStreamErrorException"),
            "truncated": Failure("server", "modelStreamErrorException"),
        },
        failure=Failure("server", "internalServerException"),
    ),
    "ollama-chat": Wire(
        identity="written",
        ids=False,
        bounded=False,
        calls="whole",
        reasons={
            "stop": ("stop", "stop"),
            "length": ("length", "length"),
            "tool_calls": ("stop", "stop"),
            "content_filter": ("stop", "stop"),
            "refusal": ("stop", "stop"),
            "pause": ("stop", "stop"),
            "error": ("stop", "stop"),
            "unknown": ("stop", "stop"),
        },
        counts=("input_tokens", "output_tokens"),
        failures={},
    ),
}
