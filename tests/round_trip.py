"""Lawful streams of events of every kind, made by hypothesis, and the way to a wire and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

from hypothesis import strategies as st
from msgspec import Raw
from msgspec.structs import replace

import headwater
from headwater_codecs.anthropic_messages import encode as anthropic_messages
from headwater_codecs.bedrock_converse import encode as bedrock_converse
from headwater_codecs.gemini import encode as gemini
from headwater_codecs.neutral import (
    ChoiceEnd,
    Citation,
    Event,
    Finish,
    OpaqueEnd,
    OpaqueStart,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    RefusalDelta,
    RefusalEnd,
    RefusalStart,
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
from headwater_codecs.neutral.errors import EXCEPTIONS, RETRYABLE
from headwater_codecs.ollama_chat import encode as ollama_chat
from headwater_codecs.openai_chat import encode as openai_chat
from headwater_codecs.openai_responses import encode as openai_responses
from headwater_providers.errors import classify

MODEL, ID = "m-1", "r-1"


class Encoder(Protocol):
    """What every encoder is."""

    def feed(self, events: Iterable[Event], /) -> bytes: ...

    def finish(self) -> bytes: ...


class Way(NamedTuple):
    """The encoder of a protocol, and what its bytes are called."""

    encoder: Callable[..., Encoder]
    content_type: str


WAYS = {
    "openai-chat": Way(openai_chat.ChatEncoder, "text/event-stream"),
    "openai-responses": Way(openai_responses.ResponsesEncoder, "text/event-stream"),
    "anthropic-messages": Way(anthropic_messages.MessagesEncoder, "text/event-stream"),
    "gemini": Way(gemini.GeminiEncoder, "text/event-stream"),
    "bedrock-converse": Way(bedrock_converse.ConverseEncoder, "application/vnd.amazon.eventstream"),
    "ollama-chat": Way(ollama_chat.OllamaEncoder, "application/x-ndjson"),
}


def encoded(protocol: str, events: Sequence[Event], cuts: Sequence[int] | None = None) -> bytes:
    """The bytes of these events, written one by one, or in the batches that these places cut."""
    encoder = WAYS[protocol].encoder(model=MODEL, id=ID, created=7)
    batches = [[event] for event in events] if cuts is None else cut(events, cuts)
    return b"".join([*(encoder.feed(batch) for batch in batches), encoder.finish()])


def decoded(protocol: str, data: bytes, cuts: Sequence[int] = ()) -> list[Event]:
    """The events of these bytes, read in the pieces that these places cut."""
    chunks = cut(data, cuts)
    return headwater.decode_events(protocol, chunks, content_type=WAYS[protocol].content_type)


def heard(events: list[Event]) -> list[Event]:
    """What was projected, with the kind of failure that its reader hears in the message: where the wire has no word, or an overflow in any case."""
    last = events[-1]
    if not isinstance(last, StreamFailed):
        return events
    error = last.error
    kind = classify(error.status, error.code, None, error.message).kind
    if error.code is not None and not (kind == "context_overflow" and error.kind in ("invalid_request", "server")):
        return events
    return [*events[:-1], replace(last, error=error.with_(kind=kind, retryable=kind in RETRYABLE))]


def cut(items: Sequence, places: Sequence[int]) -> list:  # type: ignore[type-arg]  # bytes or events: it does not care
    """The sequence in pieces; places count around its end."""
    ends = sorted(place % (len(items) + 1) for place in places)
    return [items[start:end] for start, end in zip([0, *ends], [*ends, len(items)], strict=True)]


# --- lawful streams

WORDS = st.sampled_from(["a", "hé", "🚀", " ", "\n", "<think>", '"', "\\", "{}", '{"a":1}', "null", "x\u2028y", "\x00", "[DONE]", "data: x\n\n"])
TEXT = st.one_of(WORDS, st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4))
MAYBE = st.one_of(st.none(), TEXT)
META = st.sampled_from([None, None, Raw(b'{"k":1}')])
SIGNATURE = st.sampled_from([None, "SIG+/=", "s2"])
ARGUMENTS = st.sampled_from(["", "{}", '{"a":1}', '{"a": "}{\\"", "b": [1, {"c": null}]}', ' {"é🚀": 1.5}', "[1]", '{"x":{"y":"z"}}'])
ITEMS = st.sampled_from(
    [
        ("search_call", b'{"type":"search_call","id":"ws","q":"\\u00e9"}'),
        ("search_call", b'{"type": "search_call", "id" : "ws2", "n": 1.0}'),
        ("search_call", b'{\n"type":"search_call","id":"ws3"}'),
        ("search_call", b'{"type":"search_call","q":1}'),
        ("inlineData", b'{"inlineData": {"mimeType":"image/png","data":"AA=="}}'),
        ("inlineData", b'{"inlineData":\r\n{}}'),
        ("odd", b""),
        ("odd", b"[1]"),
        ("odd", b'{"type":"other"}'),
    ]
)
SOURCES = st.sampled_from(
    [
        Citation(0),
        Citation(0, url="https://a.example"),
        Citation(0, url="https://a.example", title="A"),
        Citation(0, url="https://b.example/é", title="", cited_text="said"),
        Citation(0, kind="page", url="https://c.example", raw=Raw(b'"https://c.example"')),
        Citation(0, kind="web", url="https://d.example", title="D", raw=Raw(b'{"web":{"uri":"https://d.example","title":"D"}}')),
        Citation(0, kind="note", url="https://e.example", cited_text="c", raw=Raw(b'{"type":"note","url":"https://e.example","cited_text":"c"}')),
        Citation(0, kind="doc", title="F", raw=Raw(b'{"type":"doc","document_title":"F","start":1}')),
        Citation(0, kind="file", title="G", raw=Raw(b'{"type":"file","filename":"G"}')),
        Citation(0, kind="two", raw=Raw(b'{"type":\n"two"}')),
    ]
)


@st.composite
def prose(draw: st.DrawFn, choice: int, number: int) -> list[Event]:
    """A block of text, reasoning or refusal; its sources may come late."""
    kind = draw(st.sampled_from(["text", "reasoning", "text", "reasoning", "refusal"]))
    item = draw(st.sampled_from([None, f"i{number}", "i0"]))
    pieces = draw(st.lists(TEXT, max_size=3))
    if kind == "refusal":
        return [RefusalStart(0, choice, item), *(RefusalDelta(0, piece) for piece in pieces), RefusalEnd(0)]
    if kind == "reasoning":
        redacted = draw(st.sampled_from([False, False, False, True]))
        data = "RU5D" if redacted else draw(st.sampled_from([None, None, "ZW5j"]))
        deltas = [] if redacted else [ReasoningDelta(0, piece) for piece in pieces]
        return [ReasoningStart(0, choice, item), *deltas, ReasoningEnd(0, True, draw(SIGNATURE), redacted, data, draw(META))]
    events: list[Event] = [TextStart(0, choice, item), *(TextDelta(0, piece) for piece in pieces), TextEnd(0, True, draw(SIGNATURE), draw(META))]
    for source in draw(st.lists(SOURCES, max_size=2)):
        events.insert(draw(st.integers(1, len(events))), replace(source, choice=choice))
    return events


@st.composite
def call(draw: st.DrawFn, choice: int, number: int) -> list[Event]:
    """A tool call, whole or cut: in its arguments, before them, or behind them where nobody can see it."""
    kind = draw(st.sampled_from(["function", "function", "function", "custom"]))
    arguments = draw(ARGUMENTS if kind == "function" else st.sampled_from(["", "ls", '"\n']))
    complete = draw(st.sampled_from([True, True, True, False]))
    if not complete:
        arguments = arguments[: draw(st.integers(0, len(arguments)))]
    places = sorted(draw(st.lists(st.integers(1, max(1, len(arguments) - 1)), max_size=2, unique=True)))
    pieces = [piece for piece in cut(arguments, places) if piece]
    start = ToolCallStart(0, f"t{number}", draw(st.sampled_from(["f", "g"])), choice, draw(st.sampled_from([None, f"i{number}", "i0"])), kind)
    return [start, *(ToolCallDelta(0, piece) for piece in pieces), ToolCallEnd(0, complete, draw(SIGNATURE), draw(META))]


@st.composite
def opaque(draw: st.DrawFn, choice: int, number: int) -> list[Event]:
    """An item of the provider's."""
    kind, raw = draw(ITEMS)
    raw = raw.replace(b'"ws', b'"ws%d' % number)
    return [
        OpaqueStart(0, kind, choice, draw(st.sampled_from([None, f"i{number}", "i0"]))),
        OpaqueEnd(0, draw(st.sampled_from([True, True, True, False])), raw),
    ]


@st.composite
def streams(draw: st.DrawFn) -> list[Event]:
    """A lawful stream: blocks of all kinds, interleaved, of several choices; an end of every kind."""
    choices = draw(st.sampled_from([1, 2, 1, 3, 1]))
    waiting: list[list[Event]] = []
    for number in range(draw(st.sampled_from([2, 0, 1, 3, 4, 5, 6]))):
        choice = draw(st.sampled_from([0, 0, 1, 2])) % choices
        block = draw(st.sampled_from([prose, call, prose, call, opaque]))
        waiting.append(draw(block(choice, number)))
    middle = _interleaved(waiting, draw(st.lists(st.integers(0, 3), max_size=30)))
    last = draw(st.none() | _counts())
    first = None if last is None else draw(st.sampled_from([None, replace(last, output_tokens=None, reasoning_tokens=None)]))
    early: list[Event] = [] if first is None else [UsageUpdate(first)]
    start = StreamStart(MODEL, ID, draw(st.sampled_from([None, "some"])))
    if draw(st.sampled_from([False, False, False, True])):
        stop = draw(st.integers(0, len(middle)))
        return [start, *early, *_broken_off(middle[:stop]), StreamFailed(draw(_failures()), draw(st.sampled_from([None, "stop"])), first)]
    late: list[Event] = [] if last is None else [UsageUpdate(last)]
    ends = [ChoiceEnd(choice, *draw(_reasons())) for choice in range(choices)]
    detail = draw(st.sampled_from([None, "END", "é"]))
    return [start, *early, *middle, *late, *ends, Finish(ends[0].finish_reason, ends[0].raw_finish_reason, last, detail)]


def _interleaved(waiting: list[list[Event]], turns: list[int]) -> list[Event]:
    """One event of an open block, or the start of the next one, at every turn; numbered as they come."""
    events: list[Event] = []
    running: list[tuple[int, list[Event]]] = []
    started = 0
    turns = turns[::-1]
    while running or started < len(waiting):
        turn = turns.pop() if turns else 0
        if started < len(waiting) and turn % (len(running) + 1) == len(running):
            running.append((started, list(waiting[started])))
            started += 1
            place = len(running) - 1
        else:
            place = turn % len(running)
        index, left = running[place]
        events.append(replace(left.pop(0), index=index))
        if not left:
            del running[place]
    return events


_ENDS = {TextStart: TextEnd, ReasoningStart: ReasoningEnd, RefusalStart: RefusalEnd, ToolCallStart: ToolCallEnd, OpaqueStart: OpaqueEnd}


def _broken_off(events: list[Event]) -> list[Event]:
    """The events, and an end for what they leave open."""
    left = {event.index: end for event in events if (end := _ENDS.get(type(event))) is not None}  # type: ignore[union-attr]  # a start
    for event in events:
        if type(event) in _ENDS.values():
            del left[event.index]  # type: ignore[union-attr]  # an end
    return [*events, *(left[index](index, complete=False) for index in sorted(left))]


@st.composite
def _counts(draw: st.DrawFn) -> Usage:
    number = st.sampled_from([None, 0, 3, 20])
    return Usage(draw(number), draw(number), draw(number), draw(number), draw(number), draw(st.sampled_from([None, {"cost": 1.5}])))


_RAW = {
    "stop": ("stop", "end_turn", "STOP", "stop_sequence"),
    "length": ("length", "max_tokens", "model_context_window_exceeded"),
    "tool_calls": ("tool_calls", "tool_use", "end_turn"),
    "content_filter": ("content_filter", "SAFETY"),
    "refusal": ("refusal", "stop"),
    "pause": ("pause_turn",),
    "error": ("error",),
    "unknown": ("odd",),
}


@st.composite
def _reasons(draw: st.DrawFn) -> tuple[object, str | None]:
    reason = draw(st.sampled_from(list(_RAW)))
    return reason, draw(st.sampled_from([None, *_RAW[reason]]))


@st.composite
def _failures(draw: st.DrawFn) -> object:
    kind = draw(st.sampled_from(list(EXCEPTIONS)))
    fields = draw(
        st.sampled_from([{}, {"code": "x_odd"}, {"code": "x_odd", "status": 418, "retry_after": 2.5, "request_id": "q1", "phase": "headers"}])
    )
    return error_info(kind, draw(st.sampled_from(["it broke", "é🚀", "prompt is too long"])), **fields)
