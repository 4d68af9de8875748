"""Token counts of Responses."""

from __future__ import annotations

from headwater_codecs.neutral import Usage
from headwater_codecs.tolerant_json import clean
from headwater_providers.counts import read_count


def read_usage(raw: dict[str, object]) -> Usage:
    """The counts of a response's `usage`."""
    read = raw.get("input_tokens_details")
    written = raw.get("output_tokens_details")
    read = read if isinstance(read, dict) else {}
    written = written if isinstance(written, dict) else {}
    kept = clean(raw)
    assert isinstance(kept, dict)
    return Usage(
        read_count(raw.get("input_tokens")),
        read_count(raw.get("output_tokens")),
        read_count(read.get("cached_tokens")),
        read_count(read.get("cache_write_tokens")),
        read_count(written.get("reasoning_tokens")),
        kept,
    )
