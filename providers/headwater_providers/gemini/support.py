"""What gemini does with every field of `Request`."""

from __future__ import annotations

from headwater_providers.json_adapter import support_table

_NO_FIELD = "the Gemini API has no such field"
SUPPORTS = support_table(
    rejected=dict.fromkeys(("parallel_tool_calls", "logit_bias", "service_tier", "verbosity", "user", "store", "cache_key"), _NO_FIELD),
    supported={
        "messages": "system messages at the start become `systemInstruction`; consecutive turns of one role are joined",
        "tools": "as functionDeclarations with parametersJsonSchema; no custom tools, `strict` is not sent",
        "tool_choice": "needs tools; a name must be one of theirs",
        "n": "as candidateCount",
        "logprobs": "the values are read from RawFrame events",
        "top_logprobs": "the values are read from RawFrame events",
        "response_format": "as responseMimeType and responseJsonSchema",
        "reasoning": "a budget, or a level where the dialect has thinking_levels; thoughts are shown unless summary is 'off'",
        "metadata": "as labels (Vertex)",
    },
)
