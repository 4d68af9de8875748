"""A benchmark's summary for people (rows of a table, notes, definitions) and for programs (plain values)."""

from __future__ import annotations

from headwater.bench.metrics import DEFINITIONS, MEASURES, SECONDS, Distribution, Summary
from headwater.plain import PlainDict

NAMES = {
    "connected": "connection",
    "headers": "headers",
    "first_event": "time to first event",
    "first_token": "time to first token",
    "first_token_from_send": "  from send",
    "first_text": "time to first text",
    "gap": "gap between chunks",
    "tpot": "time per output token",
    "end_to_end": "end to end",
    "tokens_per_second": "tokens/s per request",
    "output_tokens": "output tokens",
}
VERSION = 1  # of the JSON form


def table_rows(summary: Summary) -> list[tuple[str, str, str, str, str, str]]:
    """Name, unit, p50, p90, p99, n. A figure that stands on too few values is marked with `*`."""
    return [_table_row(NAMES[name], name in SECONDS, summary.measures[name]) for name in MEASURES]


def headline(summary: Summary) -> str:
    """Success rate and throughput in one line; the failures by kind."""
    rate = "none measured" if summary.success_rate is None else f"{summary.success_rate:.1%}"
    line = f"{summary.succeeded} of {summary.requests} requests succeeded ({rate}), {summary.concurrency} at a time, in {summary.seconds:.2f} s"
    if summary.output_tokens_per_second is not None and summary.requests_per_second is not None:
        mark = "~" if summary.estimated else ""
        line += f": {mark}{summary.output_tokens_per_second:.1f} tokens/s, {summary.requests_per_second:.2f} requests/s"
    if summary.failures:
        kinds = ", ".join(f"{kind} {count}" for kind, count in summary.failures.items())
        after = summary.failed_end_to_end.p50
        line += f"; failed: {kinds}" + (f", after {1000 * after:.0f} ms (p50)" if after is not None else "")
    return line


def definitions() -> list[tuple[str, str]]:
    """What each figure means, for the reader."""
    return [(NAMES.get(name, name).strip(), text) for name, text in DEFINITIONS.items()]


def as_dict(summary: Summary, model: str) -> PlainDict:
    """The whole summary with its definitions. Times are in seconds; None where nothing was measured."""
    plain: PlainDict = {"version": VERSION, "model": model}
    plain |= {name: _plain(getattr(summary, name)) for name in summary.__struct_fields__}
    return plain | {"definitions": dict(DEFINITIONS)}


def _plain(value: object) -> object:
    if isinstance(value, Distribution):
        return {name: list(item) if isinstance(item := getattr(value, name), tuple) else item for name in value.__struct_fields__}
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _table_row(name: str, seconds: bool, values: Distribution) -> tuple[str, str, str, str, str, str]:
    figures = [_figure(getattr(values, p), seconds, p in values.too_few) for p in ("p50", "p90", "p99")]
    return name, "ms" if seconds else "", *figures, str(values.n)  # type: ignore[return-value]  # three figures, always


def _figure(value: float | None, seconds: bool, few: bool) -> str:
    if value is None:
        return "-"
    return f"{1000 * value if seconds else value:.1f}{'*' if few else ''}"
