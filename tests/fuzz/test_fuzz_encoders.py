"""No lawful stream of events makes an encoder raise, and what it wrote is a lawful stream again."""

from __future__ import annotations

from hypothesis import given, settings

from fuzz.checks import check_encoders
from headwater_codecs.neutral import Event
from round_trip import streams


@settings(max_examples=100)
@given(streams())
def test_every_encoder_writes_every_stream(events: list[Event]) -> None:
    """Streams of every kind, those that another wire's translator would never give included."""
    check_encoders(events)
