"""Percentiles by nearest rank."""

from __future__ import annotations

import pytest

from headwater.percentiles import percentile, rank


@pytest.mark.parametrize(
    ("values", "p", "expected"),
    [
        ([], 50, None),
        ([7.0], 1, 7.0),
        ([7.0], 99, 7.0),
        ([4.0, 1.0, 3.0, 2.0], 50, 2.0),
        ([4.0, 1.0, 3.0, 2.0], 75, 3.0),
        ([4.0, 1.0, 3.0, 2.0], 76, 4.0),
        ([4.0, 1.0, 3.0, 2.0], 0, 1.0),
        ([4.0, 1.0, 3.0, 2.0], 100, 4.0),
    ],
)
def test_percentile(values: list[float], p: float, expected: float | None) -> None:
    """The smallest value that at least p percent do not exceed; None of nothing."""
    assert percentile(values, p) == expected


def test_rank_of_a_thousand() -> None:
    """p99 of 1 to 1000 is 990, and p99.9 is 999."""
    ordered = [float(number) for number in range(1, 1001)]
    assert (rank(ordered, 99), rank(ordered, 99.9)) == (990.0, 999.0)
