"""Token counts of openai-chat, wherever a vendor puts them and whatever it calls them."""

from __future__ import annotations

from headwater_codecs.neutral import Usage

_PROMPT_DETAILS = ("prompt_tokens_details", "input_tokens_details")
_OUTPUT_DETAILS = ("completion_tokens_details", "output_tokens_details")


def read_usage(raw: dict[str, object]) -> Usage:
    """The counts of one report. Integral floats are taken as integers, null stays unknown, and nothing here ever fails an answer."""
    prompt, output = _nested(raw, _PROMPT_DETAILS), _nested(raw, _OUTPUT_DETAILS)
    return Usage(
        _first((raw.get("prompt_tokens"), raw.get("input_tokens"))),
        _first((raw.get("completion_tokens"), raw.get("output_tokens"))),
        # After the common place: Moonshot, DeepSeek, Anthropic behind a compatible gateway.
        _first((prompt.get("cached_tokens"), raw.get("cached_tokens"), raw.get("prompt_cache_hit_tokens"), raw.get("cache_read_input_tokens"))),
        _first((prompt.get("cache_write_tokens"), raw.get("cache_creation_input_tokens"))),
        _first((output.get("reasoning_tokens"), raw.get("reasoning_tokens"))),
        raw,
    )


def _nested(raw: dict[str, object], names: tuple[str, ...]) -> dict[str, object]:
    for name in names:
        value = raw.get(name)
        if isinstance(value, dict):
            return value
    return {}


def _first(values: tuple[object, ...]) -> int | None:
    """The first value that is a count: an integer, or a float that is one."""
    for value in values:
        if type(value) is int and value >= 0:
            return value
        if type(value) is float and value.is_integer() and value >= 0:
            return int(value)
    return None
