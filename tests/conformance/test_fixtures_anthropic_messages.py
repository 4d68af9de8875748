"""Every anthropic-messages fixture gives its events, wherever the bytes are cut."""

from __future__ import annotations

import pytest

import headwater
from helpers import Fixture, every_split, fixtures, plain_events, with_rows

LONG = 700  # bytes; longer bodies are not cut in two at every place
FIXTURES = fixtures("anthropic-messages")
ROWS = {
    "usage-with-cache": "OR-ANS-01 OR-ANS-09",
    "usage-at-the-end-only": "OR-ANS-05 AMB-69",
    "usage-cache-at-the-end": "OR-ANS-05 AMB-69",
    "text": "OR-ANS-02 OR-ANS-03 WIRE-52",
    "thinking-with-signature": "OR-ANS-02 OR-ANS-03",
    "redacted-thinking": "OR-ANS-02 ISS-55",
    "signature-in-pieces-and-at-start": "OR-ANS-02 OR-ANS-03 ISS-55",
    "server-tool-and-result": "OR-ANS-02 AMB-31",
    "arguments-for-no-call": "OR-ANS-03",
    "delta-without-start": "OR-ANS-03",
    "tool-call": "OR-ANS-03 OR-ANS-04",
    "arguments-at-start": "OR-ANS-04 ISS-33",
    "arguments-at-start-and-deltas": "OR-ANS-04 ISS-33",
    "arguments-cut": "ISS-34 AMB-09",
    "stop-max-tokens": "OR-ANS-06",
    "stop-pause-turn": "OR-ANS-06",
    "stop-sequence": "OR-ANS-06",
    "stop-refusal": "OR-ANS-06 AMB-36",
    "stop-brand-new": "OR-ANS-06 AMB-35",
    "stop-model-context-window-exceeded": "OR-ANS-06",
    "end-without-stop-reason": "OR-ANS-07 ISS-53 AMB-63",
    "end-without-message-stop": "OR-ANS-07 AMB-63",
    "stop-without-reason": "OR-ANS-07",
    "text-without-stop": "OR-ANS-08 AMB-37",
    "call-without-stop": "OR-ANS-08 AMB-37",
    "tool-use-without-call": "ISS-32",
    "pings-and-unknown-events": "WIRE-13 WIRE-52 AMB-72",
    "no-event-lines": "WIRE-13 AMB-62",
    "wrong-event-lines": "WIRE-13 AMB-62",
    "error-overloaded-error": "WIRE-13",
    "nothing-after-message-stop": "WIRE-14",
    "interleaved-blocks": "WIRE-52",
    "whole-message": "WIRE-17",
}


@pytest.mark.parametrize("fixture", with_rows({fixture.name: fixture for fixture in FIXTURES}, ROWS))
def test_fixture(fixture: Fixture) -> None:
    """The events are those that were written down by hand, for every cutting of the bytes."""
    for chunks in every_split(fixture.data, two_way=len(fixture.data) <= LONG):
        events = headwater.decode_events("anthropic-messages", chunks, content_type=fixture.content_type, options=fixture.options)
        assert plain_events(events, fixture.events) == fixture.events


def test_fixtures_are_found() -> None:
    """The loader sees the files: a wrong folder would test nothing."""
    assert len(FIXTURES) >= 75
