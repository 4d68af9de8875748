"""Token counts of Messages: the input counts beside what a cache gave, so the total adds them up; later reports repeat or complete earlier ones."""

from __future__ import annotations

from headwater_codecs.neutral import Usage
from headwater_codecs.tolerant_json import clean
from headwater_providers.counts import read_count

_NAME = "amazon-bedrock-invocationMetrics"
_METRICS = {
    "input_tokens": "inputTokenCount",
    "output_tokens": "outputTokenCount",
    "cache_read_input_tokens": "cacheReadInputTokenCount",
    "cache_creation_input_tokens": "cacheWriteInputTokenCount",
}


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


def read_metrics(raw: dict[str, object], before: Usage | None) -> Usage:
    """What Bedrock counted (in the last event of a stream): it stands in for what the model's own counts leave open."""
    named = {name: raw[wire] for name, wire in _METRICS.items() if wire in raw}
    known = before or Usage()
    earlier = known.raw or {}
    usage = read_usage({name: value for name, value in named.items() if earlier.get(name) is None}, before)
    return Usage(usage.input_tokens, usage.output_tokens, usage.cached_input_tokens, usage.cache_write_tokens, None, {_NAME: clean(raw)})


def _part(name: str, raw: dict[str, object], earlier: dict[str, object]) -> int | None:
    now, then = read_count(raw.get(name)), read_count(earlier.get(name))
    return then if now is None or (now == 0 and then) else now
