"""The vendors' words for why an answer ended, unified."""

from __future__ import annotations

from headwater_codecs.neutral import FinishReason

FINISH: dict[str, FinishReason] = {
    "stop": "stop",
    "complete": "stop",
    "completed": "stop",
    "done": "stop",
    "end": "stop",
    "end_turn": "stop",
    "eos": "stop",
    "eos_token": "stop",  # text-generation-inference
    "finished": "stop",
    "normal": "stop",  # Baidu
    "stop_sequence": "stop",
    "length": "length",
    "max_length": "length",
    "max_output_tokens": "length",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "model_length": "length",  # Mistral
    "token_limit": "length",
    "function_call": "tool_calls",
    "tool_call": "tool_calls",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "blocklist": "content_filter",
    "content_filter": "content_filter",
    "content_filtered": "content_filter",
    "guardrail_intervened": "content_filter",
    "prohibited_content": "content_filter",
    "recitation": "content_filter",
    "safety": "content_filter",
    "sensitive": "content_filter",  # Z.ai
    "spii": "content_filter",
    "refusal": "refusal",
    "compaction": "pause",  # Anthropic: the context was summed up, and the answer is to go on
    "pause": "pause",
    "pause_turn": "pause",
    "abort": "error",  # vLLM, SGLang: the request was dropped
    "error": "error",
    "insufficient_system_resource": "error",  # DeepSeek
    "malformed_function_call": "error",
    "network_error": "error",  # Z.ai
}
# What broke the answer off: its newest call may lack what nobody can see missing.
BREAKING: frozenset[str] = frozenset({"length", "content_filter", "error"})
_ABSENT = frozenset({"", "null", "none"})  # Go's empty value, and null turned into text


def is_absent(raw: str) -> bool:
    """Whether the field says that the answer goes on."""
    return raw not in FINISH and raw.strip().lower() in _ABSENT


def unified(raw: str | None) -> FinishReason:
    """The vendor's word as one of ours; what nobody has heard of is `unknown`."""
    if raw is None:
        return "unknown"
    return FINISH.get(raw) or FINISH.get(raw.strip().lower().replace("-", "_").replace(" ", "_"), "unknown")
