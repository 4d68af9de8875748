"""What `OllamaEncoder` writes, byte for byte."""

from __future__ import annotations

import pytest

from headwater_codecs.neutral import (
    ChoiceEnd,
    Event,
    Finish,
    LocalProtocolError,
    OpaqueEnd,
    OpaqueStart,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    StreamFailed,
    StreamStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    Usage,
    error_info,
)
from headwater_codecs.ollama_chat.encode import OllamaEncoder, encode_error

HEAD = b'{"model":"m","created_at":"1970-01-01T00:00:07Z","message":{"role":"assistant",'
END: list[Event] = [ChoiceEnd(0, "stop", "stop"), Finish("stop", "stop", Usage(3, 2))]
LAST = HEAD + b'"content":""},"done":true,"done_reason":"stop","prompt_eval_count":3,"eval_count":2}\n'


def encoder() -> OllamaEncoder:
    """A fresh one."""
    return OllamaEncoder(model="m", id="x", created=7)


def test_every_line() -> None:
    """Reasoning, text, a call, the end."""
    written = [
        encoder().feed([StreamStart("other", "r"), ReasoningStart(0), ReasoningDelta(0, "p"), ReasoningEnd(0, signature="S")]),
        encoder().feed([TextStart(0), TextDelta(0, "é"), TextEnd(0)]),
        encoder().feed([ToolCallStart(0, "c1", "f"), ToolCallDelta(0, '{"a":'), ToolCallDelta(0, "1}"), ToolCallEnd(0)]),
        encoder().feed(END),
    ]
    assert written == [
        HEAD + b'"content":"","thinking":"p"},"done":false}\n',
        HEAD + '"content":"é"},"done":false}\n'.encode(),
        HEAD + b'"content":"","tool_calls":[{"id":"c1","function":{"name":"f","arguments":{"a":1}}}]},"done":false}\n',
        LAST,
    ]


@pytest.mark.parametrize(
    "events",
    [
        [ToolCallStart(0, "c1", "f"), ToolCallDelta(0, '{"a"'), ToolCallEnd(0, complete=False)],
        [ToolCallStart(0, "c1", "f"), ToolCallDelta(0, "[1]"), ToolCallEnd(0)],
        [OpaqueStart(0, "image"), OpaqueEnd(0, raw=b'"aGk="')],
        [TextStart(0, 1), TextDelta(0, "b"), TextEnd(0)],
        [ToolCallStart(0, "c1", "f", 1), ToolCallEnd(0)],
    ],
    ids=["cut call", "arguments that are no object", "opaque item", "text of another choice", "call of another choice"],
)
def test_what_the_wire_cannot_carry_is_not_written(events: list[Event]) -> None:
    """The rest of the answer is."""
    assert encoder().feed([*events, *END]) == LAST


def test_a_failure_is_the_last_line() -> None:
    """In the form of Ollama's own."""
    failed = encoder()
    assert failed.feed([StreamFailed(error_info("server", "it broke"))]) == b'{"error":"it broke"}\n'
    assert failed.finish() == b""
    assert encode_error(error_info("server", "it broke")) == b'{"error":"it broke"}'


def test_an_answer_without_its_end_says_so() -> None:
    """It must not look whole."""
    assert encoder().finish() == b'{"error":"the answer was cut off before its end"}\n'


@pytest.mark.parametrize("events", [[*END, TextStart(0)], [ToolCallDelta(0, "{}")], [ToolCallEnd(0)]])
def test_illegal_events(events: list[Event]) -> None:
    """They are the caller's mistake."""
    with pytest.raises(LocalProtocolError):
        encoder().feed(events)
