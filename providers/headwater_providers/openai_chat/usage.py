"""Token counts of openai-chat, wherever a vendor puts them and whatever it calls them."""

from __future__ import annotations

from collections.abc import Mapping

from headwater_codecs.neutral import Usage

# Field -> the places where it is found, the first non-null one wins. A dot goes into a nested object.
_PLACES: dict[str, tuple[str, ...]] = {
    "input_tokens": ("prompt_tokens", "input_tokens"),
    "output_tokens": ("completion_tokens", "output_tokens"),
    "cached_input_tokens": (
        "prompt_tokens_details.cached_tokens",
        "input_tokens_details.cached_tokens",
        "cached_tokens",  # Moonshot
        "prompt_cache_hit_tokens",  # DeepSeek
        "cache_read_input_tokens",  # Anthropic behind a compatible gateway
    ),
    "cache_write_tokens": ("prompt_tokens_details.cache_write_tokens", "cache_creation_input_tokens"),
    "reasoning_tokens": ("completion_tokens_details.reasoning_tokens", "output_tokens_details.reasoning_tokens", "reasoning_tokens"),
}


def read_usage(raw: Mapping[str, object]) -> Usage:
    """The counts of one report. Integral floats are taken as integers, null stays unknown, and nothing here ever fails an answer."""
    counts = {field: next((n for place in places if (n := _count(raw, place)) is not None), None) for field, places in _PLACES.items()}
    return Usage(**counts, raw=dict(raw))


def _count(raw: Mapping[str, object], place: str) -> int | None:
    value: object = raw
    for key in place.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
