"""What the cohere-chat translator says beside its events; the events themselves are the fixtures'."""

from __future__ import annotations

import json

import pytest

import headwater
from headwater_codecs.neutral import Finish, OpaqueStart, RawFrame, StreamStart, TextDelta, TextEnd, TextStart
from headwater_codecs.sse import Frame
from headwater_providers.cohere_chat.translate import CohereTranslator


def frame(kind: str, index: int = 0, **message: object) -> Frame:
    """One event."""
    return Frame(json.dumps({"type": kind, "index": index, "delta": {"message": message}}).encode())


START = Frame(b'{"type":"message-start","id":"r1","delta":{"message":{"role":"assistant"}}}')
LAST = Frame(b'{"type":"message-end","delta":{"finish_reason":"COMPLETE"}}')
TEXT = frame("content-delta", content={"text": "a"})


def test_an_event_goes_out_with_its_frame() -> None:
    """Nothing waits for the next one."""
    translator = CohereTranslator(provider="p")
    assert translator.feed([START]) == []
    assert translator.feed([TEXT]) == [StreamStart(None, "r1", "p"), TextStart(0), TextDelta(0, "a")]
    assert translator.feed([TEXT, TEXT]) == [TextDelta(0, "a"), TextDelta(0, "a")]
    events = translator.feed([LAST, TEXT])
    assert (events[0], type(events[-1]), translator.done) == (TextEnd(0), Finish, True)
    assert translator.feed([TEXT]) == translator.finish() == []


@pytest.mark.parametrize(
    ("quiet", "grown"),
    [
        (START, 0),
        (frame("content-start", content={"type": "text", "text": ""}), 1),
        (frame("content-delta", content={"text": ""}), 0),
        (frame("content-delta", content={"thinking": ""}), 0),
        (frame("tool-plan-delta", tool_plan=""), 0),
        (Frame(b'{"type":"debug","prompt":"p"}'), 0),
    ],
)
def test_progress_without_an_event(quiet: Frame, grown: int) -> None:
    """A block that opens is a sign of work; what is empty or unknown is none."""
    translator = CohereTranslator()
    assert translator.feed([quiet]) == []
    assert translator.progress == grown


def test_a_plan_is_progress_with_every_piece() -> None:
    """Its text is told at its end only."""
    translator = CohereTranslator()
    piece = frame("tool-plan-delta", tool_plan="I ")
    assert translator.feed([START, piece]) == [StreamStart(None, "r1"), OpaqueStart(0, "tool_plan")]
    assert (translator.feed([piece]), translator.progress) == ([], 2)


def test_two_plans_do_not_run_together() -> None:
    """Each has its own text."""
    call = frame("tool-call-start", tool_calls={"id": "c1", "function": {"name": "f", "arguments": "{}"}})
    translator = CohereTranslator()
    events = translator.feed([frame("tool-plan-delta", tool_plan="a"), call, frame("tool-plan-delta", tool_plan="b"), LAST])
    assert [event.raw for event in events if isinstance(event, headwater.OpaqueEnd)] == [b'"a"', b'"b"']


def test_raw_frames_come_before_their_events() -> None:
    """Also on the short way, which gives the same events."""
    frames = [START, TEXT, TEXT, LAST]
    events = CohereTranslator(raw=True).feed(frames)
    assert [event for event in events if type(event) is not RawFrame] == CohereTranslator().feed(frames)
    assert [event.data for event in events if type(event) is RawFrame] == [frame.data for frame in frames]


@pytest.mark.parametrize(
    ("odd", "code"),
    [
        (frame("tool-call-delta", 3, tool_calls={"function": {"arguments": "{}"}}), "odd_delta"),
        (frame("tool-call-start", tool_calls={"id": "c1"}), "nameless_call"),
        (Frame(b"[1]"), "odd_frame"),
    ],
)
def test_oddities_are_noted(odd: Frame, code: str) -> None:
    """The stream goes on."""
    translator = CohereTranslator()
    assert type(translator.feed([START, odd, TEXT, LAST])[-1]) is Finish
    assert [note.code for note in translator.diagnostics] == [code]
