"""How long a provider asks to be left alone, in seconds: the places it may say so, best first.

`retry-after-ms`, `Retry-After` (seconds or a date), the reset headers of rate limits, `retryDelay` in the body, "try again in 1.2s" in the
message. Dates are read against the response's own `Date` header, so a wrong clock here does no harm. What is negative or no time at all is
ignored; a date that has passed is zero. Capping a long wait is not this module's business.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_UNITS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:d|h|ms|m|us|µs|ns|s))+")
_PIECE = re.compile(r"(\d+(?:\.\d+)?)(d|h|ms|m|us|µs|ns|s)")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_IN_WORDS = re.compile(
    r"(?:try again|retry|retrying|wait)(?: after| in| for)?\s+(?:about )?"
    r"(?:((?:\d+(?:\.\d+)?(?:h|ms|m|s))+)\b|(\d+(?:\.\d+)?)\s*(milliseconds?|sec|secs|seconds?|min|mins|minutes?|hours?)\b)",
    re.IGNORECASE,
)
_EPOCH = 1_000_000_000  # a plain number above it is a moment, not a wait of thirty years
_EPOCH_MS = 1_000_000_000_000
_MAX_DEPTH = 6  # how deep `retryDelay` is looked for in a body


def retry_after(headers: Mapping[str, str], body: object = None, message: str = "", *, now: float | None = None) -> float | None:
    """The wait asked for in seconds, never negative; None when nothing says so.

    Header names are lower case. `body` is the decoded error body. `now` (seconds since 1970) stands in for a missing `Date` header; the
    clock is read when it is None too.
    """
    if (wait := _number(headers.get("retry-after-ms"))) is not None:
        return wait / 1000
    moment = _date(headers.get("date", ""))
    clock = moment if moment is not None else time.time() if now is None else now
    if (wait := _number(headers.get("retry-after"))) is not None:
        return wait
    if (moment := _date(headers.get("retry-after", ""))) is not None:
        return max(0.0, moment - clock)
    if (wait := _rate_limit_reset(headers, clock)) is not None:
        return wait
    for value in _retry_delays(body, 0):
        if (wait := read_wait(value, clock)) is not None:
            return wait
    return _in_words(message)


def read_wait(value: object, clock: float) -> float | None:
    """One wait in any notation: seconds, `6m0s`, `120ms`, a moment since 1970, an ISO time, an HTTP date. None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return _moment(float(value), clock) if math.isfinite(value) and value >= 0 else None
    if not isinstance(value, str):
        return None
    text = value.strip()
    if (number := _number(text)) is not None:
        return _moment(number, clock)
    if _DURATION.fullmatch(text):
        return _sum_pieces(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        date = _date(text)
        return None if date is None else max(0.0, date - clock)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, moment.timestamp() - clock)


def _number(text: str | None) -> float | None:
    text = (text or "").strip()
    return float(text) if _NUMBER.fullmatch(text) else None


def _moment(number: float, clock: float) -> float:
    if number >= _EPOCH_MS:
        return max(0.0, number / 1000 - clock)
    return max(0.0, number - clock) if number >= _EPOCH else number


def _sum_pieces(text: str) -> float:
    return sum(float(number) * _UNITS[unit] for number, unit in _PIECE.findall(text))


def _date(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp() if text.strip() else None
    except (ValueError, TypeError, OverflowError):
        return None


def _rate_limit_reset(headers: Mapping[str, str], clock: float) -> float | None:
    """The wait until a used-up limit is reset. Where no limit says that it is used up: the shortest, since a longer one may not be the cause."""
    exhausted: list[float] = []
    others: list[float] = []
    for name, value in headers.items():
        if "ratelimit" not in name or "reset" not in name:
            continue
        wait = read_wait(value, clock)
        if wait is None:
            continue
        remaining = _number(headers.get(name.replace("reset", "remaining")))
        (exhausted if remaining == 0 else others).append(wait)
    if exhausted:
        return max(exhausted)
    return min(others) if others else None


def _retry_delays(body: object, depth: int) -> Iterator[object]:
    """Every `retryDelay` (google.rpc.RetryInfo) and `retry_after` in a body."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(body, dict):
        for key in ("retryDelay", "retry_delay", "retry_after", "retryAfter", "retry_after_seconds"):
            if key in body:
                yield body[key]
        for value in body.values():
            yield from _retry_delays(value, depth + 1)
    elif isinstance(body, list):
        for value in body:
            yield from _retry_delays(value, depth + 1)


def _in_words(message: str) -> float | None:
    match = _IN_WORDS.search(message)
    if match is None:
        return None
    short, number, word = match.groups()
    if short:
        return _sum_pieces(short.lower())
    unit = "ms" if word.lower().startswith("milli") else word[0].lower()
    return float(number) * _UNITS[unit]
