"""What openai-chat does with every field of `Request`, and the checks that need no more than the field itself."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from headwater_codecs.neutral.errors import ConfigurationError
from headwater_codecs.neutral.request import Request
from headwater_providers.adapter import Support
from headwater_providers.checks import check_types, check_unsupported
from headwater_providers.openai_chat.dialect import ChatDialect

_SENT = Support("supported")
SUPPORTS: Mapping[str, Support] = MappingProxyType(
    {
        "model": _SENT,
        "messages": _SENT,
        "tools": Support("supported", "custom tools where the dialect has supports_custom_tools"),
        "tool_choice": Support("supported", "needs tools; a name must be one of theirs"),
        "parallel_tool_calls": _SENT,
        "max_tokens": Support("supported", "under the name in the dialect's max_tokens_field"),
        "temperature": _SENT,
        "top_p": _SENT,
        "top_k": Support("rejected", "OpenAI has no such field; sent where the dialect has supports_top_k"),
        "n": _SENT,
        "stop": _SENT,
        "seed": _SENT,
        "presence_penalty": _SENT,
        "frequency_penalty": _SENT,
        "logprobs": Support("supported", "the values are read from RawFrame events"),
        "top_logprobs": Support("supported", "the values are read from RawFrame events"),
        "logit_bias": _SENT,
        "response_format": Support("supported", "a JsonSchema where the dialect has supports_json_schema"),
        "reasoning": Support("supported", "an effort in the dialect's thinking_format; budget_tokens where that has a place for it; no summary"),
        "service_tier": _SENT,
        "verbosity": _SENT,
        "user": _SENT,
        "store": Support("supported", "True where the dialect has supports_store; elsewhere False is what happens anyway"),
        "metadata": _SENT,
        "cache_key": Support("supported", "as prompt_cache_key"),
        "extra_body": Support("supported", "merged over the body, key by key"),
        "extra_headers": Support("supported", "merged over the headers"),
        "timeouts": Support("ignored", "deadlines are kept by the engine, not sent"),
    }
)


def check_fields(request: Request, provider: str, dialect: ChatDialect) -> None:
    """Raise ConfigurationError for a field that this vendor refuses, and for a value of the wrong type."""
    check_unsupported(request, dialect.unsupported, provider)
    check_types(request)
    if request.top_k is not None and not dialect.supports_top_k:
        raise ConfigurationError(
            f"provider {provider} does not take the field `top_k`: leave it out, or set the dialect flag supports_top_k for a server that does"
        )
    if request.store and not dialect.supports_store:
        raise ConfigurationError(f"provider {provider} does not take the field `store`: leave it out, or set the dialect flag supports_store")
