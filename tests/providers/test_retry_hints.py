"""How long to wait, from every place that providers say it in (B262, B263)."""

from __future__ import annotations

import pytest

from headwater_providers.retry_hints import read_wait, retry_after

NOW = 1_445_412_420.0  # Wed, 21 Oct 2015 07:27:00 GMT
MESSAGE = "Rate limit reached. Please try again in 1.2s. Visit the site."


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": " 7 "}, 7.0),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "abc"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 60.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:27:00 GMT"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:00:00 GMT"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT", "date": "Wed, 21 Oct 2015 07:27:50 GMT"}, 10.0),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after-ms": "x", "retry-after": "1"}, 1.0),
        ({"x-ratelimit-reset-tokens": "6m0s"}, 360.0),
        ({"x-ratelimit-reset-requests": "120ms"}, 0.12),
        ({"x-ratelimit-reset-requests": "1h2m3.5s"}, 3723.5),
        ({"x-ratelimit-reset": "1445412430"}, 10.0),
        ({"x-ratelimit-reset": "1445412430000"}, 10.0),
        ({"x-ratelimit-reset": "30"}, 30.0),
        ({"anthropic-ratelimit-tokens-reset": "2015-10-21T07:27:20Z"}, 20.0),
        ({"anthropic-ratelimit-tokens-reset": "2015-10-21T09:27:20+02:00"}, 20.0),
        ({"x-ratelimit-reset-tokens": "6m0s", "x-ratelimit-reset-requests": "2s"}, 2.0),
        ({"x-ratelimit-reset-tokens": "6m0s", "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-requests": "2s"}, 360.0),
        ({"x-ratelimit-reset-tokens": "junk"}, None),
        ({"retry-after": "5", "x-ratelimit-reset-tokens": "6m0s"}, 5.0),
    ],
)
def test_headers(headers: dict[str, str], expected: float | None) -> None:
    """Milliseconds first, then Retry-After, then the reset of a limit; what is no time is ignored."""
    assert retry_after(headers, now=NOW) == (None if expected is None else pytest.approx(expected))


def test_body_and_message_come_last() -> None:
    """RetryInfo in the body counts when no header does, the words of the message when nothing else does."""
    body = {"error": {"details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "21s"}]}}
    assert retry_after({"retry-after": "3"}, body, MESSAGE, now=NOW) == 3.0
    assert retry_after({}, body, MESSAGE, now=NOW) == 21.0
    assert retry_after({}, [body], "", now=NOW) == 21.0
    assert retry_after({}, None, MESSAGE, now=NOW) == 1.2


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("try again in 1.2s", 1.2),
        ("Please try again in 6m0s.", 360.0),
        ("please retry after 20 seconds", 20.0),
        ("Please wait 2 minutes", 120.0),
        ("Try again in 120ms", 0.12),
        ("retry in 850 milliseconds", 0.85),
        ("try again in 1m2.5s.", 62.5),
        ("try again later", None),
        ("try again in 5 apples", None),
    ],
)
def test_words(message: str, expected: float | None) -> None:
    """The message's own words are read, with their units."""
    assert retry_after({}, None, message, now=NOW) == (None if expected is None else pytest.approx(expected))


def test_the_clock_stands_in_for_a_missing_date() -> None:
    """Without Date header and without a given moment, a date long past is a wait of zero."""
    assert retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0.0


@pytest.mark.parametrize("value", [True, None, [], float("nan"), -1, "-1s", "1 s", "12q", "99999-01-01"])
def test_what_is_no_wait(value: object) -> None:
    """Anything that is no time is None, never an error."""
    assert read_wait(value, NOW) is None


def test_a_deep_body_ends_somewhere() -> None:
    """A body nested without end is not followed for ever."""
    body: object = {"retryDelay": "1s"}
    for _ in range(5000):
        body = {"x": body}
    assert retry_after({}, body, now=NOW) is None
