"""Every gemini fixture gives its events, wherever the bytes are cut."""

from __future__ import annotations

import pytest

import headwater
from helpers import Fixture, every_split, fixtures, plain_events

LONG = 700  # bytes; longer bodies are not cut in two at every place
FIXTURES = fixtures("gemini")


@pytest.mark.parametrize("fixture", FIXTURES, ids=[fixture.name for fixture in FIXTURES])
def test_fixture(fixture: Fixture) -> None:
    """The events are those that were written down by hand, for every cutting of the bytes."""
    for chunks in every_split(fixture.data, two_way=len(fixture.data) <= LONG):
        events = headwater.decode_events("gemini", chunks, content_type=fixture.content_type, options=fixture.options)
        assert plain_events(events, fixture.events) == fixture.events


def test_fixtures_are_found() -> None:
    """The loader sees the files: a wrong folder would test nothing."""
    assert len(FIXTURES) >= 64
