"""Neutral events to or's events: the order, the terminal, the message at any moment, the stop reasons."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

import headwater as hw
from headwater.views import messages as m
from headwater_codecs.neutral import error_info
from helpers import Fixture, fixtures
from views.messages.seen import NOW, eagerly, folded, lawful, read, shown, unsigned, writer

START = hw.StreamStart("model-1-2025", "resp_1", "prov")
USAGE = hw.Usage(15, 6, 3, 2)
TEXT: list[hw.Event] = [hw.TextStart(0), hw.TextDelta(0, "Hel"), hw.TextDelta(0, "lo"), hw.TextEnd(0, signature="sig")]
CALL: list[hw.Event] = [
    hw.ToolCallStart(1, "call_1", "f"),
    hw.ToolCallDelta(1, '{"a":'),
    hw.ToolCallDelta(1, "[1,2]}"),
    hw.ToolCallEnd(1, signature="thought"),
]
FINISH = hw.Finish("tool_calls", "tool_calls", USAGE)
ANSWER: list[hw.Event] = [START, *TEXT, *CALL, hw.UsageUpdate(USAGE), hw.ChoiceEnd(0, "tool_calls", "tool_calls"), FINISH]
FAILED = hw.StreamFailed(error_info("truncated", "cut off"), usage=USAGE)
ALL = [
    pytest.param(protocol, fixture, id=f"{protocol}-{fixture.name}")
    for protocol in ("openai-chat", "openai-responses", "anthropic-messages", "gemini", "bedrock-converse")
    for fixture in fixtures(protocol)
]


def feed(*events: hw.Event, **options: object) -> list[object]:
    """What these events are to the view."""
    return shown(writer(**options).feed(events))  # type: ignore[arg-type]


@pytest.mark.rows("OR-EV-01", "OR-EV-02", "OR-EV-03", "OR-EV-04", "OR-EV-06", "OR-EV-07", "OR-EV-08", "OR-EV-09", "OR-EV-20", "OR-SW-01")
def test_an_answer() -> None:
    """Start, each block from its start to its end, done; the message has everything."""
    view = writer(cost=lambda usage: m.Cost(usage.input or 0, usage.output or 0, 0, 0, 16))
    events = view.feed(ANSWER)
    assert shown(events) == [
        "start",
        ("text_start", 0),
        ("text_delta", 0, "Hel"),
        ("text_delta", 0, "lo"),
        ("text_end", 0, "Hello"),
        ("toolcall_start", 1, "call_1", "f"),
        ("toolcall_delta", 1, '{"a":'),
        ("toolcall_delta", 1, "[1,2]}"),
        ("toolcall_end", 1, "call_1", "f", {"a": [1, 2]}),
        ("done", "toolUse"),
    ]
    lawful(events)
    assert isinstance(done := events[-1], m.Done)
    assert done.message == view.message
    assert view.message == m.AssistantMessage(
        content=(m.TextContent("Hello", "sig"), m.ToolCall("call_1", "f", {"a": [1, 2]}, "thought")),
        protocol="openai-completions",
        provider="prov",
        model="model-1",
        provider_request_id="req_1",
        response_model="model-1-2025",
        response_id="resp_1",
        usage=m.Usage(10, False, 6, 3, 2, 21, m.Cost(10, 6, 0, 0, 16)),
        stop_reason="toolUse",
        raw_stop_reason="tool_calls",
        timestamp=NOW,
    )


@pytest.mark.rows("OR-EV-05", "OR-ANS-02", "ISS-55")
def test_thinking() -> None:
    """As text; redacted reasoning says so in the place of its text, and its data is the signature."""
    events = writer().feed(
        [
            START,
            hw.ReasoningStart(0),
            hw.ReasoningDelta(0, "Hm"),
            hw.ReasoningEnd(0, signature="sig"),
            hw.ReasoningStart(1),
            hw.ReasoningEnd(1, redacted=True, data="sealed"),
            hw.Finish("stop", "end_turn"),
        ]
    )
    assert shown(events)[1:-1] == [
        ("thinking_start", 0),
        ("thinking_delta", 0, "Hm"),
        ("thinking_end", 0, "Hm"),
        ("thinking_start", 1),
        ("thinking_end", 1, "[Reasoning redacted]"),
    ]
    assert isinstance(done := events[-1], m.Done)
    assert done.message.content == (m.ThinkingContent("Hm", "sig"), m.ThinkingContent("[Reasoning redacted]", "sealed", True))
    assert done.message.usage is None


@pytest.mark.rows("OR-EV-22", "OR-SW-03", "OR-SW-09", "AMB-76")
@pytest.mark.parametrize(("protocol", "fixture"), ALL)
def test_a_partial_message_is_an_eager_deep_copy(protocol: str, fixture: Fixture) -> None:
    """For every fixture: `partial`, asked for when all is over, is the copy that was made at once, and what one folds from the events."""
    neutral = hw.decode_events(protocol, [fixture.data], content_type=fixture.content_type, options=fixture.options)
    events, copies = eagerly([neutral], protocol=protocol)
    lawful(events)
    late = [event.message if isinstance(event, m.Done | m.Error) else event.partial for event in events]
    assert late == copies
    assert [unsigned(message.content) for message in copies] == folded(events)
    whole = writer(protocol).feed(neutral)
    assert shown(whole) == shown(events)
    assert m.decode_message(m.encode(copies[-1])) == copies[-1]


def test_partial_messages_are_ones_own() -> None:
    """What is done to one of them shows nowhere else."""
    view = writer()
    events = view.feed(ANSWER)
    end = events[8]
    assert isinstance(end, m.ToolCallEnd)
    end.tool_call.arguments["a"] = "changed"
    call = end.partial.content[1]
    assert isinstance(call, m.ToolCall)
    given = call.arguments["a"]
    assert isinstance(given, list)
    given.append("changed")
    assert (end.tool_call.arguments, end.partial == end.partial, end.partial is end.partial) == ({"a": [1, 2]}, True, False)
    assert view.message.tool_calls()[0].arguments == {"a": [1, 2]}


def test_events_compare_and_show_themselves() -> None:
    """Equal where their messages are; a repr does not hold the whole message."""
    first, second = writer().feed(ANSWER), writer().feed(ANSWER)
    assert first[:-1] == second[:-1]
    assert first[2] != first[3]
    assert repr(first[2]) == "TextDelta(snapshot=<moment 2>, content_index=0, delta='Hel')"
    assert len({first[0], second[0]}) == 1


@pytest.mark.rows("OR-EV-24", "AMB-20")
def test_arguments_while_they_stream() -> None:
    """The call has none until its end; what is certain of them is seen on request, whenever, in whatever order."""
    pieces = ['{"city": "Zür', 'ich", "days": [1', ", 2], ", '"more": {"a": tr', "ue}}"]
    view = writer()
    events = view.feed([START, hw.ToolCallStart(0, "call_1", "f"), *[hw.ToolCallDelta(0, piece) for piece in pieces], hw.ToolCallEnd(0), FINISH])
    deltas = [event for event in events if isinstance(event, m.ToolCallDelta)]
    assert [event.tool_call for event in deltas] == [m.ToolCall("call_1", "f", {}, complete=False)] * 5
    expected = [
        {"city": "Zür"},
        {"city": "Zürich", "days": []},
        {"city": "Zürich", "days": [1, 2]},
        {"city": "Zürich", "days": [1, 2], "more": {}},
        {"city": "Zürich", "days": [1, 2], "more": {"a": True}},
    ]
    forward = [event.parsed_so_far for event in deltas]
    backward = [event.parsed_so_far for event in reversed(deltas)]
    assert forward == backward[::-1] == expected
    forward[-1]["city"] = "changed"
    assert deltas[-1].parsed_so_far == expected[-1]


@pytest.mark.rows("AMB-20", "OR-EV-24")
def test_arguments_that_are_no_object() -> None:
    """Nothing is certain."""
    events = writer().feed([START, hw.ToolCallStart(0, "c", "f"), hw.ToolCallDelta(0, "[1, 2"), hw.ToolCallEnd(0, complete=False), FAILED])
    assert isinstance(delta := events[2], m.ToolCallDelta)
    assert delta.parsed_so_far == {}


@pytest.mark.rows("OR-TYPE-10", "OR-JX-01", "OR-EV-08", "OR-CCS-11", "G-42", "ISS-34", "ISS-43", "AMB-09")
@pytest.mark.parametrize(
    ("arguments", "complete", "value", "mode"),
    [
        ('{"a":"hel', False, {"a": "hel"}, "partial"),
        ('{"a":12', False, {"a": 12}, "partial"),
        ('{"a":1.', False, {}, "partial"),
        ('{"a":"x\\q"}', True, {"a": "x\\q"}, "repaired"),
        ("[1]", True, {}, "invalid"),
        ("", True, {}, None),
        (" ", True, {}, None),
        ('{"a":1}', True, {"a": 1}, None),
        ('{"a":1}', False, {"a": 1}, None),
        ('{"a":1} and', True, {"a": 1}, "partial"),
    ],
)
def test_recovered_arguments(arguments: str, complete: bool, value: dict[str, object], mode: str | None) -> None:
    """The end has the best reading and a diagnostic says how it was got; what is guessed or cut is never offered to be run."""
    pieces = [hw.ToolCallDelta(0, arguments)] if arguments else []
    view = writer()
    events = view.feed([START, hw.ToolCallStart(0, "call_1", "f"), *pieces, hw.ToolCallEnd(0, complete=complete), FINISH])
    assert isinstance(end := events[-2], m.ToolCallEnd)
    may_run = complete and mode in (None, "repaired")
    assert end.tool_call == m.ToolCall("call_1", "f", value, complete=may_run)
    details = {"toolCallId": "call_1", "toolName": "f", "mode": mode}
    assert [(one.type, one.timestamp, one.details) for one in view.message.diagnostics] == (
        [("tool_arguments_recovered", NOW, details)] if mode else []
    )
    assert end.partial.diagnostics == view.message.diagnostics
    assert isinstance(before := events[-3], m.ToolCallDelta | m.ToolCallStart)
    assert before.partial.diagnostics == ()
    assert view.message.tool_calls() == ((end.tool_call,) if may_run else ())


@pytest.mark.rows("OR-EV-23", "AMB-38", "AMB-09")
def test_nothing_is_offered_before_the_end_or_of_a_failure() -> None:
    """A whole call in a message that streams still, or failed, is there to be seen only."""
    view = writer()
    events = view.feed(ANSWER[:-1])
    assert isinstance(end := events[-1], m.ToolCallEnd)
    assert (end.tool_call.complete, end.partial.tool_calls(), view.message.tool_calls(), view.message.failed) == (True, (), (), True)
    view.feed([FAILED])
    assert (len(view.message.content), view.message.tool_calls(), view.message.failed) == (2, (), True)


def test_a_custom_call() -> None:
    """Its free text is one argument."""
    events = writer().feed([START, hw.ToolCallStart(0, "c", "sh", kind="custom"), hw.ToolCallDelta(0, "ls {"), hw.ToolCallEnd(0), FINISH])
    assert isinstance(end := events[-2], m.ToolCallEnd)
    assert end.tool_call == m.ToolCall("c", "sh", {"input": "ls {"})


@pytest.mark.rows("OR-EV-20", "OR-EV-21", "AMB-67", "AMB-31", "OR-CCS-02", "OR-ANS-02")
def test_interleaved_blocks_and_those_that_have_no_place() -> None:
    """The index is the place in the content: items of the provider, refusals and other choices leave no hole. Order is arrival order."""
    view = writer()
    events = view.feed(
        [
            START,
            hw.OpaqueStart(0, "web_search"),
            hw.ReasoningStart(1),
            hw.TextStart(2, choice=1),
            hw.ToolCallStart(3, "call_a", "f"),
            hw.ReasoningDelta(1, "a"),
            hw.TextDelta(2, "other"),
            hw.OpaqueStart(4, "later"),
            hw.ToolCallStart(5, "call_b", "g"),
            hw.OpaqueStart(6, "other choice", choice=1),
            hw.OpaqueStart(7, "never came"),
            hw.OpaqueEnd(4, raw=b"{2}"),
            hw.ToolCallDelta(5, "{}"),
            hw.ReasoningDelta(1, "b"),
            hw.ToolCallDelta(3, "{}"),
            hw.RefusalStart(8, choice=1),
            hw.RefusalDelta(8, "no"),
            hw.RefusalEnd(8),
            hw.OpaqueEnd(0, raw=b"{1}"),
            hw.OpaqueEnd(6, raw=b"{3}"),
            hw.OpaqueEnd(7),
            hw.Citation(2),
            hw.ToolCallEnd(5),
            hw.ReasoningEnd(1),
            hw.TextEnd(2),
            hw.ToolCallEnd(3),
            FINISH,
        ]
    )
    assert shown(events) == [
        "start",
        ("thinking_start", 0),
        ("toolcall_start", 1, "call_a", "f"),
        ("thinking_delta", 0, "a"),
        ("toolcall_start", 2, "call_b", "g"),
        ("toolcall_delta", 2, "{}"),
        ("thinking_delta", 0, "b"),
        ("toolcall_delta", 1, "{}"),
        ("toolcall_end", 2, "call_b", "g", {}),
        ("thinking_end", 0, "ab"),
        ("toolcall_end", 1, "call_a", "f", {}),
        ("done", "toolUse"),
    ]
    lawful(events)
    assert view.message.items == (m.ProviderItem(0, "web_search", b"{1}"), m.ProviderItem(2, "later", b"{2}"))


@pytest.mark.rows("OR-TYPE-08", "OR-ANS-06", "OR-CCS-09", "OR-CCS-10", "AMB-29", "AMB-35", "AMB-36", "ISS-32")
@pytest.mark.parametrize(
    ("finish", "stop", "said", "paused"),
    [
        (hw.Finish("stop", "end_turn"), "stop", None, False),
        (hw.Finish("length", "max_tokens"), "length", None, False),
        (hw.Finish("length", "model_context_window_exceeded"), "length", None, False),
        (hw.Finish("tool_calls", "tool_use"), "toolUse", None, False),
        (hw.Finish("tool_calls", "stop"), "toolUse", None, False),
        (hw.Finish("stop", "tool_calls"), "stop", None, False),
        (hw.Finish("pause", "pause_turn"), "stop", None, True),
        (hw.Finish("content_filter", "SAFETY"), "error", "the answer was blocked by the content filter", False),
        (hw.Finish("content_filter", "SAFETY", None, "too hot"), "error", "the answer was blocked by the content filter: too hot", False),
        (hw.Finish("refusal", "refusal"), "error", "the model refused to complete the request", False),
        (hw.Finish("error", "ERROR"), "error", "the provider ended the answer with an error: ERROR", False),
        (hw.Finish("unknown", "sensitive"), "error", "the stream ended without a finish reason that is known: sensitive", False),
        (hw.Finish("unknown"), "error", "the stream ended without a finish reason that is known", False),
    ],
)
def test_stop_reasons(finish: hw.Finish, stop: m.StopReason, said: str | None, paused: bool) -> None:
    """The crosswalk; the provider's own word is kept, and what came stays."""
    view = writer()
    events = view.feed([START, *TEXT, finish])
    message = view.message
    assert (message.stop_reason, message.raw_stop_reason, message.error_message, message.paused) == (stop, finish.raw_finish_reason, said, paused)
    assert message.content == (m.TextContent("Hello", "sig"),)
    if said is None:
        assert isinstance(events[-1], m.Done)
        assert view.error is None
    else:
        assert isinstance(error := events[-1], m.Error)
        assert error.error is view.error
        assert (type(error.error), str(error.error), error.error.info.code) == (hw.ProviderError, said, finish.raw_finish_reason)


@pytest.mark.rows("OR-RSS-08", "AMB-36")
def test_a_refusal() -> None:
    """It has no events of its own; the error says it, once."""
    refusal = [hw.RefusalStart(0), hw.RefusalDelta(0, "I "), hw.RefusalDelta(0, "won't."), hw.RefusalEnd(0)]
    events = feed(START, *refusal, hw.Finish("refusal", "completed"))
    assert events == ["start", ("error", "error", "the model refused to complete the request: I won't.")]


@pytest.mark.rows("OR-EV-10", "OR-SW-05", "OR-CCS-13", "OR-TYPE-06")
def test_a_failure() -> None:
    """The error, as an exception of its kind; partial content and usage stay."""
    view = writer()
    events = view.feed([START, *TEXT[:3], hw.TextEnd(0, complete=False), FAILED])
    assert shown(events)[-2:] == [("text_end", 0, "Hello"), ("error", "error", "cut off")]
    assert isinstance(error := events[-1], m.Error)
    assert type(error.error) is hw.TruncatedError
    assert (error.message.text(), error.message.usage) == ("Hello", m.Usage(10, False, 6, 3, 2, 21))


@pytest.mark.rows("OR-SW-02", "OR-SW-05", "OR-SW-06", "OR-SW-10", "AMB-38")
def test_failing_from_outside() -> None:
    """It starts what has not begun, once; after the terminal nothing is said any more, by nobody."""
    view = writer()
    assert shown(view.fail()) == ["start", ("error", "error", "stream failed")]
    assert (view.fail(), view.feed(ANSWER), view.over) == ([], [], True)
    view = writer()
    view.feed(ANSWER[:4])
    assert shown(view.fail(error_info("aborted", "given up"))) == [("error", "aborted", "given up")]
    assert view.message.content == (m.TextContent("Hello"),)
    view = writer()
    view.feed(ANSWER)
    before = view.message
    assert (view.fail(), view.feed([FAILED]), view.message == before) == ([], [], True)


@pytest.mark.rows("OR-SW-02", "OR-SW-06", "OR-EV-20")
def test_one_start_and_one_terminal() -> None:
    """Whatever comes twice, even in one batch."""
    assert feed(START, START, hw.Finish("stop"), FAILED, *ANSWER) == ["start", ("done", "stop")]
    assert feed(FAILED, hw.Finish("stop")) == ["start", ("error", "error", "cut off")]


@pytest.mark.rows("OR-SW-08")
def test_a_crash_inside() -> None:
    """It ends the answer with an error; what came stays, and the exception is its cause."""

    def broken(usage: m.Usage) -> m.Cost:
        raise ZeroDivisionError("no price")

    view = writer(cost=broken)
    events = view.feed(ANSWER)
    lawful(events)
    said = "the messages view failed: ZeroDivisionError: no price"
    assert shown(events)[-1] == ("error", "error", said)
    assert isinstance(error := events[-1], m.Error)
    assert (error.error.info.kind, type(error.error.__cause__)) == ("internal", ZeroDivisionError)
    assert (view.message.text(), view.message.usage, view.message.tool_calls()) == ("Hello", m.Usage(10, False, 6, 3, 2, 21), ())


@pytest.mark.rows("OR-EV-25", "OR-CCS-04", "OR-CCS-11", "AMB-21")
def test_chat_blocks() -> None:
    """Safe: a block ends when it stops growing, and text behind a call is a block of its own. On request as or does it."""
    neutral: list[hw.Event] = [
        START,
        *TEXT,
        *CALL,
        hw.TextStart(2),
        hw.TextDelta(2, "!"),
        hw.TextEnd(2, signature="last"),
        hw.Finish("tool_calls", "tool_calls"),
    ]
    assert shown(writer().feed(neutral))[-4:] == [("text_start", 2), ("text_delta", 2, "!"), ("text_end", 2, "!"), ("done", "toolUse")]
    view = writer(parity=m.Parity(chat_blocks=True))
    assert shown(view.feed(neutral)) == [
        "start",
        ("text_start", 0),
        ("text_delta", 0, "Hel"),
        ("text_delta", 0, "lo"),
        ("toolcall_start", 1, "call_1", "f"),
        ("toolcall_delta", 1, '{"a":'),
        ("toolcall_delta", 1, "[1,2]}"),
        ("text_delta", 0, "!"),
        ("text_end", 0, "Hello!"),
        ("toolcall_end", 1, "call_1", "f", {"a": [1, 2]}),
        ("done", "toolUse"),
    ]
    assert view.message.content[0] == m.TextContent("Hello!", "last")
    blocked = [*neutral[:-1], hw.Finish("content_filter")]
    assert [name for name in map(str, shown(writer(parity=m.Parity(chat_blocks=True)).feed(blocked))) if "_end" in name] == []


@pytest.mark.rows("OR-CCS-10", "AMB-29")
def test_stop_as_said() -> None:
    """On request `stop` of a provider that made calls stays what it is."""
    said = hw.Finish("tool_calls", "stop")
    assert feed(START, *TEXT, *CALL, said)[-1] == ("done", "toolUse")
    assert feed(START, *TEXT, *CALL, said, parity=m.Parity(stop_as_said=True))[-1] == ("done", "stop")


@pytest.mark.rows("OR-ANS-08", "AMB-37")
def test_cut_blocks() -> None:
    """Every start has its end before the terminal; on request those that a failure cut have none. A call cut by `length` has one either way."""
    cut = [START, hw.ToolCallStart(0, "c", "f"), hw.ToolCallDelta(0, '{"a":"x'), hw.ToolCallEnd(0, complete=False)]
    end = ("toolcall_end", 0, "c", "f", {"a": "x"}, "cut")
    for parity, ends in ((m.Parity(), [end]), (m.Parity(open_cut_blocks=True), [])):
        assert feed(*cut, FAILED, parity=parity)[3:] == [*ends, ("error", "error", "cut off")]
        assert feed(*cut, hw.Finish("length", "length"), parity=parity)[3:] == [end, ("done", "length")]


@pytest.mark.rows("OR-TYPE-09", "OR-CCS-12", "OR-RSS-14", "OR-ANS-09", "OR-MOD-05", "AMB-30", "AMB-69", "AMB-74")
@pytest.mark.parametrize(
    ("counts", "usage"),
    [
        (hw.Usage(15, 6, 3, 2), m.Usage(10, False, 6, 3, 2, 21)),
        (hw.Usage(15, 6), m.Usage(15, False, 6, None, None, 21)),
        (hw.Usage(15, 6, 0, 0, 5), m.Usage(15, False, 6, 0, 0, 21)),
        (hw.Usage(15, 6, raw={"total_tokens": 30}), m.Usage(15, False, 6, None, None, 30)),
        (hw.Usage(None, 6, raw={"total_tokens": 21}), m.Usage(15, False, 6, None, None, 21)),
        (hw.Usage(0, 6, raw={"totalTokenCount": 21}), m.Usage(15, False, 6, None, None, 21)),
        (hw.Usage(None, 6, raw={"totalTokens": 6}), m.Usage(None, True, 6, None, None, 6)),
        (hw.Usage(4, 6, 3, 2), m.Usage(None, True, 6, 3, 2, 10)),
        (hw.Usage(None, 6), m.Usage(None, True, 6)),
        (hw.Usage(15), m.Usage(15)),
        (hw.Usage(), m.Usage(None, True)),
    ],
)
def test_usage(counts: hw.Usage, usage: m.Usage) -> None:
    """The input without the cache's part; what is not told stays None; a total is never counted twice."""
    view = writer()
    view.feed([START, hw.UsageUpdate(hw.Usage(1, 1)), hw.UsageUpdate(counts), hw.Finish("stop")])
    assert view.message.usage == usage


@pytest.mark.rows("OR-MOD-05", "OR-ANS-01", "OR-EV-22")
def test_usage_and_cost_on_the_way() -> None:
    """Counts show from the next event on, with their price then; they stay when the answer is cut."""
    view = writer(cost=lambda usage: m.Cost(usage.input or 0, 0, 0, 0, usage.input or 0) if usage.output else None)
    events = view.feed(
        [
            START,
            hw.UsageUpdate(hw.Usage(7)),
            hw.TextStart(0),
            hw.UsageUpdate(hw.Usage(7, 2)),
            hw.TextDelta(0, "a"),
            hw.TextEnd(0, complete=False),
            FAILED,
        ]
    )
    usages = [event.partial.usage for event in events if not isinstance(event, m.Done | m.Error)]
    priced = m.Usage(7, False, 2, None, None, 9, m.Cost(7, 0, 0, 0, 7))
    assert usages == [None, m.Usage(7), priced, priced]


@pytest.mark.rows("OR-TYPE-06", "OR-TYPE-01", "OR-CCS-01", "OR-RSS-01")
def test_who_answered() -> None:
    """The model that was asked for; the one that answered only where it is another one. or's names of the protocols."""
    view = writer("openai-responses", model="gpt-x")
    view.feed([hw.StreamStart("gpt-x", "resp_1"), hw.Finish("stop")])
    assert (view.message.model, view.message.response_model, view.message.provider) == ("gpt-x", None, "prov")
    names = ["openai-chat", "openai-responses", "anthropic-messages", "gemini", "bedrock-converse", "bedrock-invoke"]
    shown_names = []
    for name in names:
        view = writer(name)
        view.feed([START])
        shown_names.append(view.message.protocol)
        assert m.supports_protocol(name)
        assert m.supports_protocol(shown_names[-1])
    assert shown_names == [
        "openai-completions",
        "openai-responses",
        "anthropic-messages",
        "google-generative-ai",
        "bedrock-converse-stream",
        "bedrock-invoke",
    ]
    assert not m.supports_protocol("mistral-conversations")


def test_events_from_elsewhere() -> None:
    """A fresh response will do: then the provider's own words are all there is."""
    view = m.MessageWriter(hw.Response())
    view.feed([hw.StreamStart(), hw.Finish("stop")])
    assert (view.message.model, view.message.protocol, view.message.provider, view.message.provider_request_id) == ("", "", "", None)
    assert view.message.timestamp > NOW


@settings(max_examples=60)
@given(st.data())
@pytest.mark.rows("OR-EV-20", "OR-EV-21", "OR-EV-22", "AMB-76")
def test_any_interleaving(data: st.DataObject) -> None:
    """Blocks that grow in any order: the laws hold, each partial is the eager copy, at any batching."""
    blocks = data.draw(st.lists(st.sampled_from(["text", "reasoning", "call"]), min_size=1, max_size=4))
    scripts = [_script(kind, index) for index, kind in enumerate(blocks)]
    neutral: list[hw.Event] = [START, *[script.pop(0) for script in scripts]]
    while left := [script for script in scripts if script]:
        neutral.append(data.draw(st.sampled_from(left)).pop(0))
        if data.draw(st.integers(0, 3)) == 0:
            neutral.append(hw.UsageUpdate(hw.Usage(len(neutral), len(neutral))))
    neutral.append(data.draw(st.sampled_from([hw.Finish("stop", "stop"), FAILED])))
    events, copies = eagerly([neutral])
    lawful(events)
    assert [event.message if isinstance(event, m.Done | m.Error) else event.partial for event in events] == copies
    size = data.draw(st.integers(1, 5))
    view = writer()
    batched = [event for start in range(0, len(neutral), size) for event in view.feed(neutral[start : start + size])]
    assert batched[:-1] == events[:-1]
    assert batched[-1].message == copies[-1]  # type: ignore[union-attr]  # the terminal


def _script(kind: str, index: int) -> list[hw.Event]:
    if kind == "text":
        return [hw.TextStart(index), hw.TextDelta(index, "a"), hw.TextDelta(index, "b"), hw.TextEnd(index, signature="s")]
    if kind == "reasoning":
        return [hw.ReasoningStart(index), hw.ReasoningDelta(index, "c"), hw.ReasoningDelta(index, "d"), hw.ReasoningEnd(index, meta=Raw(b"{}"))]
    return [hw.ToolCallStart(index, f"c{index}", "f"), hw.ToolCallDelta(index, '{"a":"'), hw.ToolCallDelta(index, 'x"}'), hw.ToolCallEnd(index)]


def test_the_deep_copy_of_a_message_is_equal() -> None:
    """Messages are values: they can be copied and compared."""
    _, message = read("openai-chat", b'data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')
    assert copy.deepcopy(message) == message
    assert message.text() == "x"
