"""Percentiles by nearest rank: always a value that was measured, never one between two or beyond the largest.

The standard library's `statistics.quantiles` interpolates (and extrapolates beyond the sample by default), and a histogram library would
round; both are wrong for the short samples that most runs have.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil

# Samples from which a percentile is known to be at least so high with 99 % confidence (MLPerf's early-stopping rule).
ENOUGH: dict[float, int] = {50: 11, 75: 24, 90: 64, 95: 130, 99: 662, 99.9: 6636}


def percentile(values: Iterable[float], p: float) -> float | None:
    """The smallest value that at least `p` percent of the values do not exceed; None for no values."""
    return rank(sorted(values), p)


def rank(ordered: Sequence[float], p: float) -> float | None:
    """`percentile` of values that are already sorted."""
    if not ordered:
        return None
    return ordered[max(0, ceil(p * len(ordered) / 100) - 1)]
