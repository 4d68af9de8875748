"""The writer holds the laws: start first, blocks numbered and closed, one terminal."""

from __future__ import annotations

import pytest

from headwater_codecs.neutral import (
    ChoiceEnd,
    Citation,
    Finish,
    OpaqueEnd,
    OpaqueStart,
    RawFrame,
    ReasoningEnd,
    ReasoningStart,
    RefusalEnd,
    RefusalStart,
    StreamFailed,
    StreamStart,
    TextEnd,
    TextStart,
    ToolCallEnd,
    ToolCallStart,
    Usage,
    UsageUpdate,
    error_info,
)
from headwater_providers.writer import EventWriter

ERROR = error_info("server", "it broke")


def test_start_is_held_back() -> None:
    """StreamStart is sent right before the first content, with what was known and held until then."""
    writer = EventWriter("acme")
    writer.aside(RawFrame(b"{}"))
    writer.count(Usage(1))
    assert writer.take() == []
    assert not writer.started
    writer.model, writer.response_id = "m", "r1"
    writer.open(TextStart(writer.next_index))
    assert writer.take() == [StreamStart("m", "r1", "acme"), RawFrame(b"{}"), UsageUpdate(Usage(1)), TextStart(0)]
    writer.aside(RawFrame(b"1"))
    assert writer.take() == [RawFrame(b"1")]


def test_content_begins_the_stream() -> None:
    """A citation is content too."""
    writer = EventWriter()
    writer.content(Citation(0, url="u"))
    assert writer.take() == [StreamStart(), Citation(0, url="u")]


def test_an_error_that_quotes_half_a_character() -> None:
    """It can be written down like every event."""
    writer = EventWriter()
    writer.fail(error_info("truncated", "still \ude80", code="\ud83d", request_id="r"))
    assert writer.take()[-1] == StreamFailed(error_info("truncated", "still \ufffd", code="\ufffd", request_id="r"))


def test_blocks_are_numbered() -> None:
    """Indices count the starts; a block can be closed once."""
    writer = EventWriter()
    assert writer.open(TextStart(writer.next_index)) == 0
    assert writer.open(ToolCallStart(writer.next_index, "t", "f")) == 1
    writer.close(TextEnd(0))
    assert writer.next_index == 2
    with pytest.raises(KeyError):
        writer.close(TextEnd(0))


def test_finish() -> None:
    """Every choice ends, and the reason of choice 0 is that of the stream."""
    writer = EventWriter()
    writer.finish([ChoiceEnd(0, "stop", "end"), ChoiceEnd(1, "length", "length")], "because")
    assert writer.take() == [
        StreamStart(),
        ChoiceEnd(0, "stop", "end"),
        ChoiceEnd(1, "length", "length"),
        Finish("stop", "end", None, "because"),
    ]
    assert writer.done


def test_finish_without_the_first_choice() -> None:
    """A reason is never invented."""
    writer = EventWriter()
    writer.finish([ChoiceEnd(1, "stop", "stop")])
    assert writer.take()[-1] == Finish("unknown")


def test_failure_closes_what_is_open() -> None:
    """Open blocks end incomplete, in order, and the error is the last word; a second one is not heard."""
    writer = EventWriter()
    for start in (TextStart(0), ReasoningStart(1), RefusalStart(2), ToolCallStart(3, "t", "f"), OpaqueStart(4, "audio"), TextStart(5)):
        writer.open(start)
    writer.close(TextEnd(5))
    writer.count(Usage(3))
    writer.take()
    writer.fail(ERROR, "stop")
    writer.fail(error_info("network", "again"))
    assert writer.take() == [
        TextEnd(0, complete=False),
        ReasoningEnd(1, complete=False),
        RefusalEnd(2, complete=False),
        ToolCallEnd(3, complete=False),
        OpaqueEnd(4, complete=False),
        StreamFailed(ERROR, "stop", Usage(3)),
    ]


def test_failure_before_anything() -> None:
    """The start comes first even then."""
    writer = EventWriter("acme")
    writer.fail(ERROR)
    assert writer.take() == [StreamStart(provider="acme"), StreamFailed(ERROR)]
    assert writer.done


def test_usage_is_sent_when_it_changed() -> None:
    """Reports are merged, never added; the same again says nothing."""
    writer = EventWriter()
    writer.begin()
    writer.take()
    for usage in (Usage(5, 0), Usage(5, 0), Usage(None, 2), Usage(0, 0)):
        writer.count(usage)
    assert writer.take() == [UsageUpdate(Usage(5, 0)), UsageUpdate(Usage(5, 2))]
    assert writer.usage == Usage(5, 2)
