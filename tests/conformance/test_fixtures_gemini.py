"""Every gemini fixture gives its events, wherever the bytes are cut."""

from __future__ import annotations

import pytest

import headwater
from helpers import Fixture, every_split, fixtures, plain_events, with_rows

LONG = 700  # bytes; longer bodies are not cut in two at every place
FIXTURES = fixtures("gemini")
ROWS = {
    "thoughts-and-signatures": "PI-GO-01 ISS-03",
    "calls-in-one-chunk": "PI-GO-01",
    "calls-with-one-id": "PI-GO-01",
    "signature-alone": "PI-GO-01 ISS-04",
    "signed-texts-stay-apart": "ISS-04",
    "finish-max-tokens": "PI-GO-02",
    "finish-safety": "PI-GO-02",
    "usage-thoughts-beside": "PI-GO-02 AMB-30",
    "usage-after-finish": "ISS-09",
    "metadata-first": "ISS-02",
    "call-then-finish-alone": "ISS-15",
    "empty-answer": "ISS-15",
    "progressive-call": "ISS-11 ISS-12",
    "comments-and-done": "WIRE-15",
    "error-without-data-prefix": "WIRE-15",
    "error-in-stream": "WIRE-15 WIRE-53",
    "array": "WIRE-16",
    "text": "WIRE-53",
}


@pytest.mark.parametrize("fixture", with_rows({fixture.name: fixture for fixture in FIXTURES}, ROWS))
def test_fixture(fixture: Fixture) -> None:
    """The events are those that were written down by hand, for every cutting of the bytes."""
    for chunks in every_split(fixture.data, two_way=len(fixture.data) <= LONG):
        events = headwater.decode_events("gemini", chunks, content_type=fixture.content_type, options=fixture.options)
        assert plain_events(events, fixture.events) == fixture.events


def test_fixtures_are_found() -> None:
    """The loader sees the files: a wrong folder would test nothing."""
    assert len(FIXTURES) >= 64
