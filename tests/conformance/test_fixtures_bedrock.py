"""Every fixture of both Bedrock protocols gives its events, wherever the bytes are cut."""

from __future__ import annotations

import pytest

import headwater
from headwater.aggregate import Aggregator
from helpers import Fixture, every_split, fixtures, plain_events

LONG = 900  # bytes; longer bodies are not cut in two at every place
CASES = [(protocol, fixture) for protocol in ("bedrock-converse", "bedrock-invoke") for fixture in fixtures(protocol)]


@pytest.mark.parametrize(("protocol", "fixture"), CASES, ids=[f"{protocol}-{fixture.name}" for protocol, fixture in CASES])
def test_fixture(protocol: str, fixture: Fixture) -> None:
    """The events are those that were written down by hand, for every cutting of the bytes, and they are lawful."""
    for chunks in every_split(fixture.data, two_way=len(fixture.data) <= LONG):
        events = headwater.decode_events(protocol, chunks, content_type=fixture.content_type, options=fixture.options)
        assert plain_events(events, fixture.events) == fixture.events
    aggregator = Aggregator()
    aggregator.feed(events)
    assert aggregator.state == "ended"


@pytest.mark.parametrize(("protocol", "number"), [("bedrock-converse", 125), ("bedrock-invoke", 68)])
def test_fixtures_are_found(protocol: str, number: int) -> None:
    """The loader sees the files: a wrong folder would test nothing."""
    assert len([fixture for found, fixture in CASES if found == protocol]) >= number


@pytest.mark.parametrize("name", ["text", "calls", "reasoning-signed"])
def test_a_stream_that_ends_anywhere(name: str) -> None:
    """Wherever the bytes end, the answer is truncated, with the events of whole messages before; behind messageStop it is whole."""
    fixture = next(fixture for protocol, fixture in CASES if protocol == "bedrock-converse" and fixture.name == name)
    whole = headwater.decode("bedrock-converse", [fixture.data], content_type=fixture.content_type)
    stopped = fixture.data.index(b"messageStop")
    for end in range(1, len(fixture.data)):
        answer = headwater.decode("bedrock-converse", [fixture.data[:end]], content_type=fixture.content_type)
        assert whole.text.startswith(answer.text)
        assert whole.reasoning.startswith(answer.reasoning)
        if answer.error is None:
            assert end > stopped
            assert (answer.finish_reason, answer.text) == (whole.finish_reason, whole.text)
        else:
            assert answer.error.kind in ("truncated", "malformed")  # the latter where not even the first bytes tell what the body is
            assert all(not call.complete or call in whole.tool_calls for call in answer.tool_calls)
