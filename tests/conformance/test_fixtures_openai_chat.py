"""Every openai-chat fixture gives its events, wherever the bytes are cut."""

from __future__ import annotations

import pytest

import headwater
from helpers import Fixture, every_split, fixtures, plain_events, with_rows

LONG = 2000  # bytes; longer bodies are not cut in two at every place
FIXTURES = fixtures("openai-chat")
ROWS = {
    "choices-empty-first": "OR-CCS-01 AMB-56 WIRE-50",
    "usage-details": "OR-CCS-12",
    "usage-on-every-chunk": "OR-CCS-01 AMB-69",
    "usage-null-afterwards": "AMB-69 AMB-74",
    "usage-missing": "AMB-74",
    "usage-in-choice": "OR-CCS-02 ISS-42",
    "two-choices-interleaved": "OR-CCS-02",
    "reasoning-then-text": "OR-CCS-03",
    "reasoning-field-reasoning": "OR-CCS-03",
    "reasoning-mirrored": "OR-CCS-03",
    "text-reasoning-text": "OR-CCS-04 AMB-21",
    "tool-call-between-texts": "OR-CCS-04 AMB-21",
    "everything-beside-the-text": "WIRE-50",
    "tool-call-in-pieces": "OR-CCS-06",
    "tool-calls-interleaved": "OR-CCS-06 AMB-28 AMB-50 ISS-41",
    "tool-call-name-in-pieces": "OR-CCS-06",
    "tool-calls-index-missing-pieces": "OR-CCS-07 AMB-28 ISS-41",
    "tool-calls-same-index": "OR-CCS-08 AMB-28 ISS-40",
    "tool-call-id-changes": "OR-CCS-08 AMB-28",
    "tool-call-id-null-later": "AMB-28 ISS-41",
    "tool-call-nameless": "ISS-36",
    "content-filter": "OR-CCS-09",
    "tool-call-finish-function-call": "OR-CCS-09",
    "finish-reason-unheard-of": "OR-CCS-09 AMB-35",
    "neither-finish-nor-done": "OR-CCS-09 ISS-39 ISS-53 AMB-63",
    "tool-call-finish-stop": "OR-CCS-10 AMB-29",
    "tool-calls-finish-without-call": "ISS-32",
    "tool-call-cut-by-eof": "OR-CCS-13 ISS-34 AMB-09 AMB-37",
    "tool-call-cut-by-length": "ISS-34 AMB-09",
    "reasoning-encrypted": "PI-CCS-14",
    "reasoning-details-signature": "PI-CCS-14",
    "refusal": "AMB-36",
    "message-in-chunk": "ISS-54",
    "message-repeats-deltas": "ISS-54",
    "no-bytes": "ISS-56",
    "only-keep-alives": "ISS-37 WIRE-04",
    "keep-alives": "ISS-37 WIRE-04",
    "byte-order-mark": "WIRE-02",
    "line-ends-mixed": "WIRE-02",
    "json-over-several-data-lines": "WIRE-05",
    "cut-inside-frame": "WIRE-07 AMB-60",
    "done-with-space-and-no-blank-line": "WIRE-07 WIRE-10 AMB-60",
    "frames-after-done": "WIRE-10",
    "finish-without-done": "WIRE-10 AMB-63",
    "done-without-finish": "AMB-63",
    "error-null": "WIRE-12 AMB-61",
    "error-beside-empty-choices": "WIRE-12",
    "html-page": "WIRE-17",
    "event-stream-labelled-json": "WIRE-17",
    "whole-completion": "WIRE-17",
    "plain-text-in-data": "WIRE-18",
    "frames-that-are-no-objects": "WIRE-18",
    "frames-that-are-no-objects-strict": "WIRE-18",
    "invalid-utf8": "WIRE-19",
    "surrogate-pair-cut": "AMB-71",
}


@pytest.mark.parametrize("fixture", with_rows({fixture.name: fixture for fixture in FIXTURES}, ROWS))
def test_fixture(fixture: Fixture) -> None:
    """The events are those that were written down by hand, for every cutting of the bytes."""
    for chunks in every_split(fixture.data, two_way=len(fixture.data) <= LONG):
        events = headwater.decode_events("openai-chat", chunks, content_type=fixture.content_type, options=fixture.options)
        assert plain_events(events, fixture.events) == fixture.events


def test_fixtures_are_found() -> None:
    """The loader sees the files: a wrong folder would test nothing."""
    assert len(FIXTURES) >= 100
