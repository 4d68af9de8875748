"""What the ollama-chat translator says beside its events; the events themselves are the fixtures'."""

from __future__ import annotations

import pytest

import headwater
from headwater_codecs.framing import Fault
from headwater_codecs.neutral import Finish, RawFrame, StreamFailed, StreamStart, TextDelta, TextEnd, TextStart, error_info
from headwater_codecs.sse import Frame
from headwater_providers.ollama_chat.translate import OllamaTranslator

TEXT = Frame(b'{"model":"m","message":{"role":"assistant","content":"a"},"done":false}')
EMPTY = Frame(b'{"model":"m","message":{"role":"assistant","content":""},"done":false}')
LAST = Frame(b'{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}')


def test_an_event_goes_out_with_its_line() -> None:
    """Nothing waits for the next one."""
    translator = OllamaTranslator(provider="p")
    assert translator.feed([EMPTY]) == []
    assert translator.feed([TEXT]) == [StreamStart("m", None, "p"), TextStart(0), TextDelta(0, "a")]
    assert translator.feed([TEXT, EMPTY, TEXT]) == [TextDelta(0, "a"), TextDelta(0, "a")]
    assert not translator.done
    events = translator.feed([LAST, TEXT])
    assert (events[0], type(events[-1]), translator.done) == (TextEnd(0), Finish, True)
    assert translator.feed([TEXT]) == translator.finish() == []


def test_raw_frames_come_before_their_events() -> None:
    """Also on the short way, which gives the same events."""
    translator = OllamaTranslator(raw=True)
    events = translator.feed([TEXT, TEXT, LAST])
    plain = OllamaTranslator().feed([TEXT, TEXT, LAST])
    assert [event for event in events if type(event) is not RawFrame] == plain
    assert [event.data for event in events if type(event) is RawFrame] == [TEXT.data, TEXT.data, LAST.data]
    assert [type(event) for event in events[:3]] == [StreamStart, RawFrame, TextStart]


@pytest.mark.parametrize("kind", ["network", "timeout", "aborted"])
def test_a_broken_stream(kind: str) -> None:
    """What came is kept, and the failure is the one that happened."""
    error = error_info(kind, "it broke")  # type: ignore[arg-type]
    for broken in (lambda t: t.fail(error), lambda t: t.feed([Fault(error)])):
        translator = OllamaTranslator()
        translator.feed([TEXT])
        assert broken(translator) == [TextEnd(0, complete=False), StreamFailed(error)]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b'{"status":"pulling"}', "odd_frame"),
        (b"[1]", "odd_frame"),
        (b'{"message":{"tool_calls":[{"function":{}}]}}', "nameless_call"),
        (b'{"message":{"content":"\xff"}}', "bad_utf8"),
    ],
)
def test_oddities_are_noted(line: bytes, code: str) -> None:
    """The stream goes on."""
    answer = headwater.decode("ollama-chat", [TEXT.data, b"\n", line, b"\n", LAST.data], content_type="application/x-ndjson")
    assert [note.code for note in answer.diagnostics] == [code]
    assert answer.finish_reason == "stop"
