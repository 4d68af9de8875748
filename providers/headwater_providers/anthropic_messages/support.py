"""What anthropic-messages does with every field of `Request`, and the checks that need no more than the field itself."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from headwater_codecs.neutral.errors import ConfigurationError
from headwater_codecs.neutral.request import Request
from headwater_providers.adapter import Support
from headwater_providers.anthropic_messages.dialect import MessagesDialect
from headwater_providers.checks import check_rejected, check_types, check_unsupported

_SENT = Support("supported")
_NO_FIELD = Support("rejected", "the API has no such field")
SUPPORTS: Mapping[str, Support] = MappingProxyType(
    {
        "model": _SENT,
        "messages": Support("supported", "names of messages are not sent; a system message that is not the first goes out as marked user text"),
        "tools": Support("supported", "no custom tools"),
        "tool_choice": Support("supported", "needs tools; a name must be one of theirs"),
        "parallel_tool_calls": Support("supported", "as disable_parallel_tool_use in tool_choice; needs tools"),
        "max_tokens": Support("supported", "the wire demands it: without one the dialect's max_tokens is sent"),
        "temperature": Support("supported", "not sent while the model thinks, when the API refuses it"),
        "top_p": _SENT,
        "top_k": Support("supported", "not sent while the model thinks, when the API refuses it"),
        "n": Support("rejected", "there is one answer"),
        "stop": Support("supported", "as stop_sequences"),
        "seed": _NO_FIELD,
        "presence_penalty": _NO_FIELD,
        "frequency_penalty": _NO_FIELD,
        "logprobs": _NO_FIELD,
        "top_logprobs": _NO_FIELD,
        "logit_bias": _NO_FIELD,
        "response_format": Support("supported", "a JsonSchema where the dialect has supports_json_schema; there is no plain 'json'"),
        "reasoning": Support("supported", "an effort as adaptive thinking or as a budget, as the model takes it; summary is what is displayed of it"),
        "service_tier": _SENT,
        "verbosity": _NO_FIELD,
        "user": Support("supported", "as metadata.user_id"),
        "store": _NO_FIELD,
        "metadata": Support("supported", "user_id is its only key"),
        "cache_key": Support("ignored", "a cache is found by its content; the dialect's cache_breakpoints marks what to keep"),
        "extra_body": Support("supported", "merged over the body, key by key"),
        "extra_headers": Support("supported", "merged over the headers; anthropic-beta goes here"),
        "timeouts": Support("ignored", "deadlines are kept by the engine, not sent"),
    }
)


def check_fields(request: Request, provider: str, dialect: MessagesDialect) -> None:
    """Raise ConfigurationError for a field that the protocol or this vendor refuses, and for a value of the wrong type."""
    check_rejected(request, SUPPORTS, "anthropic-messages")
    check_unsupported(request, dialect.unsupported, provider)
    check_types(request)
    if request.metadata is not None and (unknown := sorted(set(request.metadata) - {"user_id"})):
        raise ConfigurationError(f"Request.metadata: anthropic-messages takes the key user_id only, not {', '.join(unknown)}")
