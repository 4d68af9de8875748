"""Events to the bytes of an openai-chat stream."""

from __future__ import annotations

import msgspec
import pytest

from headwater_codecs.neutral import (
    Block,
    ChoiceEnd,
    Citation,
    ErrorInfo,
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
    Response,
    StreamFailed,
    StreamStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    Usage,
    UsageUpdate,
    error_info,
)
from headwater_codecs.openai_chat.encode import ChatEncoder, encode_error, encode_response
from headwater_codecs.sse import Frame, SSEParser

HEAD = b'data: {"id":"c-1","object":"chat.completion.chunk","created":7,"model":"m","choices":['
DONE = b"data: [DONE]\n\n"


def encoder(include_usage: bool = True) -> ChatEncoder:
    """An encoder with a fixed identity."""
    return ChatEncoder(model="m", id="c-1", created=7, include_usage=include_usage)


def chunk(delta: bytes, finish: bytes = b"null", choice: int = 0) -> bytes:
    """One chunk of one choice."""
    return HEAD + b'{"index":%d,"delta":%b,"finish_reason":%b}]}\n\n' % (choice, delta, finish)


ROLE = chunk(b'{"role":"assistant","content":""}')
TEXT: list[Event] = [StreamStart("m0", "r0"), TextStart(0), TextDelta(0, "Hi"), TextDelta(0, ' "é"\n'), TextEnd(0)]
END: list[Event] = [ChoiceEnd(0, "stop", "end_turn"), Finish("stop", "end_turn")]
LENGTH_AND_STOP: list[Event] = [ChoiceEnd(0, "length"), ChoiceEnd(1, "stop"), Finish("length")]
CALLS_END: list[Event] = [ToolCallEnd(0), ToolCallEnd(1), ChoiceEnd(0, "tool_calls"), Finish("tool_calls")]

STREAMS: dict[str, tuple[list[Event], bytes]] = {
    "text": ([*TEXT, *END], ROLE + chunk(b'{"content":"Hi"}') + chunk('{"content":" \\"é\\"\\n"}'.encode()) + chunk(b"{}", b'"stop"') + DONE),
    "nothing but an end": (END, ROLE + chunk(b"{}", b'"stop"') + DONE),
    "reasoning": (
        [ReasoningStart(0), ReasoningDelta(0, "hm"), ReasoningEnd(0, signature="sig"), TextStart(1), TextDelta(1, "a"), TextEnd(1), *END],
        ROLE + chunk(b'{"reasoning_content":"hm"}') + chunk(b'{"content":"a"}') + chunk(b"{}", b'"stop"') + DONE,
    ),
    "refusal": (
        [RefusalStart(0), RefusalDelta(0, "no"), RefusalEnd(0), ChoiceEnd(0, "refusal"), Finish("refusal")],
        ROLE + chunk(b'{"refusal":"no"}') + chunk(b"{}", b'"stop"') + DONE,
    ),
    "refusal without words": ([ChoiceEnd(0, "refusal"), Finish("refusal")], ROLE + chunk(b"{}", b'"content_filter"') + DONE),
    "two choices": (
        [TextStart(0), TextDelta(0, "a"), TextStart(1, 1), TextDelta(1, "b"), TextDelta(0, "c"), TextEnd(0), TextEnd(1), *LENGTH_AND_STOP],
        ROLE
        + chunk(b'{"content":"a"}')
        + chunk(b'{"role":"assistant","content":""}', choice=1)
        + chunk(b'{"content":"b"}', choice=1)
        + chunk(b'{"content":"c"}')
        + chunk(b"{}", b'"length"')
        + chunk(b"{}", b'"stop"', 1)
        + DONE,
    ),
    "calls interleaved": (
        [
            ToolCallStart(0, "t1", "f"),
            ToolCallDelta(0, '{"n"'),
            ToolCallStart(1, "t2", "g"),
            ToolCallDelta(1, "{}"),
            ToolCallDelta(0, ":1}"),
            *CALLS_END,
        ],
        ROLE
        + chunk(b'{"tool_calls":[{"index":0,"id":"t1","type":"function","function":{"name":"f","arguments":""}}]}')
        + chunk(rb'{"tool_calls":[{"index":0,"function":{"arguments":"{\"n\""}}]}')
        + chunk(b'{"tool_calls":[{"index":1,"id":"t2","type":"function","function":{"name":"g","arguments":""}}]}')
        + chunk(b'{"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]}')
        + chunk(b'{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}')
        + chunk(b"{}", b'"tool_calls"')
        + DONE,
    ),
    "call numbers begin anew in each choice": (
        [ToolCallStart(0, "t1", "f"), ToolCallStart(1, "t2", "g", 1), ToolCallDelta(1, "{}"), ToolCallEnd(0), ToolCallEnd(1), *END],
        ROLE
        + chunk(b'{"tool_calls":[{"index":0,"id":"t1","type":"function","function":{"name":"f","arguments":""}}]}')
        + chunk(b'{"role":"assistant","content":""}', choice=1)
        + chunk(b'{"tool_calls":[{"index":0,"id":"t2","type":"function","function":{"name":"g","arguments":""}}]}', choice=1)
        + chunk(b'{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}', choice=1)
        + chunk(b'{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}')
        + chunk(b"{}", b'"stop"')
        + DONE,
    ),
    "cut call gets no arguments": (
        [ToolCallStart(0, "t1", "f"), ToolCallEnd(0, complete=False), ChoiceEnd(0, "length"), Finish("length")],
        ROLE
        + chunk(b'{"tool_calls":[{"index":0,"id":"t1","type":"function","function":{"name":"f","arguments":""}}]}')
        + chunk(b"{}", b'"length"')
        + DONE,
    ),
    "custom call": (
        [ToolCallStart(0, "t1", "sql", kind="custom"), ToolCallDelta(0, "select"), ToolCallEnd(0), *END],
        ROLE
        + chunk(b'{"tool_calls":[{"index":0,"id":"t1","type":"custom","custom":{"name":"sql","input":""}}]}')
        + chunk(b'{"tool_calls":[{"index":0,"custom":{"input":"select"}}]}')
        + chunk(b"{}", b'"stop"')
        + DONE,
    ),
    "citations": (
        [TextStart(0), Citation(0, url="http://x", title="X"), Citation(0, cited_text="no address"), TextEnd(0), *END],
        ROLE + chunk(b'{"annotations":[{"type":"url_citation","url_citation":{"url":"http://x","title":"X"}}]}') + chunk(b"{}", b'"stop"') + DONE,
    ),
    "what this wire does not carry": (
        [RawFrame(b"{}"), OpaqueStart(0, "image"), OpaqueEnd(0, raw=b"{}"), *END],
        ROLE + chunk(b"{}", b'"stop"') + DONE,
    ),
    "failure": (
        [TextStart(0), TextDelta(0, "a"), TextEnd(0, complete=False), StreamFailed(error_info("overloaded", "busy", code="E1"), usage=Usage(1))],
        ROLE + chunk(b'{"content":"a"}') + b'data: {"error":{"message":"busy","type":"overloaded_error","param":null,"code":"E1"}}\n\n',
    ),
}


@pytest.mark.parametrize("name", STREAMS)
def test_stream(name: str) -> None:
    """Each kind of event becomes its chunks, the same in one batch and event by event, each framed on its own."""
    events, expected = STREAMS[name]
    assert encoder().feed(events) == expected
    one_by_one = encoder()
    assert b"".join(one_by_one.feed([event]) for event in events) == expected
    assert one_by_one.finish() == b""
    frames = SSEParser().feed(expected)
    assert frames == [Frame(line.removeprefix(b"data: ")) for line in expected.split(b"\n\n")[:-1]]


@pytest.mark.parametrize(
    ("reason", "word"), [("length", "length"), ("content_filter", "content_filter"), ("pause", "stop"), ("error", "error"), ("unknown", "unknown")]
)
def test_finish_reason(reason: str, word: str) -> None:
    """Every unified reason has a word; none is invented for what is unknown."""
    end = ChoiceEnd(0, reason)  # type: ignore[arg-type]  # parametrised as text
    assert encoder().feed([end]) == ROLE + chunk(b"{}", b'"%b"' % word.encode())


USAGES: dict[str, tuple[Usage, bytes]] = {
    "counts": (Usage(3, 2), b'{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}'),
    "unknown is not zero": (Usage(3), b'{"prompt_tokens":3,"completion_tokens":null,"total_tokens":null}'),
    "details": (
        Usage(9, 4, 5, 0, 1),
        b'{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13,'
        b'"prompt_tokens_details":{"cached_tokens":5,"cache_write_tokens":0},"completion_tokens_details":{"reasoning_tokens":1}}',
    ),
}


@pytest.mark.parametrize("name", USAGES)
def test_usage(name: str) -> None:
    """The usage comes in a chunk of its own, without choices, before the end; not where it is not asked for or not known."""
    usage, written = USAGES[name]
    expected = HEAD + b'],"usage":' + written + b"}\n\n" + DONE
    assert encoder().feed([Finish("stop", usage=usage)]) == expected
    assert encoder().feed([UsageUpdate(Usage(1, 1)), UsageUpdate(usage), Finish("stop")]) == expected
    assert encoder(include_usage=False).feed([Finish("stop", usage=usage)]) == DONE
    assert encoder().feed([Finish("stop")]) == DONE


def test_cut_answer_does_not_look_whole() -> None:
    """Ending without a terminal event writes an error, once."""
    cut = encoder()
    cut.feed(TEXT)
    said = b'data: {"error":{"message":"the answer was cut off before its end","type":"server_error","param":null,"code":"aborted"}}\n\n'
    assert cut.finish() == said
    assert cut.finish() == b""


def test_events_at_illegal_moments() -> None:
    """After the end, and for a block that is not open, an event is our own error and named."""
    ended = encoder()
    ended.feed(END)
    with pytest.raises(LocalProtocolError, match="TextDelta came after the end of the stream"):
        ended.feed([TextDelta(0, "x")])
    with pytest.raises(LocalProtocolError, match="ToolCallDelta is for a block that was not opened"):
        encoder().feed([ToolCallDelta(0, "x")])


@pytest.mark.parametrize(
    ("error", "type", "code"),
    [
        (ErrorInfo("rate_limit", "m"), b"rate_limit_error", b"rate_limit_exceeded"),
        (ErrorInfo("context_overflow", "m"), b"invalid_request_error", b"context_length_exceeded"),
        (ErrorInfo("auth", "m", code="bad"), b"authentication_error", b"bad"),
        (ErrorInfo("truncated", "m"), b"upstream_error", b"truncated"),
        (ErrorInfo("internal", "m"), b"server_error", b"internal"),
    ],
)
def test_error(error: ErrorInfo, type: bytes, code: bytes) -> None:
    """A failure keeps its own code, or gets the protocol's word for its kind."""
    assert encode_error(error) == b'{"error":{"message":"m","type":"%b","param":null,"code":"%b"}}' % (type, code)


def block(response: Response, kind: str, text: str, choice: int = 0) -> Block:
    """Add a closed block to a response."""
    made = Block(kind, len(response.choice(choice).blocks), choice)  # type: ignore[arg-type]  # given as text
    made.fragments.append(text)
    made.closed = made.complete = True
    response.choice(choice).blocks.append(made)
    return made


def test_whole_response() -> None:
    """A whole answer has every channel, every choice and the usage; a cut call is left out."""
    response = Response()
    block(response, "reasoning", "hm")
    block(response, "text", "Hi").citations.append(Citation(1, url="http://x"))
    call = block(response, "tool_call", "")
    call.id, call.name = "t1", "f"
    cut = block(response, "tool_call", '{"a')
    cut.complete = False
    block(response, "refusal", "no", choice=1)
    response.choice(0).finish_reason = "tool_calls"
    response.choice(1).finish_reason = "refusal"
    response.usage = Usage(3, 2)
    assert encode_response(response, model="m", id="c-1", created=7) == (
        b'{"id":"c-1","object":"chat.completion","created":7,"model":"m","choices":['
        b'{"index":0,"message":{"role":"assistant","content":"Hi","reasoning_content":"hm",'
        b'"tool_calls":[{"id":"t1","type":"function","function":{"name":"f","arguments":"{}"}}],'
        b'"annotations":[{"type":"url_citation","url_citation":{"url":"http://x"}}]},"finish_reason":"tool_calls"},'
        b'{"index":1,"message":{"role":"assistant","content":null,"refusal":"no"},"finish_reason":"stop"}],'
        b'"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}'
    )


def test_whole_response_that_failed() -> None:
    """A failed answer is the protocol's error object, whatever was received before."""
    response = Response()
    block(response, "text", "Hi")
    response.error = ErrorInfo("server", "boom")
    assert encode_response(response, model="m", id="c-1", created=7) == encode_error(response.error)


def test_response_that_has_not_ended() -> None:
    """An answer still running has no finish reason, and no usage is made up."""
    response = Response()
    value = msgspec.json.decode(encode_response(response, model="m", id="c-1", created=7))
    assert value["choices"] == [{"index": 0, "message": {"role": "assistant", "content": None}, "finish_reason": None}]
    assert "usage" not in value
