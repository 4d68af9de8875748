"""What the anthropic-messages encoder writes, the anthropic-messages translator reads: the same answer comes back."""

from __future__ import annotations

import pytest

import headwater
from headwater.aggregate import Aggregator
from headwater_codecs.anthropic_messages.encode import MessagesEncoder, encode_response
from headwater_codecs.neutral import Event, Response
from helpers import Fixture, fixtures

FIXTURES = fixtures("anthropic-messages")
# The wire has no words for these failures: they come back as the server's.
NO_WORD = {"malformed", "truncated", "network", "aborted", "internal"}


def carried(response: Response) -> list[object]:
    """What this wire carries of an answer: the blocks in their order, byte for byte, the reason, the counts, the failure."""
    blocks = [
        (block.kind, block.text, block.signature, block.redacted, block.data, block.raw, block.name, [citation.raw for citation in block.citations])
        for block in response.blocks
        if block.kind != "opaque" or block.complete
    ]
    usage = response.usage
    known = usage and (usage.input_tokens or 0, usage.output_tokens or 0, usage.cached_input_tokens, usage.cache_write_tokens, usage.reasoning_tokens)
    kind = response.error.kind if response.error is not None else None
    return [
        blocks,
        response.finish_reason,
        response.raw_finish_reason == "stop_sequence" and response.detail,
        known or (0, 0, None, None, None),
        kind,
    ]


def replay(events: list[Event]) -> bytes:
    """The events as a stream of ours."""
    encoder = MessagesEncoder(model="m", id="msg-1", created=7)
    return b"".join(encoder.feed([event]) for event in events) + encoder.finish()


def folded(events: list[Event]) -> Response:
    """The answer that the events tell."""
    aggregator = Aggregator()
    aggregator.feed(events)
    return aggregator.response


@pytest.mark.parametrize("fixture", FIXTURES, ids=[fixture.name for fixture in FIXTURES])
def test_round_trip(fixture: Fixture) -> None:
    """Events that were encoded and decoded again tell the same answer; a second round gives the same bytes."""
    events = headwater.decode_events("anthropic-messages", [fixture.data], content_type=fixture.content_type, options=fixture.options)
    answer = folded(events)
    encoded = replay(events)
    again = headwater.decode_events("anthropic-messages", [encoded])
    blocks, reason, detail, counts, kind = carried(answer)
    assert isinstance(blocks, list)
    # A call without arguments is written as `{}`, a block of text that was left open as one that ended.
    blocks = [
        (*block[:1], "{}", *block[2:]) if block[0] == "tool_call" and not block[1].strip() and reason != "length" else block for block in blocks
    ]
    told = carried(folded(again))
    if kind is not None:
        assert told[4] == ("server" if kind in NO_WORD else kind)
        assert [block[:2] for block in told[0]] == [block[:2] for block in blocks]  # type: ignore[attr-defined]  # a list of blocks
        return
    if fixture.name == "stop-brand-new":
        reason = "unknown"  # the word is not this wire's
    assert told == [blocks, reason, detail, counts, None]
    if blocks:  # without a block the counts at the start are the last ones
        assert replay(again) == encoded


@pytest.mark.parametrize("fixture", FIXTURES, ids=[fixture.name for fixture in FIXTURES])
def test_whole_answer(fixture: Fixture) -> None:
    """The same for an answer written as one JSON body, which has no cut calls. Without a stop reason it does not look whole."""
    answer = headwater.decode("anthropic-messages", [fixture.data], content_type=fixture.content_type, options=fixture.options)
    body = encode_response(answer, model="m", id="msg-1", created=7)
    again = headwater.decode("anthropic-messages", [body], content_type="application/json")
    if answer.error is not None:
        assert again.error is not None
        assert again.error.kind == ("server" if answer.error.kind in NO_WORD else answer.error.kind)
        return
    if answer.finish_reason == "unknown":
        assert again.error is not None
        assert again.error.kind == "truncated"
        return
    assert (again.text, again.reasoning, again.finish_reason) == (answer.text, answer.reasoning, answer.finish_reason)
    assert [(call.id, call.name, call.arguments) for call in again.tool_calls] == [
        (call.id, call.name, call.arguments) for call in answer.tool_calls if call.complete
    ]
    assert [block.raw for block in again.blocks if block.kind == "opaque"] == [
        block.raw for block in answer.blocks if block.kind == "opaque" and block.complete
    ]
