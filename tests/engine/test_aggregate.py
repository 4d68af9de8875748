"""The aggregator: its whole state table is walked, and what it holds after a stream."""

from __future__ import annotations

from typing import get_args

import pytest
from msgspec import Raw

from headwater.aggregate import BLOCK, ENDS, OPENS, STREAM, Aggregator, StreamState
from headwater_codecs.neutral import (
    ChoiceEnd,
    Citation,
    Event,
    Finish,
    LocalProtocolError,
    OpaqueEnd,
    OpaqueStart,
    RawFrame,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    RefusalDelta,
    RefusalEnd,
    RefusalStart,
    StreamFailed,
    StreamStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    Usage,
    UsageUpdate,
    error_info,
)
from headwater_codecs.neutral.response import BlockKind

ERROR = error_info("server", "down")
USAGE = Usage(input_tokens=3, output_tokens=2)
EVENTS: dict[type, Event] = {
    StreamStart: StreamStart("m", "r", "p"),
    TextStart: TextStart(0),
    TextDelta: TextDelta(0, "x"),
    TextEnd: TextEnd(0),
    ReasoningStart: ReasoningStart(0),
    ReasoningDelta: ReasoningDelta(0, "x"),
    ReasoningEnd: ReasoningEnd(0),
    RefusalStart: RefusalStart(0),
    RefusalDelta: RefusalDelta(0, "x"),
    RefusalEnd: RefusalEnd(0),
    ToolCallStart: ToolCallStart(0, "c", "f"),
    ToolCallDelta: ToolCallDelta(0, "x"),
    ToolCallEnd: ToolCallEnd(0),
    OpaqueStart: OpaqueStart(0, "search"),
    OpaqueEnd: OpaqueEnd(0, True, b"{}"),
    Citation: Citation(0, url="u"),
    UsageUpdate: UsageUpdate(USAGE),
    ChoiceEnd: ChoiceEnd(0, "stop", "stop"),
    RawFrame: RawFrame(b"{}"),
    Finish: Finish("stop", "stop", USAGE, "d"),
    StreamFailed: StreamFailed(ERROR, "error", USAGE),
}
START_OF: dict[BlockKind, type] = {kind: start for start, kind in OPENS.items()}
WAYS: dict[StreamState, list[Event]] = {"new": [], "running": [EVENTS[StreamStart]], "ended": [EVENTS[StreamStart], EVENTS[Finish]]}


def fed(*events: Event) -> Aggregator:
    """An aggregator that has folded these."""
    aggregator = Aggregator()
    assert aggregator.feed(events) is events
    return aggregator


def test_the_tables_know_every_event() -> None:
    """No event of the vocabulary is forgotten, and none is in the tables that is not in it."""
    everything = set(get_args(Event))
    assert set(EVENTS) == everything
    assert {event for state in STREAM.values() for event in state} == everything
    deltas_and_ends = {event for kinds in BLOCK.values() for event in kinds}
    assert deltas_and_ends | set(OPENS) | {StreamStart, Citation, UsageUpdate, ChoiceEnd, RawFrame, Finish, StreamFailed} == everything


@pytest.mark.rows("ISS-28")
@pytest.mark.parametrize("state", STREAM)
@pytest.mark.parametrize("kind", EVENTS)
def test_the_stream_table(state: StreamState, kind: type) -> None:
    """Every event in every state: it leads where the table says, or it is illegal and changes nothing."""
    aggregator = fed(*WAYS[state])
    assert aggregator.state == state
    event = EVENTS[kind]
    block_less = kind in {event for kinds in BLOCK.values() for event in kinds}
    if kind not in STREAM[state]:
        with pytest.raises(LocalProtocolError, match=f"^{kind.__name__} in a stream that is {state}$"):
            aggregator.feed([event])
        assert aggregator.state == state
    elif block_less:
        with pytest.raises(LocalProtocolError, match=f"^{kind.__name__} for block 0, which was never opened$"):
            aggregator.feed([event])
        assert aggregator.state == state
    else:
        aggregator.feed([event])
        assert aggregator.state == STREAM[state][kind]


@pytest.mark.rows("ISS-28")
@pytest.mark.parametrize("block", BLOCK)
@pytest.mark.parametrize("kind", [event for event in EVENTS if any(event in kinds for kinds in BLOCK.values())])
@pytest.mark.parametrize("closed", [False, True])
def test_the_block_table(block: BlockKind, kind: type, closed: bool) -> None:
    """Every delta and every end in every kind of block, open and closed."""
    before: list[Event] = [EVENTS[StreamStart], EVENTS[START_OF[block]]]
    if closed:
        before.append(EVENTS[ENDS[block]])
    aggregator = fed(*before)
    if closed or kind not in BLOCK[block]:
        state = "closed" if closed else "open"
        with pytest.raises(LocalProtocolError, match=f"^{kind.__name__} for block 0, which is {state} and of kind {block}$"):
            aggregator.feed([EVENTS[kind]])
        assert aggregator.response.blocks[0].closed == closed
        return
    aggregator.feed([EVENTS[kind]])
    assert aggregator.response.blocks[0].closed == (BLOCK[block][kind] == "closed")


@pytest.mark.parametrize("kind", OPENS)
@pytest.mark.parametrize("terminal", [Finish, StreamFailed])
def test_no_end_while_a_block_is_open(kind: type, terminal: type) -> None:
    """Every start has its end before the terminal."""
    aggregator = fed(EVENTS[StreamStart], EVENTS[kind])
    with pytest.raises(LocalProtocolError, match=f"^{terminal.__name__} while a block is open: 0$"):
        aggregator.feed([EVENTS[terminal]])
    assert (aggregator.state, aggregator.response.error) == ("running", None)


@pytest.mark.parametrize("kind", OPENS)
@pytest.mark.parametrize("index", [1, -1])
def test_numbers_follow_each_other(kind: type, index: int) -> None:
    """A block's number is the next one, over all choices."""
    aggregator = fed(EVENTS[StreamStart])
    event = type(EVENTS[kind])(**{**{name: getattr(EVENTS[kind], name) for name in EVENTS[kind].__struct_fields__}, "index": index})
    with pytest.raises(LocalProtocolError, match=f"^{kind.__name__} has index {index}, the next one is 0$"):
        aggregator.feed([event])
    assert aggregator.response.blocks == []


def test_what_was_folded_before_an_illegal_event_is_counted() -> None:
    """Also where the same object comes twice, the first time lawfully."""
    aggregator, delta, end = Aggregator(), TextDelta(0, "x"), TextEnd(0)
    with pytest.raises(LocalProtocolError):
        aggregator.feed([StreamStart(), TextStart(0), delta, delta, end, end, Finish("stop")])
    assert (aggregator.folded, aggregator.response.text, aggregator.state) == (5, "xx", "running")
    with pytest.raises(LocalProtocolError):
        aggregator.feed((StreamStart(),))
    assert aggregator.folded == 0


def test_everything_is_held() -> None:
    """One stream with every kind of block, in two choices."""
    aggregator = fed(
        StreamStart("m", "r", "p"),
        RawFrame(b"{}"),
        ReasoningStart(0, 0, "i0"),
        ReasoningDelta(0, "think"),
        TextStart(1, 1, "i1"),
        ReasoningEnd(0, True, "sig", True, "secret", Raw(b"{}")),
        TextDelta(1, "a"),
        TextDelta(1, "b"),
        Citation(1, 1, url="u"),
        ToolCallStart(2, "c1", "f", 0, "i2", "custom"),
        ToolCallDelta(2, "x"),
        ToolCallDelta(2, "y"),
        ToolCallEnd(2, True, "s2", Raw(b"1")),
        RefusalStart(3, 1),
        RefusalDelta(3, "no"),
        RefusalEnd(3),
        TextEnd(1, True, "s1"),
        OpaqueStart(4, "search", 0, "i4"),
        OpaqueEnd(4, True, b'{"q": 1}'),
        UsageUpdate(Usage(input_tokens=1)),
        ChoiceEnd(0, "tool_calls", "tool_calls"),
        ChoiceEnd(1, "refusal", "refused"),
        Finish("tool_calls", "tool_calls", USAGE, "detail"),
    )
    response = aggregator.response
    first, second = response.choices
    assert [(block.kind, block.index, block.item_id, block.complete) for block in first.blocks] == [
        ("reasoning", 0, "i0", True),
        ("tool_call", 2, "i2", True),
        ("opaque", 4, "i4", True),
    ]
    thought = first.blocks[0]
    assert (thought.text, thought.signature, thought.redacted, thought.data, thought.meta) == ("think", "sig", True, "secret", Raw(b"{}"))
    assert first.tool_calls == [ToolCall("c1", "f", "xy", True, "custom", "s2", Raw(b"1"))]
    assert (first.blocks[2].opaque_kind, first.blocks[2].raw) == ("search", b'{"q": 1}')
    assert (second.text, second.refusal, second.blocks[0].signature, second.blocks[0].citations) == ("ab", "no", "s1", [Citation(1, 1, url="u")])
    assert (first.finish_reason, second.finish_reason, second.raw_finish_reason) == ("tool_calls", "refusal", "refused")
    assert (response.model, response.response_id, response.provider, response.usage, response.detail) == ("m", "r", "p", USAGE, "detail")
    assert (response.ok, response.error, aggregator.choice_of(1), aggregator.choice_of(2)) == (True, None, 1, 0)
    assert aggregator.terminal == Finish("tool_calls", "tool_calls", USAGE, "detail")


def test_abort_before_the_start() -> None:
    """The start is made up, so that the stream is lawful."""
    aggregator = Aggregator()
    assert aggregator.abort(ERROR) == [StreamStart(), StreamFailed(ERROR)]
    assert (aggregator.state, aggregator.response.error) == ("ended", ERROR)


def test_abort_in_the_middle() -> None:
    """Open blocks end incomplete, in their order; the usage so far is kept. A second abort has nothing to say."""
    aggregator = fed(StreamStart(), TextStart(0), ToolCallStart(1, "c", "f"), ReasoningStart(2), TextEnd(0), UsageUpdate(USAGE))
    events = [ToolCallEnd(1, complete=False), ReasoningEnd(2, complete=False), StreamFailed(ERROR, usage=USAGE)]
    assert aggregator.abort(ERROR) == events == aggregator.last_words
    assert [block.complete for block in aggregator.response.blocks] == [True, False, False]
    assert aggregator.abort(ERROR) == []


def test_text_can_be_read_at_any_moment() -> None:
    """Reading joins what is there and loses nothing of what comes."""
    aggregator = fed(StreamStart(), TextStart(0))
    seen = []
    for text in "abc":
        aggregator.feed([TextDelta(0, text)])
        seen.append(aggregator.response.text)
    assert seen == ["a", "ab", "abc"]
