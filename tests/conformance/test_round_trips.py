"""What every encoder writes, its own translator reads: the same answer comes back, but for what the table of `wires` says that it cannot carry."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import headwater
from headwater.aggregate import Aggregator
from headwater_codecs.gemini import encode as gemini
from headwater_codecs.neutral import ChoiceEnd, Event, Finish, OpaqueEnd, OpaqueStart, StreamStart
from headwater_codecs.openai_responses import encode as openai_responses
from headwater_codecs.project import WIRES, project
from headwater_codecs.sequential import ENDS, STARTS, Sequencer
from headwater_codecs.settle import settled
from helpers import FIXTURES, fixtures
from round_trip import ID, MODEL, WAYS, decoded, encoded, heard, streams

SOURCES = sorted(folder.name for folder in FIXTURES.iterdir())
CUTS = st.lists(st.integers(0, 10_000), max_size=6)


def test_every_encoder_has_a_row() -> None:
    """The table and the encoders are for the same protocols."""
    assert list(WIRES) == list(WAYS)


@pytest.mark.parametrize("protocol", WAYS)
@settings(max_examples=160)
@given(streams(), CUTS, CUTS)
def test_any_stream(protocol: str, events: list[Event], batches: list[int], cuts: list[int]) -> None:
    """A lawful stream comes back as the table says, however it was written and wherever its bytes were cut."""
    Aggregator().feed(events)
    expected = heard(project(events, protocol))
    Aggregator().feed(expected)
    data = encoded(protocol, events)
    assert encoded(protocol, events, batches) == data
    assert settled(decoded(protocol, data, cuts)) == expected


@pytest.mark.parametrize("protocol", [protocol for protocol, wire in WIRES.items() if wire.bounded])
@settings(max_examples=40)
@given(streams())
def test_a_second_round(protocol: str, events: list[Event]) -> None:
    """What came back once comes back the same, where blocks have borders, but for the wire's word for a reason that became another."""
    once = project(events, protocol)
    if isinstance(once[-1], Finish):
        assert without_words(project([StreamStart(MODEL, ID), *once[1:]], protocol)[1:]) == without_words(once[1:])


def without_words(events: list[Event]) -> list[Event]:
    """The events without the words for their reasons."""
    return [replace(event, raw_finish_reason=None) if isinstance(event, ChoiceEnd | Finish) else event for event in events]


@settings(max_examples=80)
@given(streams())
def test_whole_response(events: list[Event]) -> None:
    """A Responses body has a place for everything that its stream has: a whole answer comes back as a streamed one does."""
    events = settled(events)
    aggregator = Aggregator()
    aggregator.feed(events)
    if aggregator.response.error is None:
        body = openai_responses.encode_response(aggregator.response, model=MODEL, id=ID, created=7)
        again = headwater.decode_events("openai-responses", [body], content_type="application/json")
        assert settled(again) == project(events, "openai-responses")


def test_whole_gemini_answer_keeps_parts_as_they_came() -> None:
    """A part that is not modelled is in a body what it was in the stream, byte for byte."""
    raw = b'{"inlineData": {"mimeType":"image/png","data":"AA=="}}'
    aggregator = Aggregator()
    aggregator.feed([StreamStart(), OpaqueStart(0, "inlineData"), OpaqueEnd(0, raw=raw), ChoiceEnd(0, "stop"), Finish("stop")])
    body = gemini.encode_response(aggregator.response, model=MODEL, id=ID, created=7)
    again = headwater.decode("gemini", [body], content_type="application/json")
    assert [block.raw for block in again.blocks] == [raw]


@settings(max_examples=60)
@given(streams())
def test_settled(events: list[Event]) -> None:
    """The one form is lawful, tells the same answer, and is the same for what is in it already."""
    one_form = settled(events)
    assert settled(one_form) == one_form
    assert told(one_form) == told(events)


@settings(max_examples=60)
@given(streams())
def test_in_sequence(events: list[Event]) -> None:
    """Blocks that are put in sequence lose nothing, keep their own order, and no two of one choice are open at a time."""
    ordered = list(Sequencer().feed(events))
    assert [block_events(ordered, index) for index in range(len(ordered))] == [block_events(events, index) for index in range(len(ordered))]
    assert [event for event in ordered if not hasattr(event, "index")] == [event for event in events if not hasattr(event, "index")]
    running: dict[int, int] = {}
    for event in ordered:
        if isinstance(event, STARTS):
            assert event.choice not in running
            running[event.choice] = event.index
        elif isinstance(event, ENDS):
            running = {choice: index for choice, index in running.items() if index != event.index}


def block_events(events: list[Event], index: int) -> list[Event]:
    """The events of one block."""
    return [event for event in events if getattr(event, "index", None) == index]


def told(events: list[Event]) -> list[object]:
    """The answer that the events tell, choice by choice."""
    aggregator = Aggregator()
    aggregator.feed(events)
    response = aggregator.response
    blocks = [
        (
            block.choice,
            block.kind,
            block.item_id,
            block.complete,
            block.signature,
            block.redacted,
            block.data,
            block.meta,
            block.raw,
            block.opaque_kind,
        )
        for choice in response.choices
        for block in choice.blocks
    ]
    cited = [[replace(citation, index=0) for citation in block.citations] for choice in response.choices for block in choice.blocks]
    spoken = [(choice.text, choice.reasoning, choice.refusal, choice.finish_reason, choice.raw_finish_reason) for choice in response.choices]
    calls = [(call.id, call.name, call.kind, call.arguments.strip()) for choice in response.choices for call in choice.tool_calls]
    usage = response.usage and replace(response.usage, raw=None)
    failure = response.error and (response.error.kind, response.error.message, response.error.code)
    return [blocks, cited, spoken, calls, usage, failure, response.detail, response.model, response.response_id]


@pytest.mark.parametrize("protocol", WAYS)
@pytest.mark.parametrize("source", SOURCES)
def test_fixtures(source: str, protocol: str) -> None:
    """What any provider sent comes back as the table says when its events are written again, on its own wire and on every other."""
    differ = []
    for fixture in fixtures(source):
        events = headwater.decode_events(source, [fixture.data], content_type=fixture.content_type, options=fixture.options)
        events[0] = StreamStart(MODEL, ID)
        again = decoded(protocol, encoded(protocol, events))
        if settled(again) != heard(project(events, protocol)):
            differ.append(fixture.name)
    assert not differ
