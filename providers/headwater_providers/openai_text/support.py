"""What openai-text does with every field of `Request`."""

from __future__ import annotations

from headwater_providers.json_adapter import support_table

_NO_FIELD = "completions have no such field"
_REJECTED = (
    *("tools", "tool_choice", "parallel_tool_calls", "top_k", "response_format", "reasoning", "service_tier"),
    *("verbosity", "store", "metadata", "cache_key"),
)
SUPPORTS = support_table(
    rejected=dict.fromkeys(_REJECTED, _NO_FIELD),
    supported={
        "messages": "one user message of text, the prompt",
        "logprobs": "as logprobs: 0; the values are read from RawFrame events",
        "top_logprobs": "as logprobs",
    },
)
