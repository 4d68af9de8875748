"""The bytes of the anthropic-messages encoder: what clients demand, and one block after the other."""

from __future__ import annotations

import pytest
from msgspec import Raw

from headwater_codecs.anthropic_messages.encode import PING, MessagesEncoder, encode_error, encode_response
from headwater_codecs.neutral import (
    ChoiceEnd,
    Citation,
    Event,
    Finish,
    LocalProtocolError,
    OpaqueEnd,
    OpaqueStart,
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

START = (
    b'event: message_start\ndata: {"type":"message_start","message":{"id":"i","type":"message","role":"assistant","model":"m","content":[],'
    b'"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":0,"output_tokens":0}}}\n\n'
)
STOP = b'event: message_stop\ndata: {"type":"message_stop"}\n\n'


def encoded(*events: Event) -> bytes:
    """The events as one stream."""
    encoder = MessagesEncoder(model="m", id="i", created=0)
    return encoder.feed(events) + encoder.finish()


def block(number: int, start: str, *deltas: str) -> bytes:
    """A block's events."""
    frames = [f'event: content_block_start\ndata: {{"type":"content_block_start","index":{number},"content_block":{start}}}\n\n']
    frames += [f'event: content_block_delta\ndata: {{"type":"content_block_delta","index":{number},"delta":{delta}}}\n\n' for delta in deltas]
    frames.append(f'event: content_block_stop\ndata: {{"type":"content_block_stop","index":{number}}}\n\n')
    return "".join(frames).encode()


def ended(reason: str | None = "end_turn", usage: str = '{"output_tokens":0}', sequence: str = "null") -> bytes:
    """How a good stream ends."""
    said = "null" if reason is None else f'"{reason}"'
    delta = f'{{"stop_reason":{said},"stop_sequence":{sequence}}}'
    return f'event: message_delta\ndata: {{"type":"message_delta","delta":{delta},"usage":{usage}}}\n\n'.encode() + STOP


def test_every_field_that_clients_demand() -> None:
    """Text with counts: the message's own start has them as far as they are known, the end the last ones."""
    first, last = Usage(15, 1, 3, 2), Usage(15, 9, 3, 2, 4)
    events = [
        StreamStart(),
        UsageUpdate(first),
        TextStart(0),
        TextDelta(0, "Hi"),
        TextEnd(0),
        UsageUpdate(last),
        ChoiceEnd(0, "stop"),
        Finish("stop"),
    ]
    counts = '{"input_tokens":10,"output_tokens":%s,"cache_creation_input_tokens":2,"cache_read_input_tokens":3%s}'
    start = START.replace(b'{"input_tokens":0,"output_tokens":0}', (counts % (1, "")).encode())
    text = block(0, '{"type":"text","text":""}', '{"type":"text_delta","text":"Hi"}')
    assert encoded(*events) == start + text + ended(usage=counts % (9, ',"output_tokens_details":{"thinking_tokens":4}'))


def test_thinking() -> None:
    """The signature comes once, after the thinking; redacted thinking is known by its end."""
    events: list[Event] = [ReasoningStart(0), ReasoningDelta(0, "hm"), ReasoningEnd(0, signature="S+/="), ReasoningStart(1)]
    events += [ReasoningEnd(1, redacted=True, data="Em=="), ReasoningStart(2), ReasoningEnd(2, signature="T"), Finish("stop", "end_turn")]
    empty = '{"type":"thinking","thinking":"","signature":""}'
    thought = block(0, empty, '{"type":"thinking_delta","thinking":"hm"}', '{"type":"signature_delta","signature":"S+/="}')
    redacted = block(1, '{"type":"redacted_thinking","data":"Em=="}')
    assert encoded(*events) == START + thought + redacted + block(2, empty, '{"type":"signature_delta","signature":"T"}') + ended()


def test_calls_and_items() -> None:
    """A call without arguments gets `{}`, free text an object around it; an item goes out byte for byte, and a cut one not at all."""
    raw = b'{"type":"mcp_tool_use" , "n":1.50}'
    events: list[Event] = [
        ToolCallStart(0, "t0", "f"),
        ToolCallEnd(0),
        ToolCallStart(1, "t1", "g", kind="custom"),
        ToolCallDelta(1, "a"),
        ToolCallDelta(1, '"'),
    ]
    events += [ToolCallEnd(1), OpaqueStart(2, "mcp_tool_use"), OpaqueEnd(2, raw=raw), OpaqueStart(3, "x"), OpaqueEnd(3, complete=False, raw=raw)]
    first = block(0, '{"type":"tool_use","id":"t0","name":"f","input":{}}', '{"type":"input_json_delta","partial_json":"{}"}')
    free = r'{"type":"input_json_delta","partial_json":"{\"input\":\"a\\\"\"}"}'
    second = block(1, '{"type":"tool_use","id":"t1","name":"g","input":{}}', free)
    assert encoded(*events, Finish("tool_calls")) == START + first + second + block(2, raw.decode()) + ended("tool_use")


def test_interleaved_blocks_come_one_after_the_other() -> None:
    """What belongs to a later block waits for the end of the one before; the first is written as it comes."""
    encoder = MessagesEncoder(model="m", id="i")
    one, two = '{"type":"text_delta","text":"a"}', '{"type":"input_json_delta","partial_json":"1"}'
    text = block(0, '{"type":"text","text":""}', one)
    stop = text.index(b"event: content_block_stop")
    assert encoder.feed([TextStart(0), TextDelta(0, "a")]) == START + text[:stop]
    assert encoder.feed([ToolCallStart(1, "t", "f"), ToolCallDelta(1, "1"), ToolCallEnd(1)]) == b""
    assert encoder.feed([TextEnd(0)]) == text[stop:] + block(1, '{"type":"tool_use","id":"t","name":"f","input":{}}', two)
    assert encoder.feed([Finish("tool_calls", "tool_use")]) == ended("tool_use")


def test_an_item_that_is_open_holds_back_the_rest() -> None:
    """Nobody knows what an item is before its end, so the text behind it waits."""
    encoder = MessagesEncoder(model="m", id="i")
    assert encoder.feed([OpaqueStart(0, "x"), TextStart(1), TextDelta(1, "a")]) == START
    text = block(1, '{"type":"text","text":""}', '{"type":"text_delta","text":"a"}')
    stop = text.index(b"event: content_block_stop")
    assert encoder.feed([OpaqueEnd(0, raw=b'{"type":"x"}')]) == block(0, '{"type":"x"}') + text[:stop]
    assert encoder.feed([TextEnd(1)]) == text[stop:]


def test_citations() -> None:
    """The provider's own source byte for byte; one of another protocol by its address; one without an open block not at all."""
    own = Citation(0, raw=Raw(b'{"type":"char_location","cited_text":"q"}'))
    events: list[Event] = [TextStart(0), own, Citation(0, url="https://a.example", title="A"), TextEnd(0), Citation(0, url="x"), Finish("stop")]
    first = '{"type":"citations_delta","citation":{"type":"char_location","cited_text":"q"}}'
    second = '{"type":"citations_delta","citation":{"type":"web_search_result_location","url":"https://a.example","title":"A","cited_text":""}}'
    assert encoded(*events) == START + block(0, '{"type":"text","text":""}', first, second) + ended()


@pytest.mark.parametrize(
    ("finish", "reason", "sequence"),
    [
        (Finish("length"), "max_tokens", "null"),
        (Finish("pause"), "pause_turn", "null"),
        (Finish("content_filter", "SAFETY"), "refusal", "null"),
        (Finish("stop", "stop_sequence", detail="END"), "stop_sequence", '"END"'),
        (Finish("stop", "STOP", detail="anything"), "end_turn", "null"),
        (Finish("length", "model_context_window_exceeded"), "model_context_window_exceeded", "null"),
        (Finish("unknown", "brand_new"), None, "null"),
    ],
)
def test_reasons(finish: Finish, reason: str | None, sequence: str) -> None:
    """Each reason by the wire's word; the provider's own where it is one of this wire's."""
    assert encoded(finish) == START + ended(reason, sequence=sequence)


def test_refusal_and_further_choices() -> None:
    """A refusal is text with a reason; of several choices the first is written."""
    events: list[Event] = [RefusalStart(0), RefusalDelta(0, "no"), TextStart(1, 1), TextDelta(1, "other"), TextEnd(1), RefusalEnd(0), Finish("stop")]
    assert encoded(*events) == START + block(0, '{"type":"text","text":""}', '{"type":"text_delta","text":"no"}') + ended("refusal")


@pytest.mark.parametrize(
    ("kind", "word"),
    [("overloaded", "overloaded_error"), ("rate_limit", "rate_limit_error"), ("auth", "authentication_error"), ("malformed", "api_error")],
)
def test_failures(kind: str, word: str) -> None:
    """A failure is an error event, and nothing behind it says that the answer is whole."""
    said = f'{{"type":"error","error":{{"type":"{word}","message":"why"}}}}'.encode()
    error = error_info(kind, "why")  # type: ignore[arg-type]  # one of the kinds
    assert (
        encoded(TextStart(0), TextEnd(0), StreamFailed(error))
        == START + block(0, '{"type":"text","text":""}') + b"event: error\ndata: " + said + b"\n\n"
    )
    assert encode_error(error) == said


def test_a_cut_answer_says_so() -> None:
    """Without a terminal event the stream ends with an error; after one nothing more is said."""
    encoder = MessagesEncoder(model="m", id="i")
    encoder.feed([TextStart(0)])
    assert encoder.finish().startswith(b"event: error\n")
    assert encoder.finish() == b""


@pytest.mark.parametrize(
    "events",
    [
        [TextDelta(0, "a")],
        [TextStart(0), TextEnd(0), TextDelta(0, "a")],
        [TextStart(0), ToolCallStart(1, "t", "f"), ToolCallEnd(1), ToolCallDelta(1, "1")],
        [TextStart(0), ToolCallStart(1, "t", "f"), ToolCallEnd(1), ToolCallEnd(1)],
        [ReasoningEnd(0)],
        [TextStart(0), Finish("stop")],
        [Finish("stop"), TextStart(0)],
    ],
)
def test_illegal_events(events: list[Event]) -> None:
    """Events that no stream has raise LocalProtocolError."""
    with pytest.raises(LocalProtocolError):
        MessagesEncoder(model="m", id="i").feed(events)


def test_whole_answer_of_nothing() -> None:
    """An empty answer is a message all the same, and the ping is one frame."""
    body = encode_response(Response(), model="m", id="i")
    assert body == START[START.index(b'{"id"') : -3]
    assert PING == b'event: ping\ndata: {"type":"ping"}\n\n'
