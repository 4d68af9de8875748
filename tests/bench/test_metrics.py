"""The definitions of what is measured, on times that are given."""

from __future__ import annotations

from headwater.bench import DEFINITIONS, Distribution, Sample, Summary, distribution, headline, summarize, table_rows
from headwater.bench.metrics import MEASURES
from headwater.bench.report import NAMES, as_dict
from headwater_codecs.neutral import (
    Event,
    ReasoningDelta,
    Response,
    StreamStart,
    TextDelta,
    TextStart,
    Timing,
    ToolCallDelta,
    ToolCallStart,
    Usage,
    UsageUpdate,
    error_info,
)

START: list[Event] = [StreamStart(), TextStart(0)]


def text(count: int = 1) -> list[Event]:
    """That many text deltas."""
    return [TextDelta(0, "x")] * count


def sample(
    *reads: tuple[float, list[Event]], end: float, tokens: int | None = None, connected: float | None = None, error: str | None = None
) -> Sample:
    """A sample of a call at 100.0 with these reads; moments count from the call."""
    taken = Sample(100.0)
    for moment, events in reads:
        taken.read(events, 100.0 + moment)
    response = Response()
    response.usage = None if tokens is None else Usage(output_tokens=tokens)
    response.timing = Timing(connected=connected)
    taken.finish(response, None if error is None else error_info(error, "x"), 100.0 + end)  # type: ignore[arg-type]
    return taken


def exact(value: float | None) -> float | None:
    """Rounded to a nanosecond: sums of binary fractions are not what they seem."""
    return None if value is None else round(value, 9)


def test_role_chunk_is_no_token() -> None:
    """B302: the first token is the first text, not the role that the server sends at once."""
    taken = sample((0.05, START), (0.30, text()), end=0.5)
    assert exact(taken.first_token) == 0.30


def test_reasoning_is_output() -> None:
    """B303: thinking counts as output; the first text is a number of its own."""
    taken = sample((0.1, [ReasoningDelta(0, "h")]), (0.9, text()), end=1.0)
    assert (exact(taken.first_token), exact(taken.first_text), taken.first_kind) == (0.1, 0.9, "reasoning")


def test_only_reasoning() -> None:
    """B303: a limit that hit while thinking leaves the first text empty, not the first token."""
    taken = sample((0.1, [ReasoningDelta(0, "h")]), end=1.0)
    assert (exact(taken.first_token), taken.first_text) == (0.1, None)


def test_tool_calls_are_output() -> None:
    """B304: an answer of nothing but a call has a first output."""
    taken = sample((0.4, [ToolCallStart(0, "c", "f"), ToolCallDelta(0, "{}")]), end=0.5)
    assert (exact(taken.first_token), taken.first_text, taken.first_kind) == (0.4, None, "tool")


def test_several_tokens_in_a_chunk() -> None:
    """B305: 4 chunks of 5 tokens, 50 ms apart: the gap is 50 ms, the time per token 10 ms."""
    taken = sample(*[(0.1 + 0.05 * number, text()) for number in range(4)], end=0.3, tokens=20)
    assert ([exact(gap) for gap in taken.gaps], exact(taken.tpot)) == ([0.05] * 3, 0.01)


def test_first_token_is_no_gap() -> None:
    """B306: the wait for the first token is not among the gaps."""
    taken = sample(*[(1.0 + 0.01 * number, text()) for number in range(11)], end=2.0)
    assert [exact(gap) for gap in taken.gaps] == [0.01] * 10


def test_events_of_one_read() -> None:
    """B307: 3 events in one read, a pause, 3 events: one gap, and four events that shared a read."""
    taken = sample((0.1, text(3)), (0.13, text(3)), end=0.2)
    assert ([exact(gap) for gap in taken.gaps], taken.coalesced, taken.output_events) == ([0.03], 4, 6)


def test_connection_is_told_apart() -> None:
    """B310: the time to first token counts from the call, and once more from when the connection was there."""
    taken = sample((0.3, text()), end=0.4, connected=0.2)
    assert (exact(taken.first_token), exact(taken.first_token_from_send)) == (0.3, 0.1)


def test_tokens_are_the_providers() -> None:
    """B312: reported usage counts; without it the events are counted, and that is marked."""
    told, guessed = sample((0.1, text(3)), end=1.0, tokens=20), sample((0.1, text(3)), end=1.0)
    assert [(taken.output_tokens, taken.estimated) for taken in (told, guessed)] == [(20, False), (3, True)]


def test_usage_events_are_no_output() -> None:
    """A usage chunk after the text is no chunk of output."""
    taken = sample((0.1, text()), (0.9, [UsageUpdate(Usage(output_tokens=1))]), end=1.0)
    assert (taken.output_events, taken.gaps) == (1, [])


def test_one_token() -> None:
    """B315: an answer of one token has no time per token, and no gap."""
    taken = sample((0.1, text()), end=0.2, tokens=1)
    assert (taken.tpot, taken.gaps) == (None, [])


def test_empty_answer() -> None:
    """An answer without output has an end and nothing else."""
    taken = sample(end=0.2)
    assert (taken.first_token, taken.tpot, taken.tokens_per_second, taken.output_tokens, exact(taken.end_to_end)) == (None, None, None, None, 0.2)


def test_distribution_of_nothing() -> None:
    """B315: no values, no figures."""
    assert distribution([]) == Distribution(0)


def test_distribution_of_few() -> None:
    """B315: percentiles are values that were measured, and say on how few they stand."""
    assert distribution([5.0, 1.0, 2.0, 3.0, 4.0]) == Distribution(5, 3.0, 5.0, 5.0, 1.0, 5.0, 3.0, ("p50", "p90", "p99"))
    hundred = distribution([float(number) for number in range(1, 101)])
    assert (hundred.p50, hundred.p90, hundred.p99, hundred.too_few) == (50.0, 90.0, 99.0, ("p99",))


def failing() -> Summary:
    """Ten requests: seven good ones of 1 s, two cut after 0.1 s, one refused."""
    good = [sample((0.5, text()), (0.9, text()), end=1.0, tokens=10) for _ in range(7)]
    cut = [sample((0.1, text()), end=0.1, error="truncated") for _ in range(2)]
    return summarize([*good, *cut, sample(end=0.01, error="rate_limit")], seconds=10.0, warm_up=2, concurrency=1)


def test_failures_are_a_population_of_their_own() -> None:
    """B313: failed requests make nothing look faster; the rate of success is there."""
    summary = failing()
    assert (summary.requests, summary.succeeded, summary.success_rate, summary.failures) == (10, 7, 0.7, {"truncated": 2, "rate_limit": 1})
    measure = summary.measures["end_to_end"]
    assert (measure.n, exact(measure.p50), exact(measure.min)) == (7, 1.0, 1.0)
    assert (summary.failed_end_to_end.n, exact(summary.failed_end_to_end.p50)) == (3, 0.1)
    assert (summary.output_tokens, summary.output_tokens_per_second) == (70, 7.0)


def test_notes_say_what_to_know() -> None:
    """Warm-up, failures and thin percentiles are said; what did not happen is not."""
    assert failing().notes == [
        "warm-up is not in the figures: 2 earlier",
        "3 of 10 requests failed; their times are kept apart",
        "* fewer values than this percentile needs to stand with 99 % confidence (p50: 11, p90: 64, p99: 662)",
    ]


def test_notes_on_estimates_and_reads() -> None:
    """Estimated tokens and shared reads are flagged."""
    summary = summarize([sample((0.1, text(3)), (0.2, text(3)), end=0.3)], seconds=0.3, warm_up=0, concurrency=1, loop_lag=[0.05])
    assert summary.notes == [
        "no warm-up: the first requests set up connections",
        "output tokens of 1 without reported usage are estimated, one per output event",
        "67% of the output events shared a network read with another one: gaps are between reads, not between tokens",
        "this process was late by 50.0 ms (p99), more than 10% of the time to first token: lower the concurrency",
        "* fewer values than this percentile needs to stand with 99 % confidence (p50: 11, p90: 64, p99: 662)",
    ]


def test_no_samples() -> None:
    """Nothing measured: no rate, no figure, no division by zero."""
    summary = summarize([], seconds=0.0, warm_up=0, concurrency=1)
    assert (summary.success_rate, summary.output_tokens_per_second, set(summary.measures.values())) == (None, None, {Distribution(0)})
    assert headline(summary) == "0 of 0 requests succeeded (none measured), 1 at a time, in 0.00 s"


def test_table() -> None:
    """Milliseconds with a mark where too few values stand behind them, and n beside."""
    rows = {row[0]: row[1:] for row in table_rows(failing())}
    assert rows["time to first token"] == ("ms", "500.0*", "500.0*", "500.0*", "7")
    assert rows["output tokens"] == ("", "10.0*", "10.0*", "10.0*", "7")
    assert rows["connection"] == ("ms", "-", "-", "-", "0")


def test_headline() -> None:
    """The rate of success and the failures by kind stand first."""
    assert headline(failing()) == (
        "7 of 10 requests succeeded (70.0%), 1 at a time, in 10.00 s: 7.0 tokens/s, 0.70 requests/s; "
        "failed: truncated 2, rate_limit 1, after 100 ms (p50)"
    )


def test_every_measure_is_defined_and_named() -> None:
    """No figure without its definition, in the table and in the JSON."""
    assert set(MEASURES) == set(NAMES) == set(DEFINITIONS) - {"load"}
    plain = as_dict(failing(), "m")
    assert (plain["model"], plain["definitions"], plain["success_rate"]) == ("m", DEFINITIONS, 0.7)
