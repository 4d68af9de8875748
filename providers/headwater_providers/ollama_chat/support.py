"""What ollama-chat does with every field of `Request`."""

from __future__ import annotations

from headwater_providers.json_adapter import support_table

_NO_FIELD = "Ollama's chat has no such field"
_REJECTED = ("parallel_tool_calls", "n", "logit_bias", "service_tier", "verbosity", "user", "store", "metadata", "cache_key")
SUPPORTS = support_table(
    rejected=dict.fromkeys(_REJECTED, _NO_FIELD),
    supported={
        "messages": "images as data; recordings and files have no place",
        "tools": "no custom tools; `strict` is not sent",
        "tool_choice": "'auto' and 'none'; `none` leaves the tools out",
        "max_tokens": "as options.num_predict",
        "logprobs": "the values are read from RawFrame events",
        "top_logprobs": "the values are read from RawFrame events",
        "response_format": "as format",
        "reasoning": "as think: on or off, a level where the dialect has think_levels",
    },
)
