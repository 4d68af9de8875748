"""What the ollama-chat encoder writes, the ollama-chat translator reads: the same answer comes back, but for what the wire cannot carry."""

from __future__ import annotations

import pytest

import headwater
from headwater.aggregate import Aggregator
from headwater_codecs.neutral import Event, Response
from headwater_codecs.ollama_chat.encode import OllamaEncoder, encode_response
from helpers import Fixture, fixtures

FIXTURES = fixtures("ollama-chat")
REASONS = {"stop", "length", "tool_calls"}  # the others become `stop`


def carried(response: Response) -> list[object]:
    """What this wire carries of an answer: text, reasoning and whole calls in their order, the reason, the counts."""
    blocks: list[object] = []
    for block in response.blocks:
        if block.kind == "tool_call":
            blocks += [(block.call.id, block.call.name, block.call.input)] if block.complete else []
        elif block.kind != "opaque":
            blocks.append((block.kind, block.text))
    usage = response.usage
    reason = response.finish_reason if response.finish_reason in REASONS else "stop"
    return [blocks, reason, usage and (usage.input_tokens, usage.output_tokens)]


def replay(events: list[Event]) -> bytes:
    """The events as lines of ours."""
    encoder = OllamaEncoder(model="m", id="x", created=7)
    return b"".join(encoder.feed([event]) for event in events) + encoder.finish()


def folded(events: list[Event]) -> Response:
    """The answer that the events tell."""
    aggregator = Aggregator()
    aggregator.feed(events)
    return aggregator.response


@pytest.mark.parametrize("fixture", FIXTURES, ids=[fixture.name for fixture in FIXTURES])
def test_ollama_round_trip(fixture: Fixture) -> None:
    """Events that were encoded and decoded again tell the same answer; a second round gives the same bytes."""
    events = headwater.decode_events("ollama-chat", [fixture.data], content_type=fixture.content_type, options=fixture.options)
    answer = folded(events)
    encoded = replay(events)
    again = headwater.decode_events("ollama-chat", [encoded], content_type="application/x-ndjson")
    told = folded(again)
    if answer.error is None:
        assert told.error is None
        assert carried(told) == carried(answer)
    else:
        assert told.error is not None
        assert told.error.message == answer.error.message
        assert (told.text, told.reasoning) == (answer.text, answer.reasoning)
    assert replay(again) == encoded


@pytest.mark.parametrize("fixture", FIXTURES, ids=[fixture.name for fixture in FIXTURES])
def test_ollama_whole_answer(fixture: Fixture) -> None:
    """The same for an answer written as one JSON body, which holds the reasoning first, then the text, then the calls."""
    answer = headwater.decode("ollama-chat", [fixture.data], content_type=fixture.content_type, options=fixture.options)
    body = encode_response(answer, model="m", id="x", created=7)
    again = headwater.decode("ollama-chat", [body], content_type="application/json")
    if answer.error is not None:
        assert again.error is not None
        assert again.error.message == answer.error.message
        return
    assert (again.text, again.reasoning, carried(again)[1:]) == (answer.text, answer.reasoning, carried(answer)[1:])
    assert [(call.id, call.name, call.input) for call in again.tool_calls] == [
        (call.id, call.name, call.input) for call in answer.tool_calls if call.complete
    ]
