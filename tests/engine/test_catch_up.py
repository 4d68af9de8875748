"""What a late listener gets first: lawful, and the same answer as the events that it stands for."""

from __future__ import annotations

import pytest
from msgspec import Raw

from headwater import decode, decode_events
from headwater.aggregate import Aggregator
from headwater.catch_up import catch_up
from headwater.plain import response_as_dict
from headwater_codecs.neutral import (
    ChoiceEnd,
    Citation,
    Event,
    OpaqueEnd,
    OpaqueStart,
    RawFrame,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    RefusalDelta,
    RefusalEnd,
    RefusalStart,
    StreamStart,
    TextDelta,
    TextStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    Usage,
    UsageUpdate,
)
from helpers import Fixture, fixtures

FIXTURES = fixtures("openai-chat")


def test_every_kind_of_block() -> None:
    """Each block as its start, one delta, its citations and, if it is closed, its end; then usage and what ended."""
    aggregator = Aggregator()
    aggregator.feed(
        [
            StreamStart("m", "r", "p"),
            TextStart(0, 1, "i"),
            ReasoningStart(1),
            TextDelta(0, "a"),
            ReasoningDelta(1, "th"),
            ReasoningDelta(1, "ink"),
            TextDelta(0, "b"),
            Citation(0, 1, url="u"),
            ReasoningEnd(1, True, "sig", False, "data", Raw(b"{}")),
            ToolCallStart(2, "c", "f", 0, "j", "custom"),
            ToolCallDelta(2, "x"),
            RefusalStart(3),
            RefusalDelta(3, "no"),
            RefusalEnd(3),
            OpaqueStart(4, "search"),
            OpaqueEnd(4, True, b"{}"),
            ToolCallStart(5, "d", "g"),
            ToolCallEnd(5, False, "s", Raw(b"1")),
            RawFrame(b"{}"),
            UsageUpdate(Usage(output_tokens=1)),
            ChoiceEnd(1, "stop", "end"),
        ]
    )
    assert catch_up(aggregator.response) == [
        StreamStart("m", "r", "p"),
        TextStart(0, 1, "i"),
        TextDelta(0, "ab"),
        Citation(0, 1, url="u"),
        ReasoningStart(1),
        ReasoningDelta(1, "think"),
        ReasoningEnd(1, True, "sig", False, "data", Raw(b"{}")),
        ToolCallStart(2, "c", "f", 0, "j", "custom"),
        ToolCallDelta(2, "x"),
        RefusalStart(3),
        RefusalDelta(3, "no"),
        RefusalEnd(3),
        OpaqueStart(4, "search"),
        OpaqueEnd(4, True, b"{}"),
        ToolCallStart(5, "d", "g"),
        ToolCallEnd(5, False, "s", Raw(b"1")),
        UsageUpdate(Usage(output_tokens=1)),
        ChoiceEnd(1, "stop", "end"),
    ]


@pytest.mark.parametrize("fixture", FIXTURES, ids=[fixture.name for fixture in FIXTURES])
def test_late_at_any_moment(fixture: Fixture) -> None:
    """Wherever a listener joins, what it gets and what follows is a lawful stream with the same answer."""
    events = decode_events("openai-chat", [fixture.data], content_type=fixture.content_type, options=fixture.options)
    whole = Aggregator()
    whole.feed(events)
    for joined in range(1, len(events)):
        early, late = Aggregator(), Aggregator()
        early.feed(events[:joined])
        caught_up: list[Event] = catch_up(early.response)
        late.feed(caught_up + events[joined:])
        assert response_as_dict(late.response) == response_as_dict(whole.response)
    assert whole.response.text == decode("openai-chat", [fixture.data], content_type=fixture.content_type, options=fixture.options).text
