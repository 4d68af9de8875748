"""What bedrock-converse does with every field of `Request`."""

from __future__ import annotations

from headwater_providers.json_adapter import support_table

_NO_FIELD = "Converse has no such field"
_REJECTED = (
    *("parallel_tool_calls", "n", "seed", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs", "logit_bias"),
    *("verbosity", "user", "store", "cache_key"),
)
SUPPORTS = support_table(
    rejected=dict.fromkeys(_REJECTED, _NO_FIELD),
    supported={
        "messages": "system messages at the start become `system`; consecutive turns of one role are joined",
        "tools": "no custom tools",
        "tool_choice": "needs tools; `none` leaves them out, there is no way to say it",
        "top_k": "in additionalModelRequestFields",
        "response_format": "a JsonSchema; no plain 'json'",
        "reasoning": "a budget in additionalModelRequestFields, where the dialect's reasoning_field says where; no summary",
        "service_tier": "as serviceTier.type",
        "metadata": "as requestMetadata",
    },
)
