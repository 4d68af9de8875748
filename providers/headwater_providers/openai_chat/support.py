"""What openai-chat does with every field of `Request`, and the checks that need no more than the field itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

from headwater_codecs.neutral.errors import ConfigurationError
from headwater_codecs.neutral.request import Request
from headwater_providers.adapter import Support
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

_REFUSALS: dict[str, tuple[Callable[[object], bool], str]] = {
    **dict.fromkeys(("max_tokens", "top_k", "seed", "top_logprobs"), (lambda value: type(value) is int, "give a whole number")),
    "n": (lambda value: type(value) is int and value >= 1, "at least one answer is asked for"),
    **dict.fromkeys(("temperature", "top_p", "presence_penalty", "frequency_penalty"), (lambda value: is_number(value), "give a finite number")),
    **dict.fromkeys(("parallel_tool_calls", "logprobs", "store"), (lambda value: isinstance(value, bool), "give True or False")),
    **dict.fromkeys(("tool_choice", "service_tier", "verbosity", "user", "cache_key"), (lambda value: isinstance(value, str), "give a string")),
}


def check_fields(request: Request, provider: str, dialect: ChatDialect) -> None:
    """Raise ConfigurationError for a field that this vendor refuses, and for a value of the wrong type."""
    for name in dialect.unsupported:
        value = getattr(request, name)
        if value is None or (name == "n" and value == 1) or (name == "tools" and not value):
            continue
        raise ConfigurationError(f"provider {provider} does not take the field `{name}`: leave it out")
    for name in [name for name in _REFUSALS if getattr(request, name) is not None]:  # few of them are given
        good, wanted = _REFUSALS[name]
        value = getattr(request, name)
        if not good(value):
            raise ConfigurationError(f"Request.{name} is {value!r}: {wanted}")
    if request.top_k is not None and not dialect.supports_top_k:
        raise ConfigurationError(
            f"provider {provider} does not take the field `top_k`: leave it out, or set the dialect flag supports_top_k for a server that does"
        )
    if request.store and not dialect.supports_store:
        raise ConfigurationError(f"provider {provider} does not take the field `store`: leave it out, or set the dialect flag supports_store")
    if request.stop is not None and not isinstance(request.stop, str) and not all(isinstance(piece, str) for piece in request.stop):
        raise ConfigurationError("Request.stop holds something that is not a string")


def is_number(value: object) -> bool:
    """Whether this is a number that JSON can say: NaN and infinities are none (AMB-70)."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def check_json(value: object, where: str) -> None:
    """Raise ConfigurationError, naming the place, for a NaN or infinity, which would silently become null."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ConfigurationError(f"{where} is {value!r}: JSON has no such number")
    elif isinstance(value, dict):
        for key, item in value.items():
            check_json(item, f"{where}.{key}")
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            check_json(item, f"{where}[{index}]")
