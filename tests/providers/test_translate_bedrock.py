"""bedrock-converse and bedrock-invoke: literal streams, and what they tell."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headwater as hw
from headwater_codecs.neutral import RawFrame, StreamFailed, StreamStart, error_info
from headwater_codecs.sse import Frame
from headwater_providers.bedrock_converse.translate import ConverseTranslator
from headwater_providers.bedrock_invoke.translate import InvokeTranslator
from told import lawful, messages, told

AWS = "application/vnd.amazon.eventstream"
START = ("messageStart", {"role": "assistant"})
USAGE = {"inputTokens": 4, "outputTokens": 2, "totalTokens": 16, "cacheReadInputTokens": 10, "cacheWriteInputTokens": 0}
COUNTS = (14, 2, 10, 0, None)


def delta(index: int, **delta: object) -> tuple[str, object]:
    """A piece of a block."""
    return ("contentBlockDelta", {"contentBlockIndex": index, "delta": delta})


def tool(index: int, id: str, name: str) -> tuple[str, object]:
    """A tool call opens."""
    return ("contentBlockStart", {"contentBlockIndex": index, "start": {"toolUse": {"toolUseId": id, "name": name}}})


def stop(index: int) -> tuple[str, object]:
    """A block ends."""
    return ("contentBlockStop", {"contentBlockIndex": index})


def end(reason: str) -> list[tuple[str, object]]:
    """The end of the message, and the usage behind it."""
    return [("messageStop", {"stopReason": reason}), ("metadata", {"usage": USAGE, "metrics": {"latencyMs": 1}})]


CONVERSE: dict[str, tuple[list[tuple[str, object]], list[object]]] = {
    "text": ([START, delta(0, text="Hel"), delta(0, text="lo"), stop(0), *end("end_turn")], [("text", "Hello"), ("stop", "end_turn"), COUNTS]),
    "reasoning": (
        [
            START,
            delta(0, reasoningContent={"text": "plan"}),
            delta(0, reasoningContent={"signature": "SI"}),
            delta(0, reasoningContent={"signature": "G"}),
            stop(0),
            delta(1, reasoningContent={"redactedContent": "RU5D"}),
            stop(1),
            delta(2, text="Hi"),
            *end("end_turn"),
        ],
        [("reasoning", "plan", "SIG"), ("reasoning", "", "redacted", "RU5D"), ("text", "Hi"), ("stop", "end_turn"), COUNTS],
    ),
    "calls": (
        [
            START,
            tool(0, "t1", "f"),
            delta(0, toolUse={"input": '{"a"'}),
            delta(0, toolUse={"input": ":1}"}),
            stop(0),
            tool(1, "t2", "now"),
            stop(1),
            *end("tool_use"),
        ],
        [("call", "t1", "f", '{"a":1}'), ("call", "t2", "now", "{}"), ("tool_calls", "tool_use"), COUNTS],
    ),
    "a cut call": (
        [START, tool(0, "t1", "f"), delta(0, toolUse={"input": '{"a'}), *end("max_tokens")],
        [("call", "t1", "f", '{"a', "cut"), ("length", "max_tokens"), COUNTS],
    ),
    "a guardrail": ([START, delta(0, text="No"), *end("guardrail_intervened")], [("text", "No"), ("content_filter", "guardrail_intervened"), COUNTS]),
    "a reason that nobody knows": ([START, delta(0, text="a"), *end("sparkle")], [("text", "a"), ("unknown", "sparkle"), COUNTS]),
    "a tool of the provider's": (
        [
            START,
            ("contentBlockStart", {"contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": "t", "name": "search", "type": "server_tool_use"}}}),
            delta(0, toolUse={"input": '{"q":1}'}),
            stop(0),
            *end("end_turn"),
        ],
        [
            ("opaque", "toolUse", '{"toolUse":{"toolUseId":"t","name":"search","type":"server_tool_use","input":{"q":1}}}'),
            ("stop", "end_turn"),
            COUNTS,
        ],
    ),
    "an exception": ([START, delta(0, text="par"), ("throttlingException", {"message": "slow down"})], [("text", "par"), ("rate_limit", None)]),
    "an exception in an event": (
        [START, delta(0, text="par"), ("chunk", {"internalServerException": {"message": "broke"}})],
        [("text", "par"), ("server", None)],
    ),
    "no messageStop": ([START, delta(0, text="par"), stop(0)], [("text", "par"), ("truncated", None)]),
    "an event that nobody knows": (
        [("initial-response", {}), START, delta(0, text="a"), ("sparkle", {}), *end("end_turn")],
        [("text", "a"), ("stop", "end_turn"), COUNTS],
    ),
}


@pytest.mark.rows("PI-BR-01", "PI-BR-02", "PI-BR-03", "WIRE-41", "WIRE-54")
@pytest.mark.parametrize("name", CONVERSE)
def test_converse(name: str) -> None:
    """The stream tells this, wherever it is cut."""
    events, expected = CONVERSE[name]
    assert told("bedrock-converse", messages(*events), AWS) == expected


@pytest.mark.rows("WIRE-35")
def test_cut_in_a_message() -> None:
    """Bytes that end inside a message are truncated; with the end of the answer seen it is whole all the same."""
    data = messages(START, delta(0, text="par"))
    assert told("bedrock-converse", data[:-3], AWS) == [("truncated", None)]
    assert told("bedrock-converse", messages(START, delta(0, text="a"), ("messageStop", {"stopReason": "end_turn"})) + data[:9], AWS) == [
        ("text", "a"),
        ("stop", "end_turn"),
    ]


@pytest.mark.rows("WIRE-33")
def test_a_flipped_byte() -> None:
    """A wrong checksum is malformed, behind what came before it."""
    first, second = messages(START, delta(0, text="a")), bytearray(messages(delta(0, text="b")))
    second[-6] ^= 1
    assert told("bedrock-converse", first + bytes(second), AWS) == [("text", "a"), ("malformed", None)]


def chunks(*events: object) -> bytes:
    """Events of a model's own protocol, packed."""
    return messages(*[("chunk", {"bytes": base64.b64encode(json.dumps(event).encode()).decode(), "p": "abc"}) for event in events])


METRICS = {"amazon-bedrock-invocationMetrics": {"inputTokenCount": 7, "outputTokenCount": 3}}
INVOKE: dict[str, tuple[bytes, list[object]]] = {
    "anthropic": (
        chunks(
            {"type": "message_start", "message": {"id": "m", "model": "c", "content": [], "usage": {"input_tokens": 7, "output_tokens": 1}}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}},
            {"type": "message_stop", **METRICS},
        ),
        [("text", "Hi"), ("stop", "end_turn"), (7, 3, None, None, None)],
    ),
    "nova": (
        chunks(
            {"messageStart": {"role": "assistant"}},
            {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Hi"}}},
            {"messageStop": {"stopReason": "end_turn"}},
            {"metadata": {"usage": {"inputTokens": 7, "outputTokens": 3}}},
        ),
        [("text", "Hi"), ("stop", "end_turn"), (7, 3, None, None, None)],
    ),
    "titan": (
        chunks({"outputText": "H", "index": 0, "completionReason": None}, {"outputText": "i", "completionReason": "FINISH", **METRICS}),
        [("text", "Hi"), ("stop", "FINISH"), (7, 3, None, None, None)],
    ),
    "llama": (
        chunks(
            {"generation": "H", "prompt_token_count": 7, "stop_reason": None},
            {"generation": "i", "generation_token_count": 3, "stop_reason": "length"},
        ),
        [("text", "Hi"), ("length", "length"), (7, 3, None, None, None)],
    ),
    "mistral": (
        chunks({"outputs": [{"text": "Hi", "stop_reason": None}]}, {"outputs": [{"text": "", "stop_reason": "stop"}]}),
        [("text", "Hi"), ("stop", "stop")],
    ),
    "mistral, chat": (
        chunks(
            {"choices": [{"message": {"content": "Hi"}, "stop_reason": None}]},
            {"choices": [{"message": {"content": ""}, "stop_reason": "stop"}], **METRICS},
        ),
        [("text", "Hi"), ("stop", "stop"), (7, 3, None, None, None)],
    ),
    "cut": (chunks({"generation": "par", "stop_reason": None}), [("text", "par"), ("truncated", None)]),
    "an exception": (
        chunks({"generation": "par", "stop_reason": None}) + messages(("modelStreamErrorException", {"message": "broke"})),
        [("text", "par"), ("server", None)],
    ),
    "an exception first": (messages(("throttlingException", {"message": "slow"})), [("rate_limit", None)]),
    "no base64": (messages(("chunk", {"bytes": "%%%"})), [("malformed", None)]),
}


@pytest.mark.parametrize("body", [b'{"message":"no access"}', b'{"Message":"no access"}', b'{"error":{"message":"no access"}}'])
def test_an_error_in_place_of_an_invoked_stream(body: bytes) -> None:
    """With status 200 and no frame around it, it is still told as what it says."""
    error = hw.decode("bedrock-invoke", [body], content_type="application/json").error
    assert error is not None
    assert (error.kind, error.message) == ("server", "no access")


@pytest.mark.rows("WIRE-39")
@pytest.mark.parametrize("name", INVOKE)
def test_invoke(name: str) -> None:
    """Each family's answer is read by its own rules."""
    data, expected = INVOKE[name]
    assert told("bedrock-invoke", data, AWS) == expected


@pytest.mark.rows("WIRE-42")
@pytest.mark.parametrize("protocol", ["bedrock-converse", "bedrock-invoke"])
@pytest.mark.parametrize("name", ["modelStreamErrorException", "chunk"])
def test_the_message_of_the_model_is_told(protocol: str, name: str) -> None:
    """Bedrock quotes what the model said; that says more than its own message."""
    said = {"message": "outer", "originalStatusCode": 424, "originalMessage": "inner"}
    event = (name, said if name.endswith("Exception") else {"modelStreamErrorException": said})
    error = hw.decode(protocol, [messages(event)], content_type=AWS).error
    assert error is not None
    assert (error.kind, error.message, error.code) == ("server", "inner", "modelStreamErrorException")


def test_frames_before_the_family_is_known_are_not_lost() -> None:
    """With raw frames every frame is told, also those that came before one that tells the family."""
    first, second = Frame(b"{}", "initial-response"), Frame(b'{"sparkle":1}', "chunk")
    answer = Frame(b'{"generation":"a","stop_reason":"stop"}', "chunk")
    translator = InvokeTranslator(raw=True)
    assert translator.feed([first]) == translator.feed([second]) == []
    assert (translator.progress, translator.settled, translator.done, translator.diagnostics) == (0, False, False, [])
    events = translator.feed([answer])
    assert [event.data for event in events if isinstance(event, RawFrame)] == [first.data, second.data, answer.data]
    assert translator.settled


def test_not_every_frame_waits_for_the_family() -> None:
    """A server that sends nothing but what no family knows does not fill the memory."""
    translator = InvokeTranslator(raw=True)
    for _ in range(1000):
        translator.feed([Frame(b"{}", "sparkle")])
    assert translator._waiting == []
    events = translator.finish()
    assert isinstance(events[-1], StreamFailed)
    assert events[-1].error.kind == "truncated"


def test_a_failure_before_the_family_is_known() -> None:
    """The connection broke, and the stream says so."""
    translator = InvokeTranslator()
    assert translator.feed([Frame(b"{}", "initial-response")]) == []
    error = error_info("network", "gone", phase="stream")
    assert translator.fail(error) == [StreamStart(), StreamFailed(error)]
    assert translator.done


PIECES = st.sampled_from(["", "a", "bc", "é", "\ud83d", "\ude80"])  # also halves of a pair
DELTAS = st.builds(
    lambda index, kind, text: {"contentBlockIndex": index, "delta": {"reasoningContent": {"text": text}} if kind == "reasoning" else {kind: text}},
    st.integers(0, 1),
    st.sampled_from(["text", "text", "text", "reasoning", "citation"]),
    PIECES,
)
MIXED = st.builds(lambda delta, text: {**delta, "delta": {**delta["delta"], "text": text}}, DELTAS, PIECES)  # text beside something else
STOPS = st.builds(lambda index: {"contentBlockIndex": index}, st.integers(0, 1))
EVENTS = st.tuples(st.just("contentBlockDelta"), DELTAS | MIXED) | st.tuples(st.just("contentBlockStop"), STOPS)


@settings(max_examples=150)
@given(st.lists(EVENTS, max_size=12))
def test_the_short_way_is_the_long_way(said: list[tuple[str, dict[str, object]]]) -> None:
    """Pieces of text give the same events whether they are read by the short way or, as with raw frames, by the long one."""
    frames = [Frame(json.dumps(value).encode(), kind) for kind, value in [*said, ("messageStop", {"stopReason": "end_turn"})]]
    short, long = ConverseTranslator(), ConverseTranslator(raw=True)
    events = short.feed(frames) + short.finish()
    lawful(events)
    assert events == [event for event in long.feed(frames) + long.finish() if not isinstance(event, RawFrame)]
    packed = [
        Frame(json.dumps({"bytes": base64.b64encode(json.dumps({frame.event: json.loads(frame.data)}).encode()).decode()}).encode())
        for frame in frames
    ]
    invoked = InvokeTranslator()
    assert invoked.feed(packed) + invoked.finish() == events


SAID = st.builds(
    lambda index, kind, text: {"type": "content_block_delta", "index": index, "delta": {"type": kind, kind.removesuffix("_delta"): text}},
    st.integers(0, 1),
    st.sampled_from(["text_delta", "text_delta", "thinking_delta"]),
    PIECES,
) | st.builds(lambda index: {"type": "content_block_stop", "index": index}, st.integers(0, 1))


@settings(max_examples=150)
@given(st.lists(SAID, max_size=12))
def test_the_short_way_is_the_long_way_for_packed_messages(said: list[dict[str, object]]) -> None:
    """The same for Anthropic's events in chunks: with raw frames each is read by the long way."""
    frames = [
        Frame(json.dumps({"bytes": base64.b64encode(json.dumps(value).encode()).decode(), "p": "ab"}).encode(), "chunk")
        for value in [{"type": "message_start", "message": {}}, *said, {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}]
    ]
    short, long = InvokeTranslator(), InvokeTranslator(raw=True)
    events = short.feed(frames) + short.finish()
    lawful(events)
    assert events == [event for event in long.feed(frames) + long.finish() if not isinstance(event, RawFrame)]
