"""What the openai-text translator says beside its events; the events themselves are the fixtures'."""

from __future__ import annotations

import json

import pytest

from headwater_codecs.neutral import Finish, RawFrame, StreamFailed, StreamStart, TextDelta, TextStart, error_info
from headwater_codecs.neutral.errors import ErrorKind
from headwater_codecs.sse import Frame
from headwater_providers.openai_text.translate import TextTranslator


def chunk(text: str, choice: int = 0, reason: str | None = None) -> Frame:
    """One chunk."""
    choices = [{"text": text, "index": choice, "logprobs": None, "finish_reason": reason}]
    return Frame(json.dumps({"id": "c1", "object": "text_completion", "created": 1, "model": "m", "choices": choices}).encode())


DONE = Frame(b"[DONE]")


def test_an_event_goes_out_with_its_chunk() -> None:
    """Nothing waits for the next one; the terminal waits for the counts."""
    translator = TextTranslator(provider="p")
    assert translator.feed([chunk("a")]) == [StreamStart("m", "c1", "p"), TextStart(0), TextDelta(0, "a")]
    assert translator.feed([chunk("b"), chunk(""), chunk("c")]) == [TextDelta(0, "b"), TextDelta(0, "c")]
    assert not translator.settled
    translator.feed([chunk("", reason="stop")])
    assert (translator.settled, translator.done) == (True, False)
    assert type(translator.feed([DONE, chunk("d")])[-1]) is Finish
    assert translator.done
    assert translator.feed([chunk("d")]) == translator.finish() == []


def test_settled_means_every_choice_that_was_asked_for() -> None:
    """A choice of which nothing came yet still may."""
    translator = TextTranslator(choices=2)
    translator.feed([chunk("a", reason="stop")])
    assert not translator.settled
    translator.feed([chunk("b", 1, "stop")])
    assert translator.settled


@pytest.mark.parametrize(("kind", "whole"), [("network", True), ("truncated", True), ("timeout", False)])
def test_broken_after_the_finish_reason(kind: ErrorKind, whole: bool) -> None:
    """The answer was whole all the same when only the connection broke."""
    translator = TextTranslator()
    translator.feed([chunk("a", reason="stop")])
    events = translator.fail(error_info(kind, "it broke"))
    assert type(events[-1]) is (Finish if whole else StreamFailed)
    assert [note.code for note in translator.diagnostics] == (["broken_after_finish"] if whole else [])


def test_raw_frames_come_before_their_events() -> None:
    """Also on the short way, which gives the same events."""
    frames = [chunk("a"), chunk("b"), chunk("", reason="stop"), DONE]
    events = TextTranslator(raw=True).feed(frames)
    assert [event for event in events if type(event) is not RawFrame] == TextTranslator().feed(frames)
    assert [event.data for event in events if type(event) is RawFrame] == [frame.data for frame in frames]


@pytest.mark.parametrize(
    ("frames", "code"),
    [
        ([chunk("a"), DONE], "no_finish_reason"),
        ([chunk("x", -1), chunk("a", reason="stop")], "odd_choice"),
        ([chunk("a", reason="stop"), Frame(b"7")], "odd_frame"),
    ],
)
def test_oddities_are_noted(frames: list[Frame], code: str) -> None:
    """The stream ends well."""
    translator = TextTranslator()
    events = translator.feed(frames) + translator.finish()
    assert type(events[-1]) is Finish
    assert [note.code for note in translator.diagnostics] == [code]
