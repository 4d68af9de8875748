"""What bedrock-invoke does with every field of `Request`: the family of the model decides, and refuses by name what its body has no field for."""

from __future__ import annotations

from headwater_providers.json_adapter import support_table

_BY_FAMILY = "where the family's own body has the field: Claude as anthropic-messages, Nova as bedrock-converse, Mistral's chat as openai-chat"
_ASKED = (
    *("tools", "tool_choice", "parallel_tool_calls", "top_k", "stop", "response_format", "reasoning", "metadata", "service_tier"),
    *("seed", "n", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs", "logit_bias", "verbosity", "user", "store", "cache_key"),
)
SUPPORTS = support_table(
    rejected={},
    supported={
        **dict.fromkeys(_ASKED, _BY_FAMILY),
        "messages": "Titan, Llama and Mistral take one user message, the prompt",
        "model": "in the address",
    },
)
