"""Token counts of Messages: the input counts beside what a cache gave, so the total adds them up; later reports repeat or complete earlier ones."""

from __future__ import annotations

from headwater_codecs.neutral import Usage
from headwater_codecs.tolerant_json import clean
from headwater_providers.counts import read_count


def read_usage(raw: dict[str, object], before: Usage | None = None) -> Usage:
    """The counts of one report. `before` is the sum so far: its parts stand in for those that this report leaves out, is null about, or has zero."""
    earlier = before.raw if before is not None and before.raw is not None else {}
    fresh, cached, written = (_part(name, raw, earlier) for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"))
    total = None if fresh is None else fresh + (cached or 0) + (written or 0)
    details = raw.get("output_tokens_details")
    thought = read_count(details.get("thinking_tokens")) if isinstance(details, dict) else None
    kept = clean({name: value for name, value in raw.items() if value is not None and not (value == 0 and earlier.get(name))})
    assert isinstance(kept, dict)
    return Usage(total, read_count(raw.get("output_tokens")), cached, written, thought, kept)


def _part(name: str, raw: dict[str, object], earlier: dict[str, object]) -> int | None:
    now, then = read_count(raw.get(name)), read_count(earlier.get(name))
    return then if now is None or (now == 0 and then) else now
