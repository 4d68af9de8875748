"""What the gemini-interactions translator says beside its events; the events themselves are the fixtures'."""

from __future__ import annotations

import headwater
from headwater_codecs.neutral import Diagnostic
from headwater_codecs.sse import Frame
from headwater_providers.gemini_interactions.translate import InteractionsTranslator

START = b'{"event_type":"step.start","index":0,"step":{"type":"model_output","error":{"code":13,"message":"lost"}}}'
TEXT = b'{"event_type":"step.delta","index":0,"delta":{"type":"text","text":"a"}}'
END = b'{"event_type":"interaction.completed","interaction":{"id":"i1","status":"completed"}}'


def test_a_step_that_failed() -> None:
    """The interaction goes on, so it is no failure of the stream, but it is told."""
    answer = headwater.decode("gemini-interactions", [b"data: %b\n\n" % frame for frame in (START, TEXT, END)])
    assert (answer.error, answer.text, answer.finish_reason) == (None, "a", "stop")
    assert answer.diagnostics == [Diagnostic("step_failed", "a step of the interaction failed", "lost")]


def test_signs_of_work() -> None:
    """A step that opens, a part of a tool's call and a signature are progress; an empty text is none."""
    reader = InteractionsTranslator()
    grown = []
    for frame in (
        b'{"event_type":"step.start","index":0,"step":{"type":"google_search_call","id":"g"}}',
        b'{"event_type":"step.delta","index":0,"delta":{"type":"google_search_call","arguments":{}}}',
        b'{"event_type":"step.start","index":1,"step":{"type":"thought"}}',
        b'{"event_type":"step.delta","index":1,"delta":{"type":"thought_signature","signature":"S"}}',
        b'{"event_type":"step.delta","index":1,"delta":{"type":"thought_signature","signature":""}}',
        b'{"event_type":"step.delta","index":2,"delta":{"type":"text","text":""}}',
    ):
        before = reader.progress
        reader.feed([Frame(frame)])
        grown.append(reader.progress - before)
    assert grown == [1, 1, 1, 1, 0, 0]
