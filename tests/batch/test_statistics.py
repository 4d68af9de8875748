"""Counting rows: answered and failed ones apart, and nothing divided by nothing."""

from __future__ import annotations

from counted_rows import filled
from headwater.batch import Statistics
from headwater.cli.progress import progress_line


def test_summary() -> None:
    """Everything is counted once; times are of answered rows only."""
    assert filled().summary(4.0) == {
        "rows": 5,
        "answered": 3,
        "failed": 2,
        "failures": {"truncated": 1, "auth": 1},
        "finish_reasons": {"stop": 2, "length": 1},
        "retries": 2,
        "seconds": 4.0,
        "input_tokens": 12,
        "output_tokens": 8,
        "rows_with_usage": 4,
        "tokens_per_second": 2.0,
        "first_content_p50": 2.0,
        "first_content_p90": 3.0,
    }


def test_lines() -> None:
    """The same for people."""
    assert filled().lines(4.0) == [
        "5 rows in 4.0 s: 3 answered, 2 failed (truncated 1, auth 1)",
        "finish reasons: stop 2, length 1; 2 retries",
        "tokens: 12 in, 8 out, 2.0 tokens/s (not in it: 1 without reported usage)",
        "time to first content: p50 2.00 s, p90 3.00 s (n=3)",
    ]


def test_nothing() -> None:
    """No rows: nothing is measured and nothing fails."""
    statistics = Statistics()
    summary = statistics.summary(0.0)
    assert (summary["rows"], summary["tokens_per_second"], summary["output_tokens"], summary["first_content_p50"]) == (0, None, None, None)
    assert statistics.lines(0.0) == ["0 rows in 0.0 s: 0 answered, none failed"]


def test_progress_line() -> None:
    """How far it is: rows of the total where it is known, failures, tokens/s, seconds."""
    assert progress_line(filled(), 10, 4.0) == "5/10 rows, 2 failed, 2.0 tokens/s, 4 s"
    assert progress_line(Statistics(), None, 10.0) == "0 rows, 0 failed, 10 s"
