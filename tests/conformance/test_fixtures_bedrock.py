"""Every fixture of both Bedrock protocols gives its events, wherever the bytes are cut."""

from __future__ import annotations

import pytest

import headwater
from headwater.aggregate import Aggregator
from helpers import Fixture, every_split, fixtures, plain_events, with_rows

LONG = 900  # bytes; longer bodies are not cut in two at every place
CASES = [(protocol, fixture) for protocol in ("bedrock-converse", "bedrock-invoke") for fixture in fixtures(protocol)]
ROWS = {
    "bedrock-converse-text": "PI-BR-01 WIRE-41 WIRE-54",
    "bedrock-converse-calls": "PI-BR-01 WIRE-41",
    "bedrock-converse-text-without-start-or-stop": "PI-BR-01 WIRE-41",
    "bedrock-converse-reasoning-signed": "PI-BR-01 WIRE-41",
    "bedrock-converse-exception-throttling": "PI-BR-02 WIRE-37 WIRE-42",
    "bedrock-converse-exception-internal": "PI-BR-02 WIRE-42",
    "bedrock-converse-exception-validation": "PI-BR-02 WIRE-42",
    "bedrock-converse-exception-unavailable": "PI-BR-02 WIRE-42",
    "bedrock-converse-exception-of-the-model": "PI-BR-02 WIRE-42",
    "bedrock-converse-exception-after-start": "WIRE-37 ISS-51",
    "bedrock-converse-error-message": "WIRE-37",
    "bedrock-converse-stop-sequence": "PI-BR-03 WIRE-43",
    "bedrock-converse-stop-max-tokens": "PI-BR-03 WIRE-43",
    "bedrock-converse-stop-context-window": "PI-BR-03 WIRE-43",
    "bedrock-converse-stop-guardrail": "PI-BR-03 WIRE-43",
    "bedrock-converse-stop-malformed-tool-use": "WIRE-43",
    "bedrock-converse-stop-unknown": "PI-BR-03 WIRE-43 AMB-35 ISS-51",
    "bedrock-converse-flipped-payload": "WIRE-33",
    "bedrock-converse-flipped-prelude-checksum": "WIRE-33",
    "bedrock-converse-flipped-length": "WIRE-32 WIRE-33",
    "bedrock-converse-cut-in-a-message": "WIRE-35 ISS-53",
    "bedrock-converse-headers-without-event-type": "WIRE-36",
    "bedrock-converse-headers-without-message-type": "WIRE-36",
    "bedrock-converse-unknown-events": "WIRE-38 AMB-72",
    "bedrock-converse-usage-of-a-cache": "WIRE-44",
    "bedrock-converse-reasoning-redacted": "WIRE-45 ISS-51 ISS-55",
    "bedrock-converse-calls-empty-input": "WIRE-46",
    "bedrock-converse-calls-cut": "ISS-34",
    "bedrock-invoke-anthropic-text": "WIRE-39",
    "bedrock-invoke-anthropic-text-unpadded": "WIRE-39",
    "bedrock-invoke-anthropic-calls": "WIRE-39",
}


@pytest.mark.parametrize("case", with_rows({f"{protocol}-{fixture.name}": (protocol, fixture) for protocol, fixture in CASES}, ROWS))
def test_fixture(case: tuple[str, Fixture]) -> None:
    """The events are those that were written down by hand, for every cutting of the bytes, and they are lawful."""
    protocol, fixture = case
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
