"""What cohere-chat does with every field of `Request`."""

from __future__ import annotations

from headwater_providers.json_adapter import support_table

_NO_FIELD = "Cohere's chat has no such field"
_REJECTED = (
    *("parallel_tool_calls", "n", "top_logprobs", "logit_bias", "service_tier"),
    *("verbosity", "user", "store", "metadata", "cache_key"),
)
SUPPORTS = support_table(
    rejected=dict.fromkeys(_REJECTED, _NO_FIELD),
    supported={
        "messages": "images; recordings and files have no place",
        "tools": "no custom tools; one strict tool makes all strict",
        "tool_choice": "auto, none or required; no tool's name",
        "top_p": "as p",
        "top_k": "as k",
        "logprobs": "the values are read from RawFrame events",
        "response_format": "as response_format with json_schema",
        "reasoning": "as thinking, with a budget of tokens; no summary",
    },
)
