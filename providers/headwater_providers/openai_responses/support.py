"""What openai-responses does with every field of `Request`."""

from __future__ import annotations

from headwater_providers.json_adapter import support_table

_NO_FIELD = "the Responses API has no such field"
SUPPORTS = support_table(
    rejected=dict.fromkeys(("top_k", "n", "stop", "seed", "presence_penalty", "frequency_penalty", "logit_bias"), _NO_FIELD),
    supported={
        "messages": "system messages at the start become `instructions`",
        "tool_choice": "needs tools; a name must be one of theirs",
        "max_tokens": "as max_output_tokens, reasoning included",
        "logprobs": "asked for by `include`; the values are read from RawFrame events",
        "top_logprobs": "the values are read from RawFrame events",
        "reasoning": "effort and summary; no budget_tokens",
        "response_format": "as text.format",
        "verbosity": "as text.verbosity",
        "store": "False unless given (dialect flag store); encrypted reasoning is asked for where nothing is stored",
        "cache_key": "as prompt_cache_key",
    },
)
