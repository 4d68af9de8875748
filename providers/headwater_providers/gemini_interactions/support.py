"""What gemini-interactions does with every field of `Request`."""

from __future__ import annotations

from headwater_providers.json_adapter import support_table

_NO_FIELD = "the Interactions API has no such field"
_REJECTED = (
    *("parallel_tool_calls", "top_k", "n", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs", "logit_bias"),
    *("verbosity", "user", "cache_key"),
)
SUPPORTS = support_table(
    rejected=dict.fromkeys(_REJECTED, _NO_FIELD),
    supported={
        "messages": "as steps; system messages at the start become `system_instruction`",
        "tools": "no custom tools; `strict` is not sent",
        "tool_choice": "needs tools; a name must be one of theirs",
        "reasoning": "as thinking_level; no budget_tokens; thoughts are shown unless summary is 'off'",
        "response_format": "as response_format with a schema",
        "metadata": "as labels",
    },
)
