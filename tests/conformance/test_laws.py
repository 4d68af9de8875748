"""Whatever a server sends, the events obey the laws, and how the bytes were cut makes no difference.

The bodies are made of chunks whose every field may be missing, null, of another type, empty or absurd, with finish reasons, errors and the
end marker anywhere, and with ends that are missing.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence

import msgspec
from hypothesis import example, given, settings
from hypothesis import strategies as st

import headwater as hw
from headwater_codecs.neutral import Block, Event, FinishReason

CUTS = 4
KINDS: dict[type, str] = {
    hw.TextStart: "text",
    hw.TextDelta: "text",
    hw.TextEnd: "text",
    hw.ReasoningStart: "reasoning",
    hw.ReasoningDelta: "reasoning",
    hw.ReasoningEnd: "reasoning",
    hw.RefusalStart: "refusal",
    hw.RefusalDelta: "refusal",
    hw.RefusalEnd: "refusal",
    hw.ToolCallStart: "tool_call",
    hw.ToolCallDelta: "tool_call",
    hw.ToolCallEnd: "tool_call",
    hw.OpaqueStart: "opaque",
    hw.OpaqueEnd: "opaque",
}
STARTS = (hw.TextStart, hw.ReasoningStart, hw.RefusalStart, hw.ToolCallStart, hw.OpaqueStart)
ENDS = (hw.TextEnd, hw.ReasoningEnd, hw.RefusalEnd, hw.ToolCallEnd, hw.OpaqueEnd)
DELTAS = (hw.TextDelta, hw.ReasoningDelta, hw.RefusalDelta, hw.ToolCallDelta)
MADE_UP = "call_"  # begins every made-up id; the ones below begin otherwise


def rarely(usual: st.SearchStrategy[object], odd: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """Mostly the usual thing."""
    return st.integers(0, 7).flatmap(lambda roll: odd if roll == 0 else usual)


WORDS = st.sampled_from(["a", "hé", "🚀", " ", "\n", "", "<think>", "</think>", "<th", "`", '"', "\\", "{}", "{", "}", '{"a":1}', "null", "x\u2028y"])
TEXT = st.one_of(WORDS, st.text(max_size=4))
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "0", "null", 10**20, 1e300, [], {}, [None], [[]], {"a": [1, "b"]}, "\ud83d", ["\ude80"], {"\ud83d": "\ud83d"}]),
)
MAYBE = rarely(TEXT, ODD)


def record(**fields: st.SearchStrategy[object]) -> st.SearchStrategy[dict[str, object]]:
    """An object with some of these keys."""
    return st.fixed_dictionaries({}, optional=fields)


FUNCTION = rarely(record(name=rarely(st.sampled_from(["f", "g", "", None]), ODD), arguments=MAYBE, input=MAYBE), ODD)
CALL = rarely(
    record(
        index=rarely(st.sampled_from([0, 0, 1, None]), ODD),
        id=rarely(st.sampled_from(["t1", "t2", "", None]), ODD),
        type=rarely(st.sampled_from(["function", "custom", None]), ODD),
        function=FUNCTION,
        custom=rarely(st.none(), FUNCTION),
        name=rarely(st.none(), MAYBE),
        arguments=rarely(st.none(), MAYBE),
        extra_content=rarely(st.none(), st.one_of(ODD, st.just({"google": {"thought_signature": "s"}}))),
    ),
    ODD,
)
DETAIL = rarely(
    record(
        type=rarely(st.sampled_from(["reasoning.text", "reasoning.encrypted", "reasoning.summary"]), ODD),
        index=rarely(st.sampled_from([0, 1]), ODD),
        id=MAYBE,
        text=MAYBE,
        summary=MAYBE,
        data=MAYBE,
        signature=MAYBE,
    ),
    ODD,
)
PART = rarely(
    record(
        type=rarely(st.sampled_from(["text", "thinking", "refusal", "reference"]), ODD),
        text=MAYBE,
        thinking=st.one_of(MAYBE, st.lists(record(type=st.just("text"), text=MAYBE), max_size=2)),
        refusal=MAYBE,
    ),
    st.one_of(ODD, TEXT),
)
NOTE = rarely(record(type=MAYBE, url_citation=rarely(record(url=MAYBE, title=MAYBE), ODD), url=MAYBE), ODD)
CONTENT = rarely(MAYBE, st.lists(PART, max_size=3))
DELTA = rarely(
    record(
        role=st.just("assistant"),
        content=CONTENT,
        refusal=rarely(st.none(), MAYBE),
        reasoning_content=rarely(st.none(), CONTENT),
        reasoning=rarely(st.none(), CONTENT),
        reasoning_text=rarely(st.none(), MAYBE),
        reasoning_details=rarely(st.none(), rarely(st.lists(DETAIL, max_size=3), ODD)),
        tool_calls=rarely(st.lists(CALL, max_size=3), ODD),
        function_call=rarely(st.none(), FUNCTION),
        annotations=rarely(st.none(), rarely(st.lists(NOTE, max_size=2), ODD)),
        images=rarely(st.none(), rarely(st.lists(MAYBE, max_size=2), ODD)),
        audio=rarely(st.none(), MAYBE),
    ),
    ODD,
)
FINISH = rarely(st.none(), rarely(st.sampled_from(["stop", "length", "tool_calls", "", "null", "odd", "error"]), ODD))
USAGE = rarely(record(prompt_tokens=rarely(st.integers(0, 9), ODD), completion_tokens=ODD, prompt_tokens_details=ODD, total_tokens=ODD), ODD)
CHOICE = rarely(
    record(
        index=rarely(st.sampled_from([0, 0, 0, 1]), ODD),
        delta=DELTA,
        finish_reason=FINISH,
        message=rarely(st.none(), DELTA),
        text=rarely(st.none(), MAYBE),
        usage=rarely(st.none(), USAGE),
        error=rarely(st.none(), ODD),
    ),
    ODD,
)
ERROR = rarely(st.none(), st.one_of(ODD, TEXT, record(message=MAYBE, code=MAYBE, type=MAYBE)))
SOURCES = rarely(st.none(), st.one_of(ODD, st.lists(st.one_of(MAYBE, record(url=MAYBE, title=MAYBE)), max_size=2)))
CHUNK = record(
    id=MAYBE,
    model=MAYBE,
    choices=rarely(st.lists(CHOICE, min_size=1, max_size=2), ODD),
    usage=rarely(st.none(), USAGE),
    error=rarely(st.none(), ERROR),
    citations=SOURCES,
    search_results=SOURCES,
    x_groq=rarely(st.none(), rarely(record(usage=USAGE, error=rarely(st.none(), ERROR)), ODD)),
    message=rarely(st.none(), MAYBE),
    code=rarely(st.none(), ODD),
)
PIECE = st.fixed_dictionaries(
    {"function": st.fixed_dictionaries({"arguments": TEXT}, optional={"name": st.sampled_from(["f", "g"])})},
    optional={"index": st.sampled_from([0, 1]), "id": st.sampled_from(["t1", "t2"]), "type": st.sampled_from(["function", "custom"])},
)
SANE_DELTA = st.one_of(
    st.fixed_dictionaries({"content": TEXT}),
    st.fixed_dictionaries({"content": st.lists(PART, max_size=3)}),
    st.fixed_dictionaries({"reasoning_content": TEXT}),
    st.fixed_dictionaries({"reasoning_details": st.lists(DETAIL, max_size=3)}),
    st.fixed_dictionaries({"refusal": TEXT}),
    st.fixed_dictionaries({"audio": st.just({"data": "AA"})}),
    st.fixed_dictionaries({"tool_calls": st.lists(PIECE, min_size=1, max_size=2)}),
    st.fixed_dictionaries({"tool_calls": st.lists(PIECE, min_size=1, max_size=2)}),
    st.fixed_dictionaries({"function_call": st.fixed_dictionaries({"name": st.just("f"), "arguments": TEXT})}),
)
SANE = st.fixed_dictionaries(
    {
        "choices": st.lists(
            st.fixed_dictionaries({"delta": SANE_DELTA}, optional={"index": st.sampled_from([0, 0, 0, 1]), "finish_reason": FINISH}), max_size=2
        )
    }
)
LINES = st.sampled_from(["[DONE]", "data: [DONE]", "ping", " ", "null", "[]", "{", '"x"', "\x00", '{"a":1}\ndata: {"b":2}', "[" * 3000])
FRAME = st.one_of(
    CHUNK.map(lambda value: "data: " + as_json(value)), CHUNK.map(lambda value: "data: " + as_json(value)),
    SANE.map(lambda value: "data: " + as_json(value)),
    SANE.map(lambda value: "data: " + as_json(value)),
    SANE.map(lambda value: "data: " + as_json(value)),
    SANE.map(lambda value: "data: " + as_json(value)),
    rarely(st.just(": c"), LINES.map(lambda line: "data: " + line)),
    rarely(st.just(": c"), CHUNK.map(lambda value: "event: error\ndata: " + as_json(value))),
)  # fmt: skip
END = st.sampled_from(
    ["data: [DONE]\n\n", "", 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n', 'data: {"choices":[{"delta":{"cont', "data: [DO"]
)
BODY = st.tuples(st.lists(FRAME, max_size=8), END).map(lambda parts: "".join(frame + "\n\n" for frame in parts[0]) + parts[1])
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "think_tags": st.booleans(),
        "think_open": st.sampled_from(["explicit", "implicit"]),
        "cumulative_deltas": st.booleans(),
        "eof_is_end": st.booleans(),
        "strict": st.booleans(),
    },
)


def as_json(value: object) -> str:
    """JSON that may hold what the strict writers refuse: lone surrogates stay escapes."""
    return json.dumps(value)


def check_laws(events: Sequence[Event]) -> None:
    """The laws of the vocabulary; the first that is broken fails."""
    assert type(events[0]) is hw.StreamStart
    assert [type(event) in (hw.Finish, hw.StreamFailed) for event in events] == [False] * (len(events) - 1) + [True]
    assert sum(type(event) is hw.StreamStart for event in events) == 1
    opened: dict[int, str] = {}
    open_now: set[int] = set()
    for event in events:
        kind = KINDS.get(type(event))
        if isinstance(event, STARTS):
            assert event.index == len(opened)
            opened[event.index] = str(kind)
            open_now.add(event.index)
        elif isinstance(event, DELTAS):
            assert event.index in open_now
            assert opened[event.index] == kind
            assert event.arguments if isinstance(event, hw.ToolCallDelta) else event.text
        elif isinstance(event, ENDS):
            assert opened[event.index] == kind
            open_now.remove(event.index)
        elif isinstance(event, hw.Citation):
            assert event.index in opened
        json.loads(msgspec.json.encode(event))  # all of it can be written down; numbers that are kept as they came may be beyond msgspec
    assert not open_now
    ends = [event.choice for event in events if isinstance(event, hw.ChoiceEnd)]
    assert ends == sorted(set(ends))
    assert isinstance(events[-1], hw.StreamFailed) == (not ends)


def check_response(response: hw.Response, events: Sequence[Event]) -> None:
    """The response holds what the events said."""
    joined: dict[int, list[str]] = {}
    for event in events:
        if isinstance(event, DELTAS):
            joined.setdefault(event.index, []).append(event.arguments if isinstance(event, hw.ToolCallDelta) else event.text)
    blocks = [block for choice in response.choices for block in choice.blocks]
    assert {block.index: block.text for block in blocks if block.text} == {index: "".join(pieces) for index, pieces in joined.items()}
    assert sorted(block.index for block in blocks) == list(range(len(blocks)))
    assert (response.error is not None) == isinstance(events[-1], hw.StreamFailed)
    for choice in response.choices:
        ids = [call.id for call in choice.tool_calls]
        assert len(set(ids)) == len(ids)
        assert all(ids)
        for call in choice.tool_calls:
            assert call.name
            if call.complete:
                assert call.input is not ...
    _ = response.message(), repr(response)


def without_made_up_ids(events: Sequence[Event]) -> list[Event]:
    """The events with every made-up id alike, and without the number of events and bytes that a failure tells."""
    plain: list[Event] = []
    for event in events:
        if isinstance(event, hw.ToolCallStart) and event.id.startswith(MADE_UP):
            event = msgspec.structs.replace(event, id=MADE_UP)
        elif isinstance(event, hw.StreamFailed):
            event = msgspec.structs.replace(event, error=event.error.with_(events=0, bytes_received=0))
        plain.append(event)
    return plain


@settings(max_examples=400)
@given(BODY, OPTIONS, st.integers(0, 2**32))
@example('data: {"choices":[{"index":0,"delta":{"content":"a"}}],"x_groq":{"error":"e"},"citations":["u"]}\n\n', {}, 0)
@example('data: {"choices":[{"index":-1,"delta":{"content":"a"}},{"index":1000000000,"delta":{"content":"b"}}]}\n\ndata: [DONE]\n\n', {}, 0)
@example("data: " + "data:" * 5000 + "\n\n", {}, 0)
def test_laws(body: str, options: dict[str, object], seed: int) -> None:
    """No body breaks a law or raises, and every cutting of it gives the same events and the same answer."""
    data = body.encode("utf-8", "surrogatepass")
    events = hw.decode_events("openai-chat", [data], options=options)
    check_laws(events)
    response = hw.decode("openai-chat", [data], options=options)
    check_response(response, events)
    random_ = random.Random(seed)
    cuttings = [[data[at : at + 1] for at in range(len(data))]]
    for _ in range(CUTS):
        cuts = sorted(random_.sample(range(len(data) + 1), min(len(data), random_.randint(1, 6))))
        cuttings.append([data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)])
    for chunks in cuttings:
        assert without_made_up_ids(hw.decode_events("openai-chat", chunks, options=options)) == without_made_up_ids(events)
        again = hw.decode("openai-chat", chunks, options=options)
        assert [_held(block) for block in again.blocks] == [_held(block) for block in response.blocks]
        assert again.diagnostics == response.diagnostics


def _held(block: Block) -> tuple[object, ...]:
    return block.kind, block.text, block.complete, block.signature, block.data, block.raw, block.name, len(block.citations)


@settings(max_examples=100)
@given(st.lists(st.tuples(TEXT.filter(bool), st.sampled_from(["content", "reasoning_content", "refusal"])), min_size=1, max_size=12))
def test_every_channel_keeps_its_text(pieces: list[tuple[str, str]]) -> None:
    """What is sent in a channel is what the response has in it, whatever the order."""
    frames = ["data: " + as_json({"choices": [{"delta": {field: text}}]}) + "\n\n" for text, field in pieces]
    body = "".join([*frames, 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n']).encode()
    response = hw.decode("openai-chat", [body])
    sent = {field: "".join(text for text, where in pieces if where == field) for field in ("content", "reasoning_content", "refusal")}
    assert (response.text, response.reasoning, response.refusal or "") == tuple(sent.values())
    reason: FinishReason = "refusal" if sent["refusal"] else "stop"
    assert response.finish_reason == reason
