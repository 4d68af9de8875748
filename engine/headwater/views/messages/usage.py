"""Token counts in or's shape: the input without what a cache gave or took. Rows OR-TYPE-09, OR-CCS-12, OR-RSS-14, OR-ANS-01, 09; AMB-30, 69, 74."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from headwater.views.messages.types import Cost, Usage
from headwater_codecs.neutral.usage import Usage as Counts

CostOf = Callable[[Usage], Cost | None]
# The providers' names for their own sum, where they give one.
_TOTALS = ("total_tokens", "totalTokens", "totalTokenCount")


def read_usage(counts: Counts, cost: CostOf | None = None) -> Usage:
    """The counts of an answer, with its price where `cost` knows one. What was not reported stays None.

    The neutral input includes what a cache gave and took. Where it is smaller than those, or neither told nor to be inferred from
    the total, it is unknown.
    """
    total = _total(counts)
    output = counts.output_tokens
    read = counts.input_tokens or None  # nobody answers a prompt of no tokens
    if read is None and total and output and total > output:
        read = total - output
    cached, written = counts.cached_input_tokens, counts.cache_write_tokens
    fresh = read - (cached or 0) - (written or 0) if read is not None else -1
    known = fresh >= 0
    if total is None and read is not None and output is not None:
        total = read + output
    usage = Usage(fresh if known else None, not known, output, cached, written, total)
    return replace(usage, cost=cost(usage)) if cost is not None else usage


def _total(counts: Counts) -> int | None:
    raw = counts.raw or {}
    return next((total for name in _TOTALS if isinstance(total := raw.get(name), int) and total > 0), None)
