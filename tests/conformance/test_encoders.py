"""What every encoder writes, its own translator reads: the same answer comes back, but for what `CARRIES` says that the wire cannot carry."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

import headwater
from headwater.aggregate import Aggregator
from headwater_codecs.bedrock_converse import encode as bedrock_converse
from headwater_codecs.gemini import encode as gemini
from headwater_codecs.neutral import (
    ChoiceEnd,
    Citation,
    Event,
    Finish,
    FinishReason,
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
    error_info,
)
from headwater_codecs.ollama_chat import encode as ollama_chat
from headwater_codecs.openai_responses import encode as openai_responses
from helpers import every_split

USAGE = Usage(20, 9, 4, None, 5)


class Wire(NamedTuple):
    """An encoder, and what its wire carries beside text, reasoning, calls and the counts of input and output."""

    encoder: Callable[..., object]
    whole: Callable[..., bytes]
    content_type: str
    refusal: bool = False
    redacted: bool = False
    signed: bool = False
    custom: bool = False
    cited: bool = False
    cached: bool = False
    thought: bool = False
    errors: frozenset[str] = frozenset()
    reasons: frozenset[str] = frozenset({"stop", "length", "tool_calls"})


CARRIES = {
    "openai-responses": Wire(
        openai_responses.ResponsesEncoder,
        openai_responses.encode_response,
        "text/event-stream",
        refusal=True,
        redacted=True,
        custom=True,
        cited=True,
        cached=True,
        thought=True,
        errors=frozenset({"auth", "not_found", "rate_limit", "quota", "overloaded", "context_overflow", "invalid_request"}),
        reasons=frozenset({"stop", "length", "tool_calls", "content_filter", "refusal"}),
    ),
    "gemini": Wire(
        gemini.GeminiEncoder,
        gemini.encode_response,
        "text/event-stream",
        signed=True,
        cited=True,
        cached=True,
        thought=True,
        errors=frozenset({"auth", "permission", "not_found", "rate_limit", "overloaded", "invalid_request"}),
        reasons=frozenset({"stop", "length", "tool_calls", "content_filter"}),
    ),
    "bedrock-converse": Wire(
        bedrock_converse.ConverseEncoder,
        bedrock_converse.encode_response,
        "application/vnd.amazon.eventstream",
        redacted=True,
        signed=True,
        cached=True,
        errors=frozenset({"rate_limit", "overloaded", "invalid_request"}),
        reasons=frozenset({"stop", "length", "tool_calls", "content_filter", "error"}),
    ),
    "ollama-chat": Wire(ollama_chat.OllamaEncoder, ollama_chat.encode_response, "application/x-ndjson"),
}
PROTOCOLS = list(CARRIES)
KINDS = ["auth", "permission", "not_found", "invalid_request", "context_overflow", "rate_limit", "quota", "overloaded", "server"]


def stream(*blocks: list[Event], reason: FinishReason = "stop", usage: Usage | None = USAGE) -> list[Event]:
    """A whole stream of these blocks."""
    middle = [event for block in blocks for event in block]
    return [StreamStart("m", "r1"), *middle, ChoiceEnd(0, reason, reason), Finish(reason, reason, usage)]


def text(index: int, *pieces: str) -> list[Event]:
    """A block of text."""
    return [TextStart(index), *(TextDelta(index, piece) for piece in pieces), TextEnd(index)]


def thought(index: int, *pieces: str, signature: str | None = None) -> list[Event]:
    """A block of reasoning."""
    return [ReasoningStart(index), *(ReasoningDelta(index, piece) for piece in pieces), ReasoningEnd(index, signature=signature)]


def call(index: int, id: str, name: str, *pieces: str, complete: bool = True) -> list[Event]:
    """A tool call."""
    return [ToolCallStart(index, id, name), *(ToolCallDelta(index, piece) for piece in pieces), ToolCallEnd(index, complete)]


def folded(events: list[Event]) -> Response:
    """The answer that the events tell."""
    aggregator = Aggregator()
    aggregator.feed(events)
    return aggregator.response


def encoded(protocol: str, events: list[Event]) -> bytes:
    """The bytes of these events, written one by one."""
    encoder = CARRIES[protocol].encoder(model="m", id="r1", created=7)
    return b"".join([*(encoder.feed([event]) for event in events), encoder.finish()])  # type: ignore[attr-defined]


def carried(protocol: str, answer: Response) -> list[object]:
    """What this wire carries of an answer."""
    wire = CARRIES[protocol]
    blocks: list[object] = []
    for block in answer.blocks:
        if block.kind == "tool_call":
            blocks.append((block.kind, block.call.id, block.call.name, block.call.input))
        elif block.kind == "reasoning":
            redacted = (block.redacted, block.data) if wire.redacted else None
            blocks.append((block.kind, block.text, block.signature if wire.signed else None, redacted))
        else:
            blocks.append((block.kind if wire.refusal else "text", block.text))
        if wire.cited:
            blocks += [citation.url for citation in block.citations]
    usage = answer.usage
    counts = usage and (
        usage.input_tokens,
        usage.output_tokens,
        (usage.cached_input_tokens or 0) if wire.cached else None,
        (usage.reasoning_tokens or 0) if wire.thought else None,
    )
    return [blocks, answer.finish_reason if answer.finish_reason in wire.reasons else "stop", counts]


ANSWERS: dict[str, list[Event]] = {
    "text": stream(text(0, "Hel", "lo é🚀\u2028")),
    "nothing": stream(),
    "without usage": stream(text(0, "a"), usage=None),
    "thought and text": stream(thought(0, "pl", "an"), text(1, "a")),
    "signed thought": stream(thought(0, "plan", signature="SIG+/="), text(1, "a")),
    "calls": stream(text(0, "a"), call(1, "c1", "f", '{"a":', "1}"), call(2, "c2", "g"), reason="tool_calls"),
    "cut short": stream(text(0, "a"), reason="length"),
    "filtered": stream(text(0, "a"), reason="content_filter"),
    "interleaved": stream(
        [TextStart(0), TextDelta(0, "a"), ToolCallStart(1, "c1", "f"), ToolCallDelta(1, '{"x"')],
        [TextDelta(0, "b"), ToolCallDelta(1, ":2}"), ToolCallEnd(1), TextEnd(0)],
        reason="tool_calls",
    ),
    "cited": stream([TextStart(0), TextDelta(0, "a"), Citation(0, url="https://a.example", title="A"), TextEnd(0)]),
}


@pytest.mark.parametrize("case", ANSWERS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_round_trip(protocol: str, case: str) -> None:
    """The answer comes back, wherever the bytes are cut; a second round gives the same bytes."""
    events = ANSWERS[case]
    data = encoded(protocol, events)
    wanted = carried(protocol, folded(events))
    for chunks in every_split(data, two_way=len(data) < 600):
        again = headwater.decode_events(protocol, chunks, content_type=CARRIES[protocol].content_type)
        assert carried(protocol, folded(again)) == wanted
    assert encoded(protocol, again) == data


@pytest.mark.parametrize("case", [case for case in ANSWERS if case != "cited"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_whole_answer(protocol: str, case: str) -> None:
    """So does an answer that was written as one body."""
    answer = folded(ANSWERS[case])
    body = CARRIES[protocol].whole(answer, model="m", id="r1", created=7)
    again = headwater.decode(protocol, [body], content_type="application/json")
    assert again.error is None
    if answer.usage is None:
        answer.usage = again.usage = None  # a body always has counts on some wires
    assert carried(protocol, again) == carried(protocol, answer)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_refusal(protocol: str) -> None:
    """A refusal is one where the wire has it, else its text is text."""
    events = stream([RefusalStart(0), RefusalDelta(0, "No."), RefusalEnd(0)], reason="refusal")
    again = headwater.decode(protocol, [encoded(protocol, events)], content_type=CARRIES[protocol].content_type)
    assert (again.refusal if CARRIES[protocol].refusal else again.text) == "No."


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_custom_call(protocol: str) -> None:
    """Free text stays free text, or becomes an object with it."""
    events = stream([ToolCallStart(0, "c1", "sh", kind="custom"), ToolCallDelta(0, 'ls "x"'), ToolCallEnd(0)], reason="tool_calls")
    again = headwater.decode(protocol, [encoded(protocol, events)], content_type=CARRIES[protocol].content_type)
    found = again.tool_calls[0]
    assert (found.kind, found.input) == (("custom", 'ls "x"') if CARRIES[protocol].custom else ("function", {"input": 'ls "x"'}))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_redacted_reasoning(protocol: str) -> None:
    """Opaque reasoning comes back byte-exact where the wire has it, and is no text anywhere."""
    events = stream([ReasoningStart(0), ReasoningEnd(0, redacted=True, data="RU5D")], text(1, "a"))
    again = headwater.decode(protocol, [encoded(protocol, events)], content_type=CARRIES[protocol].content_type)
    assert (again.text, again.reasoning) == ("a", "")
    if CARRIES[protocol].redacted:
        assert [(block.redacted, block.data) for block in again.blocks if block.kind == "reasoning"] == [(True, "RU5D")]


@pytest.mark.parametrize(
    "kind", ["auth", "permission", "not_found", "invalid_request", "context_overflow", "rate_limit", "quota", "overloaded", "server"]
)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_failure(protocol: str, kind: str) -> None:
    """A failure ends the stream as one, with its words and what came before; its kind comes back where the wire has a word for it."""
    events = [StreamStart("m", "r1"), TextStart(0), TextDelta(0, "par"), TextEnd(0, complete=False), StreamFailed(error_info(kind, "it broke"))]  # type: ignore[arg-type]
    again = headwater.decode(protocol, [encoded(protocol, events)], content_type=CARRIES[protocol].content_type)
    assert again.error is not None
    assert ("it broke" in again.error.message, again.text) == (True, "par")
    if kind in CARRIES[protocol].errors:
        assert again.error.kind == kind


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_cut_answer_does_not_look_whole(protocol: str) -> None:
    """An encoder that gets no terminal event writes a failure."""
    again = headwater.decode(protocol, [encoded(protocol, ANSWERS["text"][:3])], content_type=CARRIES[protocol].content_type)
    assert again.error is not None


def test_gemini_array() -> None:
    """The same answer as one JSON array."""
    encoder = gemini.GeminiEncoder(model="m", id="r1", created=7, array=True)
    data = encoder.feed(ANSWERS["calls"])
    for chunks in every_split(data):
        answer = headwater.decode("gemini", chunks, content_type="application/json")
        assert carried("gemini", answer) == carried("gemini", folded(ANSWERS["calls"]))
