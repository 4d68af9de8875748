"""What the openai-chat encoder writes of a fixture, streamed or whole. That the same events come back is in `test_round_trips`."""

from __future__ import annotations

import pytest

import headwater
from headwater_codecs.neutral import Event, Finish, Response
from headwater_codecs.openai_chat.encode import ChatEncoder, encode_response
from helpers import Fixture, fixtures

FIXTURES = fixtures("openai-chat")
# The wire has no words for these failures: they come back as the server's.
NO_WORD = {"malformed", "truncated", "network", "timeout", "aborted", "internal"}


def carried(response: Response) -> list[object]:
    """What this wire carries of an answer: every channel of every choice, the calls that may be run, the reasons, the counts, the failure."""
    choices = [
        (
            choice.text,
            choice.reasoning,
            choice.refusal,
            [(call.id, call.name, call.arguments.strip() or "{}", call.kind) for call in choice.tool_calls],
            choice.finish_reason,
        )
        for choice in response.choices
    ]
    usage = response.usage
    counts = usage and (usage.input_tokens, usage.output_tokens, usage.cached_input_tokens, usage.cache_write_tokens, usage.reasoning_tokens)
    kind = response.error.kind if response.error is not None else None
    return [choices, counts, "server" if kind in NO_WORD else kind]


def replay(events: list[Event]) -> bytes:
    """The events as a stream of ours."""
    encoder = ChatEncoder(model="m", id="c-1", created=7)
    return b"".join(encoder.feed([event]) for event in events) + encoder.finish()


@pytest.mark.parametrize("fixture", FIXTURES, ids=[fixture.name for fixture in FIXTURES])
def test_second_round(fixture: Fixture) -> None:
    """Events that were encoded and decoded again are encoded as the same bytes."""
    events = headwater.decode_events("openai-chat", [fixture.data], content_type=fixture.content_type, options=fixture.options)
    encoded = replay(events)
    if isinstance(events[-1], Finish):
        assert replay(headwater.decode_events("openai-chat", [encoded])) == encoded


@pytest.mark.parametrize("fixture", FIXTURES, ids=[fixture.name for fixture in FIXTURES])
def test_whole_answer(fixture: Fixture) -> None:
    """The same for an answer written as one JSON body, which has no cut calls."""
    answer = headwater.decode("openai-chat", [fixture.data], content_type=fixture.content_type, options=fixture.options)
    body = encode_response(answer, model="m", id="c-1", created=7)
    again = headwater.decode("openai-chat", [body], content_type="application/json")
    if answer.error is not None:
        assert carried(again)[2] == carried(answer)[2]
        return
    for choice in answer.choices:
        choice.blocks = [block for block in choice.blocks if block.kind != "tool_call" or block.complete]
    assert carried(again) == carried(answer)
