"""What a benchmark measures, as pure objects: `Sample` for one request, `Summary` over many. The definitions are data and are printed.

A sample is fed what each network read brought, with its moment. Gaps are between reads, because a gap of zero between two events of one read,
followed by a long one, says nothing about the provider; how many events shared a read is reported. Requests that failed are a population of
their own; a success rate stands beside everything. All times are seconds of a monotonic clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct

from headwater.percentiles import ENOUGH, rank
from headwater_codecs.neutral import ErrorInfo, Event, OpaqueStart, ReasoningDelta, RefusalDelta, Response, TextDelta, ToolCallDelta, ToolCallStart

OutputKind = Literal["text", "reasoning", "refusal", "tool", "other"]

FLAG_COALESCED = 0.2  # share of output events that shared a read, from which on the report says so
FLAG_LAG = 0.1  # event-loop lag, as a share of what is measured, from which on the report says so

# Event type -> what it is the output of. Role chunks, pings, usage and the ends of blocks are no output.
OUTPUT: dict[type, OutputKind] = {
    TextDelta: "text",
    ReasoningDelta: "reasoning",
    RefusalDelta: "refusal",
    ToolCallStart: "tool",
    ToolCallDelta: "tool",
    OpaqueStart: "other",
}

DEFINITIONS: dict[str, str] = {
    "connected": "from the call to a connection being there: name look-up, TCP, TLS; near zero when one is reused",
    "headers": "from the call to the headers of the response",
    "first_event": "from the call to the first byte of the response body (a role chunk or a ping counts)",
    "first_token": "from the call to the first output of any kind: text, reasoning, refusal, tool call (time to first token)",
    "first_token_from_send": "the same from the moment the connection was there and the request was sent: without name look-up, TCP, TLS",
    "first_text": "from the call to the first text (a model that thinks first has a later first text)",
    "gap": "between two reads that brought output, all requests pooled; the first token is not in it",
    "tpot": "(last output - first output) / (output tokens - those of the first read), per request; none for an answer of one token",
    "end_to_end": "from the call to the end of the stream",
    "tokens_per_second": "output tokens / (last output - call), per request",
    "output_tokens": "as the provider reports them, reasoning included; where it reports none, one per output event, marked as an estimate",
    "load": "closed loop: a request starts when another ends, so a stalled server also stalls the sender; latencies count from the actual call",
}
MEASURES = tuple(name for name in DEFINITIONS if name != "load")
SECONDS = frozenset(MEASURES) - {"tokens_per_second", "output_tokens"}
PERCENTILES = (50, 90, 99)


class Sample:
    """One request. `read` is called for every batch of events with its moment, `finish` once with the response."""

    def __init__(self, called: float) -> None:
        self.called = called
        self.error: ErrorInfo | None = None
        self.first_kind: OutputKind | None = None
        self.output_events = 0
        self.estimated = False
        self.output_tokens: int | None = None
        self.cached_input_tokens: int | None = None
        self.end_to_end: float | None = None
        self.connected: float | None = None
        self.headers: float | None = None
        self.first_event: float | None = None
        self._first_text: float | None = None
        self._reads: list[float] = []  # moments of the reads that brought output
        self._first_read_events = 0

    def read(self, events: Iterable[Event], now: float) -> None:
        """Take in what one read brought at `now`."""
        kinds = [kind for event in events if (kind := OUTPUT.get(type(event))) is not None]
        if not kinds:
            return
        if not self._reads:
            self.first_kind = kinds[0]
            self._first_read_events = len(kinds)
        if self._first_text is None and "text" in kinds:
            self._first_text = now
        self._reads.append(now)
        self.output_events += len(kinds)

    def finish(self, response: Response | None, error: ErrorInfo | None, now: float) -> None:
        """The request is over."""
        self.end_to_end = now - self.called
        self.error = error
        if response is None:
            return
        self.connected = response.timing.connected
        self.headers = response.timing.headers
        self.first_event = response.timing.first_byte
        usage = response.usage
        self.output_tokens = usage.output_tokens if usage is not None else None
        self.cached_input_tokens = usage.cached_input_tokens if usage is not None else None
        if self.output_tokens is None and self.output_events:
            self.output_tokens, self.estimated = self.output_events, True

    @property
    def first_token(self) -> float | None:
        """Time to first token."""
        return self._reads[0] - self.called if self._reads else None

    @property
    def first_token_from_send(self) -> float | None:
        """Time to first token without setting up the connection."""
        return None if self.first_token is None or self.connected is None else max(0.0, self.first_token - self.connected)

    @property
    def first_text(self) -> float | None:
        """Time to the first text."""
        return None if self._first_text is None else self._first_text - self.called

    @property
    def gaps(self) -> list[float]:
        """Between reads that brought output; one fewer than there were."""
        return [later - earlier for earlier, later in zip(self._reads, self._reads[1:], strict=False)]

    @property
    def coalesced(self) -> int:
        """Output events that came with another one in the same read."""
        return self.output_events - len(self._reads)

    @property
    def tpot(self) -> float | None:
        """Time per output token after the first read. A chunk may hold several tokens: the first read's share goes by its events."""
        if not self.output_tokens or not self.output_events:
            return None
        later = self.output_tokens * (1 - self._first_read_events / self.output_events)
        return (self._reads[-1] - self._reads[0]) / later if later > 0 else None

    @property
    def tokens_per_second(self) -> float | None:
        """Output tokens over the time until the last of them."""
        if not self.output_tokens or not self._reads or self._reads[-1] <= self.called:
            return None
        return self.output_tokens / (self._reads[-1] - self.called)


class Distribution(Struct, frozen=True):
    """Percentiles of one measure, with the number of values. Those in `too_few` stand on fewer than their 99 % confidence needs."""

    n: int
    p50: float | None = None
    p90: float | None = None
    p99: float | None = None
    min: float | None = None
    max: float | None = None
    mean: float | None = None
    too_few: tuple[str, ...] = ()


def distribution(values: Iterable[float]) -> Distribution:
    """The distribution of some values; every figure None when there are none."""
    ordered = sorted(values)
    if not ordered:
        return Distribution(0)
    few = tuple(f"p{p}" for p in PERCENTILES if len(ordered) < ENOUGH[p])
    p50, p90, p99 = (rank(ordered, p) for p in PERCENTILES)
    return Distribution(len(ordered), p50, p90, p99, ordered[0], ordered[-1], sum(ordered) / len(ordered), few)


class Summary(Struct, frozen=True, kw_only=True):
    """A run. `measures` are of requests that succeeded, `failed_end_to_end` of those that did not; warm-up requests are in neither."""

    requests: int
    succeeded: int
    success_rate: float | None
    failures: dict[str, int]
    measures: dict[str, Distribution]
    failed_end_to_end: Distribution
    seconds: float
    output_tokens: int
    output_tokens_per_second: float | None
    requests_per_second: float | None
    estimated: int
    first_output: dict[str, int]
    coalesced_share: float | None
    cached_input_tokens: int | None
    loop_lag: Distribution
    warm_up: int
    concurrency: int
    notes: list[str]


def summarize(samples: Sequence[Sample], *, seconds: float, warm_up: int, concurrency: int, loop_lag: Sequence[float] = ()) -> Summary:
    """The summary of the measured samples. `seconds` is the time from the first call to the last end, `warm_up` how many came before."""
    good = [sample for sample in samples if sample.error is None]
    bad = [sample for sample in samples if sample.error is not None]
    measures = {name: distribution(_values(good, name)) for name in MEASURES}
    events = sum(sample.output_events for sample in good)
    coalesced = sum(sample.coalesced for sample in good)
    tokens = sum(sample.output_tokens or 0 for sample in good)
    cached = [sample.cached_input_tokens for sample in good if sample.cached_input_tokens is not None]
    summary = Summary(
        requests=len(samples),
        succeeded=len(good),
        success_rate=len(good) / len(samples) if samples else None,
        failures=dict(Counter(sample.error.kind for sample in bad if sample.error is not None).most_common()),
        measures=measures,
        failed_end_to_end=distribution(_values(bad, "end_to_end")),
        seconds=seconds,
        output_tokens=tokens,
        output_tokens_per_second=tokens / seconds if seconds > 0 and good else None,
        requests_per_second=len(good) / seconds if seconds > 0 and good else None,
        estimated=sum(sample.estimated for sample in good),
        first_output=dict(Counter(sample.first_kind for sample in good if sample.first_kind is not None).most_common()),
        coalesced_share=coalesced / events if events else None,
        cached_input_tokens=sum(cached) if cached else None,
        loop_lag=distribution(loop_lag),
        warm_up=warm_up,
        concurrency=concurrency,
        notes=[],
    )
    summary.notes.extend(_notes(summary))
    return summary


def _values(samples: Iterable[Sample], name: str) -> list[float]:
    if name == "gap":
        return [gap for sample in samples for gap in sample.gaps]
    return [value for sample in samples if (value := getattr(sample, name)) is not None]


def _notes(summary: Summary) -> list[str]:
    """What a reader has to know before believing the figures."""
    notes = [f"warm-up is not in the figures: {summary.warm_up} earlier" if summary.warm_up else "no warm-up: the first requests set up connections"]
    if summary.requests > summary.succeeded:
        notes.append(f"{summary.requests - summary.succeeded} of {summary.requests} requests failed; their times are kept apart")
    if summary.estimated:
        notes.append(f"output tokens of {summary.estimated} without reported usage are estimated, one per output event")
    if summary.coalesced_share is not None and summary.coalesced_share >= FLAG_COALESCED:
        notes.append(
            f"{summary.coalesced_share:.0%} of the output events shared a network read with another one: gaps are between reads, not between tokens"
        )
    if summary.cached_input_tokens:
        notes.append(f"{summary.cached_input_tokens} input tokens came from the provider's cache: use --unique for prompts that differ")
    lag, first = summary.loop_lag.p99, summary.measures["first_token"].p50
    if lag is not None and first is not None and lag > FLAG_LAG * first:
        notes.append(
            f"this process was late by {1000 * lag:.1f} ms (p99), more than {FLAG_LAG:.0%} of the time to first token: lower the concurrency"
        )
    if any(measure.too_few for measure in summary.measures.values() if measure.n):
        notes.append("* fewer values than this percentile needs to stand with 99 % confidence (p50: 11, p90: 64, p99: 662)")
    return notes
