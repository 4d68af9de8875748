"""The short way through a piece of text is the long one: every sequence of some frames gives the same events and diagnostics without it."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Sequence

import pytest

from headwater_codecs.neutral import Event
from headwater_codecs.sse import Frame
from headwater_providers.cohere_chat.translate import CohereTranslator
from headwater_providers.event_translator import EventTranslator
from headwater_providers.gemini.translate import GeminiTranslator
from headwater_providers.gemini_interactions.translate import InteractionsTranslator

LENGTH = 4


def chunk(candidate: bytes, more: bytes = b"") -> bytes:
    """A chunk of Gemini's."""
    return b'{"candidates":[{%b}]%b,"modelVersion":"m"}' % (candidate, more)


def parts(*values: bytes) -> bytes:
    """The parts of a candidate."""
    return b'"content":{"role":"model","parts":[%b]}' % b",".join(values)


DEEP = b'{"x":' + b"[" * 120 + b"]" * 120 + b',"promptTokenCount":3}'
GEMINI = [
    chunk(parts(b'{"text":"a"}')),
    chunk(parts(b'{"text":""}') + b',"index":0,"groundingMetadata":{}'),
    chunk(parts(b'{"text":"b"}'), b',"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":2,"totalTokenCount":3,"x":["\xc3\xa9"]}'),
    chunk(parts(b'{"text":"c"}') + b',"index":0,"groundingMetadata":{"webSearchQueries":["q"]}'),
    chunk(parts(b'{"text":"d","thoughtSignature":"S"}')),
    chunk(parts(b'{"text":"e","thought":true}')),
    chunk(parts(b'{"text":"\\ud83d"}')),
    chunk(parts(b'{"functionCall":{"name":"f","id":"c","willContinue":true}}')),
    chunk(parts(b'{"text":"g"}') + b',"index":1'),
    chunk(parts(b'{"text":"h"}') + b',"finishReason":"STOP"'),
    chunk(parts(b'{"text":"i"}'), b',"usageMetadata":' + DEEP),
    chunk(b'"groundingMetadata":{"groundingChunks":[{"web":{"uri":"https://a.example"}}]}'),
]


def message(kind: bytes, index: int, content: bytes) -> bytes:
    """An event of Cohere's."""
    return b'{"type":"%b","index":%d,"delta":{"message":{%b}}}' % (kind, index, content)


COHERE = [
    message(b"content-start", 0, b'"content":{"type":"text","text":""}'),
    message(b"content-delta", 0, b'"content":{"text":"a"}'),
    message(b"content-delta", 0, b'"content":{"text":""}'),
    message(b"content-delta", 1, b'"content":{"text":"b"}'),
    message(b"content-delta", 0, b'"content":{"thinking":"c"}'),
    message(b"content-delta", 0, b'"content":{"text":"\\ud83d"}'),
    b'{"type":"content-end","index":0}',
    message(b"tool-plan-delta", 0, b'"tool_plan":"p"'),
    message(b"citation-start", 0, b'"citations":{"text":"a","sources":[]}'),
    b'{"type":"message-end","delta":{"finish_reason":"COMPLETE"}}',
    b'{"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"d"}}},"error":"e"}',
]


def step(kind: bytes, index: int, more: bytes = b"") -> bytes:
    """An event of an interaction."""
    return b'{"event_type":"step.%b","index":%d%b}' % (kind, index, more)


INTERACTIONS = [
    step(b"start", 0, b',"step":{"type":"model_output"}'),
    step(b"start", 1, b',"step":{"type":"thought"}'),
    step(b"delta", 0, b',"delta":{"type":"text","text":"a"}'),
    step(b"delta", 1, b',"delta":{"type":"text","text":"b"}'),
    step(b"delta", 0, b',"delta":{"type":"text","text":"c"},"metadata":{"total_usage":{"total_input_tokens":1}}'),
    step(b"delta", 0, b',"delta":{"type":"text","text":"\\ud83d"}'),
    step(b"delta", 0, b',"delta":{"type":"thought_signature","signature":"S"}'),
    step(b"stop", 0),
    b'{"event_type":"error","error":{"code":"internal_error","message":"m"}}',
]


def events(translator: EventTranslator, frames: Sequence[bytes], *, short: bool) -> tuple[list[Event], object]:
    """The events of these frames, and what was odd."""
    if not short:
        translator._plain = lambda frame: False  # type: ignore[method-assign]  # the long way for all
    found = translator.feed([Frame(data) for data in frames])
    return found + translator.finish(), translator.diagnostics


@pytest.mark.parametrize(
    ("translator", "frames"),
    [(GeminiTranslator, GEMINI), (CohereTranslator, COHERE), (InteractionsTranslator, INTERACTIONS)],
    ids=["gemini", "cohere-chat", "gemini-interactions"],
)
def test_both_ways(translator: type[EventTranslator], frames: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """With an opening piece of text before it, every sequence of frames."""
    monkeypatch.setattr(uuid, "uuid4", lambda: uuid.UUID(int=0))  # ids that are made up are the same too
    opening = {GeminiTranslator: GEMINI[0], CohereTranslator: COHERE[1], InteractionsTranslator: INTERACTIONS[2]}[translator]
    for sequence in itertools.product(frames, repeat=LENGTH - 1):
        told = [opening, *sequence]
        assert events(translator(), told, short=True) == events(translator(), told, short=False), told  # type: ignore[call-arg]  # they have defaults


@pytest.mark.parametrize(
    ("translator", "frames", "plain"),
    [(GeminiTranslator, GEMINI, [0, 1, 2, 10]), (CohereTranslator, COHERE, [1, 2, 10]), (InteractionsTranslator, INTERACTIONS, [2])],
    ids=["gemini", "cohere-chat", "gemini-interactions"],
)
def test_which_frames_go_the_short_way(translator: type[EventTranslator], frames: list[bytes], plain: list[int]) -> None:
    """Behind a piece of text in the first block: those and no others."""
    short = []
    for number, data in enumerate(frames):
        reader = translator()  # type: ignore[call-arg]  # it has defaults
        reader.feed([Frame(frames[plain[0]])])
        if reader._plain(Frame(data)):
            short.append(number)
    assert short == plain
