"""What must hold for any bytes: a result or a typed error, lawful events, one terminal, the same for every cutting, and all of it can be written."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import msgspec

import headwater as hw
from conformance.test_laws import check_laws, check_response
from fuzz.mutations import cut
from headwater.plain import json_line, response_as_dict
from headwater_codecs.neutral import Event
from round_trip import WAYS


def told(events: Sequence[Event]) -> list[Event]:
    """The events with made-up call ids numbered, and without the number of events and bytes that a failure tells."""
    plain: list[Event] = []
    for event in events:
        if isinstance(event, hw.ToolCallStart) and event.id.startswith("call_"):
            event = msgspec.structs.replace(event, id="call_")
        elif isinstance(event, hw.StreamFailed):
            event = msgspec.structs.replace(event, error=event.error.with_(events=0, bytes_received=0))
        plain.append(event)
    return plain


def check_body(protocol: str, data: bytes, content_type: str, options: Mapping[str, object], random_: random.Random) -> None:
    """Read the body whole and in pieces, as events and as a response; write the response, and the events in every other wire."""
    events = hw.decode_events(protocol, [data], content_type=content_type, options=options)
    check_laws(events)
    response = hw.decode(protocol, [data], content_type=content_type, options=options)
    check_response(response, events)
    line = json_line(response_as_dict(response))
    assert isinstance(msgspec.json.decode(line), dict)
    expected = told(events)
    for _ in range(2):
        chunks = cut(data, random_)
        assert told(hw.decode_events(protocol, chunks, content_type=content_type, options=options)) == expected
    check_encoders(events)


def check_encoders(events: Sequence[Event]) -> None:
    """Every encoder writes lawful events, and what it wrote is read again."""
    for protocol, way in WAYS.items():
        encoder = way.encoder(model="m", id="r", created=7)
        data = encoder.feed(events) + encoder.finish()
        check_laws(hw.decode_events(protocol, [data], content_type=way.content_type))
