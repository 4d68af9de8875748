"""Token counts of openai-chat, wherever a vendor puts them and whatever it calls them."""

from __future__ import annotations

import msgspec

from headwater_codecs.neutral import Usage
from headwater_codecs.openai_chat.plain import UsualInput, UsualOutput, UsualUsage
from headwater_providers.counts import read_count

# Name -> the count that it is; where several are there, the first of this table has the say.
_COUNTS = {
    "prompt_tokens": "read",
    "input_tokens": "read",
    "completion_tokens": "written",
    "output_tokens": "written",
    "total_tokens": "total",
    "reasoning_tokens": "reasoning",
    "cached_tokens": "cached",  # Moonshot
    "prompt_cache_hit_tokens": "cached",  # DeepSeek
    "cache_read_input_tokens": "cached",  # Anthropic behind a compatible gateway
    "cache_creation_input_tokens": "cache_write",
}
_DETAILS = {
    "prompt_tokens_details": {"cached_tokens": "cached", "cache_write_tokens": "cache_write"},
    "input_tokens_details": {"cached_tokens": "cached", "cache_write_tokens": "cache_write"},
    "completion_tokens_details": {"reasoning_tokens": "reasoning"},
    "output_tokens_details": {"reasoning_tokens": "reasoning"},
}
_NO_INPUT, _NO_OUTPUT = UsualInput(), UsualOutput()


def read_usage(raw: dict[str, object]) -> Usage:
    """The counts of one report. Integral floats and digits are taken as integers, null stays unknown, and nothing here ever fails an answer.

    Details go before the counts at the top. Some vendors (xAI) count reasoning beside the output instead of inside it; their total tells.
    """
    try:
        usual = msgspec.convert(raw, UsualUsage)
    except ValueError:  # also msgspec's own errors, and half a character in a name
        counts = _counts(raw)
        read, written, total = counts.get("read"), counts.get("written"), counts.get("total")
        cached, cache_write, reasoning = counts.get("cached"), counts.get("cache_write"), counts.get("reasoning")
    else:
        read, written, total = usual.prompt_tokens, usual.completion_tokens, usual.total_tokens
        inputs, outputs = usual.prompt_tokens_details or _NO_INPUT, usual.completion_tokens_details or _NO_OUTPUT
        cached, cache_write, reasoning = inputs.cached_tokens, inputs.cache_write_tokens, outputs.reasoning_tokens
    if reasoning and read is not None and written is not None and total == read + written + reasoning:
        written += reasoning
    return Usage(read, written, cached, cache_write, reasoning, raw)


def _counts(raw: dict[str, object]) -> dict[str, int]:
    """The counts of a report with other names, or with counts that are no integers."""
    counts: dict[str, int] = {}
    for name, places in _DETAILS.items():
        details = raw.get(name)
        if isinstance(details, dict):
            _collect(details, places, counts)
    _collect(raw, _COUNTS, counts)
    return counts


def _collect(values: dict[str, object], places: dict[str, str], counts: dict[str, int]) -> None:
    """Add the counts that `values` has and `counts` has not, in the order of the table."""
    for name, count in places.items():
        if name in values and count not in counts:
            number = read_count(values[name])
            if number is not None:
                counts[count] = number
