"""What openai-assistants does with every field of `Request`."""

from __future__ import annotations

from headwater_providers.json_adapter import support_table

_NO_FIELD = "runs have no such field"
_REJECTED = (
    *("top_k", "n", "stop", "seed", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs", "logit_bias"),
    *("service_tier", "verbosity", "user", "store", "cache_key"),
)
SUPPORTS = support_table(
    rejected=dict.fromkeys(_REJECTED, _NO_FIELD),
    supported={
        "model": "an assistant's id (asst_...), or a model beside extra_body.assistant_id",
        "messages": "of the thread; tool results go to the run that asked for them: the one their calls name, or extra_body.thread_id and run_id",
        "tools": "no custom tools",
        "max_tokens": "as max_completion_tokens",
        "reasoning": "an effort, as reasoning_effort",
    },
)
