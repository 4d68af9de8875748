"""Token counts as a Responses body states them."""

from __future__ import annotations

from typing import Any

from headwater_codecs.neutral.usage import Usage


def written_usage(usage: Usage) -> dict[str, Any]:
    """The counts as clients demand them."""
    read, written = usage.input_tokens or 0, usage.output_tokens or 0
    return {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": usage.cached_input_tokens or 0, "cache_write_tokens": usage.cache_write_tokens or 0},
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens or 0},
        "total_tokens": read + written,
    }
