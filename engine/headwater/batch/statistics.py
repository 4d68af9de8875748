"""What a batch came to, counted row by row: a pure object that the display reads and the summary is made of.

Latencies of rows that failed are not mixed with those of rows that were answered. Times are kept as packed doubles, 8 bytes a row.
"""

from __future__ import annotations

from array import array
from collections import Counter
from typing import TYPE_CHECKING

from headwater.percentiles import percentile

if TYPE_CHECKING:
    from headwater.batch.run import Result


class Statistics:
    """Counts of the rows so far. `seconds` at any moment is for the caller to say: nothing here looks at a clock."""

    def __init__(self) -> None:
        self.rows = 0
        self.answered = 0
        self.failures: Counter[str] = Counter()  # error kind -> rows
        self.finishes: Counter[str] = Counter()  # finish reason -> answered rows
        self.retries = 0
        self.input_tokens = 0
        self.output_tokens = 0
        self.counted = 0  # rows whose usage the provider reported
        self.first_content: array[float] = array("d")

    @property
    def failed(self) -> int:
        """Rows that have an error, aborted ones included."""
        return self.failures.total()

    def add(self, result: Result) -> None:
        """Count one row, with all its attempts."""
        self.rows += 1
        response = result.response
        if response is not None:
            self.retries += max(0, response.attempts - 1)
            if (usage := response.usage) is not None and usage.output_tokens is not None:
                self.counted += 1
                self.output_tokens += usage.output_tokens
                self.input_tokens += usage.input_tokens or 0
        if (error := result.error) is not None:
            self.failures[error.kind] += 1
            return
        self.answered += 1
        if response is not None:
            self.finishes[response.finish_reason or "unknown"] += 1
            if response.timing.first_content is not None:
                self.first_content.append(response.timing.first_content)

    def summary(self, seconds: float) -> dict[str, object]:
        """Everything as plain values; None where there was nothing to measure. Percentiles are of answered rows."""
        return {
            "rows": self.rows,
            "answered": self.answered,
            "failed": self.failed,
            "failures": dict(self.failures.most_common()),
            "finish_reasons": dict(self.finishes.most_common()),
            "retries": self.retries,
            "seconds": round(seconds, 3),
            "input_tokens": self.input_tokens if self.counted else None,
            "output_tokens": self.output_tokens if self.counted else None,
            "rows_with_usage": self.counted,
            "tokens_per_second": round(self.output_tokens / seconds, 1) if self.counted and seconds > 0 else None,
            "first_content_p50": percentile(self.first_content, 50),
            "first_content_p90": percentile(self.first_content, 90),
        }

    def lines(self, seconds: float) -> list[str]:
        """The summary for people."""
        failed = f", {self.failed} failed ({_counts(self.failures)})" if self.failed else ", none failed"
        lines = [f"{self.rows} rows in {seconds:.1f} s: {self.answered} answered{failed}"]
        if self.finishes:
            lines.append(f"finish reasons: {_counts(self.finishes)}" + (f"; {self.retries} retries" if self.retries else ""))
        if self.counted:
            rate = f", {self.output_tokens / seconds:.1f} tokens/s" if seconds > 0 else ""
            missing = self.rows - self.counted
            note = f" (not in it: {missing} without reported usage)" if missing else ""
            lines.append(f"tokens: {self.input_tokens} in, {self.output_tokens} out{rate}{note}")
        p50, p90 = percentile(self.first_content, 50), percentile(self.first_content, 90)
        if p50 is not None and p90 is not None:
            lines.append(f"time to first content: p50 {p50:.2f} s, p90 {p90:.2f} s (n={len(self.first_content)})")
        return lines


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counter.most_common())
