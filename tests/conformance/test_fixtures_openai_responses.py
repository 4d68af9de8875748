"""Every openai-responses fixture gives its events, wherever the bytes are cut."""

from __future__ import annotations

import pytest

import headwater
from helpers import Fixture, every_split, fixtures, plain_events, with_rows

LONG = 700  # bytes; longer bodies are not cut in two at every place
FIXTURES = fixtures("openai-responses")
ROWS = {
    "queued-first": "OR-RSS-01",
    "call-before-its-item": "OR-RSS-02",
    "text": "OR-RSS-03 OR-RSS-04",
    "done-without-text": "OR-RSS-04 AMB-33",
    "reasoning-summary": "OR-RSS-05 OR-RSS-07",
    "reasoning-text": "OR-RSS-05",
    "call": "OR-RSS-03 OR-RSS-06 OR-RSS-07",
    "call-without-arguments": "OR-RSS-06",
    "reasoning-encrypted-only": "OR-RSS-07 ISS-55",
    "refusal": "OR-RSS-08 AMB-36",
    "only-the-end": "OR-RSS-09 ISS-17",
    "end-completes-the-text": "OR-RSS-09",
    "incomplete-length": "OR-RSS-10",
    "incomplete-filter": "OR-RSS-10",
    "incomplete-call": "OR-RSS-10 ISS-34",
    "failed": "OR-RSS-11",
    "failed-at-the-start": "OR-RSS-11",
    "error-event": "OR-RSS-11",
    "no-end": "OR-RSS-12 ISS-53 AMB-63",
    "call-under-another-id": "OR-RSS-02",
    "usage-with-details": "OR-RSS-14",
    "usage-none": "OR-RSS-14 AMB-74",
    "unknown-item-as-it-came": "OR-RSS-03 AMB-31",
    "items-of-every-kind": "AMB-31 WIRE-51",
    "done-marker-and-unknown-events": "WIRE-51 AMB-72",
    "no-event-lines": "AMB-62",
    "no-json": "WIRE-18",
    "web-page": "WIRE-17",
    "whole-response": "WIRE-17",
}


@pytest.mark.parametrize("fixture", with_rows({fixture.name: fixture for fixture in FIXTURES}, ROWS))
def test_fixture(fixture: Fixture) -> None:
    """The events are those that were written down by hand, for every cutting of the bytes."""
    for chunks in every_split(fixture.data, two_way=len(fixture.data) <= LONG):
        events = headwater.decode_events("openai-responses", chunks, content_type=fixture.content_type, options=fixture.options)
        assert plain_events(events, fixture.events) == fixture.events


def test_fixtures_are_found() -> None:
    """The loader sees the files: a wrong folder would test nothing."""
    assert len(FIXTURES) >= 45
