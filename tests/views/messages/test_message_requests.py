"""A conversation of the messages view as a request: what is sent, what is left out, and that a model gets back what it sent."""

from __future__ import annotations

import json
from typing import get_type_hints

import pytest
from msgspec import Raw

import headwater as hw
from headwater.aggregate import Aggregator
from headwater.views import messages as m
from headwater.views.messages.packing import Packed, pack, unpack
from headwater_providers.builtin import default_registries
from helpers import Fixture, fixtures
from views.messages.seen import writer

PROTOCOLS = {
    "openai-chat": "openai",
    "openai-responses": "openai",
    "anthropic-messages": "anthropic",
    "gemini": "gemini",
    "bedrock-converse": "bedrock",
}
ALL = [
    pytest.param(protocol, fixture, id=f"{protocol}-{fixture.name}")
    for protocol in PROTOCOLS
    for fixture in fixtures(protocol)
    if not any(event.get("kind") == "custom" for event in fixture.events)
]
CALL = m.ToolCall("call_1", "f", {"a": [1, "ü"]})
IMAGE = m.ImageContent("aGk=", "image/png")


def body(request: hw.Request) -> object:
    """What would be sent, as plain values; a call's arguments too."""
    registries = default_registries()
    target = registries.resolve(request.model)
    built = registries.adapter(target.protocol).build(request, target, hw.Secret("sk-test-key"))
    return _read(json.loads(built.body))


def _read(value: object) -> object:
    if isinstance(value, dict):
        return {name: json.loads(item) if name == "arguments" and isinstance(item, str) else _read(item) for name, item in value.items()}
    return [_read(item) for item in value] if isinstance(value, list) else value


@pytest.mark.rows(
    "OR-RS-03", "OR-RS-05", "OR-RS-06", "OR-AN-04", "OR-CC-03", "OR-CC-05", "OR-TYPE-12", "AMB-31", "ISS-03", "ISS-45", "ISS-46", "ISS-55"
)
@pytest.mark.parametrize(("protocol", "fixture"), ALL)
def test_an_answer_goes_back_as_it_came(protocol: str, fixture: Fixture) -> None:
    """Through the view, a file and back: the body is the one that the neutral answer makes, with every signature, id and item."""
    model = hw.Model("model-1", provider=PROTOCOLS[protocol], protocol=protocol, base_url="http://127.0.0.1:1/v1", api_key="sk-test-key")
    events = hw.decode_events(protocol, [fixture.data], content_type=fixture.content_type, options=fixture.options)
    neutral = hw.Response()
    neutral.provider, neutral.protocol, neutral.requested_model = PROTOCOLS[protocol], protocol, "model-1"
    Aggregator(neutral).feed(events)
    view = writer(protocol, provider=PROTOCOLS[protocol])
    view.feed(events)
    context = m.prompt("hi").with_messages(m.decode_message(m.encode(view.message)), m.user("go on"))
    said = neutral.message()
    kept = [said] if said.parts and not view.message.failed else []
    expected = hw.Request(model=model, messages=[hw.user("hi"), *kept, hw.user("go on")])
    assert body(m.to_request(model, context)) == body(expected)


@pytest.mark.rows("OR-TYPE-02", "OR-TYPE-05", "OR-TYPE-06", "OR-TYPE-07")
def test_every_part_of_a_conversation() -> None:
    """As the neutral request says it; whoever answered goes along."""
    answer = m.AssistantMessage(
        (m.ThinkingContent("hm", "sig-t"), m.ThinkingContent(m.REDACTED, "sealed", True), m.TextContent("a", "sig-x"), CALL),
        protocol="openai-completions",
        provider="prov",
        model="model-1",
        response_model="model-1-2025",
        stop_reason="toolUse",
        items=(m.ProviderItem(0, "first", b"{1}"), m.ProviderItem(2, "between", b"{2}"), m.ProviderItem(4, "last", b"{3}")),
    )
    context = m.Context(
        [m.user("look", IMAGE), answer, m.tool_result(CALL, "no", IMAGE, is_error=True), m.assistant("made up"), m.user("go on")],
        "Be brief.",
        [m.ToolDefinition("f", "A tool.", {"type": "object"}, strict=False), m.ToolDefinition("g")],
    )
    assert m.to_request("prov/model-1", context, temperature=0.0, tool_choice="f") == hw.Request(
        model="prov/model-1",
        messages=(
            hw.system("Be brief."),
            hw.Message("user", (hw.TextPart("look"), hw.ImagePart(data="aGk=", media_type="image/png"))),
            hw.Message(
                "assistant",
                (
                    hw.OpaquePart("first", b"{1}"),
                    hw.ReasoningPart("hm", "sig-t"),
                    hw.ReasoningPart("", redacted=True, data="sealed"),
                    hw.OpaquePart("between", b"{2}"),
                    hw.TextPart("a", "sig-x"),
                    hw.ToolCallPart("call_1", "f", '{"a":[1,"ü"]}'),
                    hw.OpaquePart("last", b"{3}"),
                ),
                origin=hw.Origin("prov", "openai-chat", "model-1", "model-1-2025"),
            ),
            hw.tool_result("call_1", (hw.TextPart("no"), hw.ImagePart(data="aGk=", media_type="image/png")), name="f", is_error=True),
            hw.Message("assistant", (hw.TextPart("made up"),)),
            hw.Message("user", (hw.TextPart("go on"),)),
        ),
        tools=(hw.Tool("f", "A tool.", {"type": "object"}, False), hw.Tool("g")),
        temperature=0.0,
        tool_choice="f",
    )


@pytest.mark.rows("OR-TM-06", "AMB-26", "AMB-38", "ISS-20", "ISS-26", "OR-EV-23")
@pytest.mark.parametrize("stop", ["error", "aborted"])
def test_failed_answers_are_left_out(stop: m.StopReason) -> None:
    """With the results of their calls; a result of a later answer with the same id stays. The conversation itself is not touched."""
    failed = m.AssistantMessage((m.TextContent("ha"), CALL), stop_reason=stop)
    good = m.AssistantMessage((CALL,), stop_reason="toolUse")
    context = m.Context([m.user("a"), failed, m.tool_result(CALL, "lost"), m.user("b"), good, m.tool_result(CALL, "kept")])
    before = m.encode(context)
    sent = m.to_request("prov/model-1", context).messages
    assert [(message.role, len(message.parts)) for message in sent] == [("user", 1), ("user", 1), ("assistant", 1), ("tool", 1)]
    assert sent[-1] == hw.tool_result("call_1", (hw.TextPart("kept"),), name="f")
    assert m.encode(context) == before


@pytest.mark.rows("OR-CC-04", "ISS-26")
def test_an_empty_answer_is_left_out() -> None:
    """Providers refuse it."""
    context = m.prompt("hi").with_messages(m.AssistantMessage((), stop_reason="stop"), m.assistant(" \n"), m.user("go on"))
    assert [message.role for message in m.to_request("prov/model-1", context).messages] == ["user", "user"]


@pytest.mark.rows("AMB-25", "OR-RS-03", "OR-AN-04", "ISS-45")
def test_another_model_gets_no_thinking() -> None:
    """Signatures, thinking and items stay with the model that made them; text and calls go to any."""
    answer = m.AssistantMessage(
        (m.ThinkingContent("hm", "sig-t"), m.TextContent("a", "sig-x"), CALL),
        protocol="anthropic-messages",
        provider="anthropic",
        model="claude-a",
        stop_reason="toolUse",
        items=(m.ProviderItem(1, "server_tool_use", b'{"type":"server_tool_use"}'),),
    )
    context = m.prompt("hi").with_messages(answer, m.tool_result(CALL, "ok"))
    own, other = (
        body(m.to_request(hw.Model(name, provider="anthropic", protocol="anthropic-messages", api_key="sk-test-key"), context))
        for name in ("claude-a", "claude-b")
    )
    assert isinstance(own, dict)
    assert isinstance(other, dict)
    assert [[block["type"] for block in turn["content"]] for turn in own["messages"]] == [
        ["text"],
        ["thinking", "server_tool_use", "text", "tool_use"],
        ["tool_result"],
    ]
    assert [[block["type"] for block in turn["content"]] for turn in other["messages"]] == [["text"], ["text", "tool_use"], ["tool_result"]]
    assert "sig-" not in json.dumps(other)


@pytest.mark.rows("ISS-34", "AMB-09", "OR-EV-23")
def test_cut_calls_are_not_replayed() -> None:
    """Nor are their results."""
    cut = m.ToolCall("call_2", "f", {"a": "hel"}, complete=False)
    answer = m.AssistantMessage((m.TextContent("a"), cut, CALL), stop_reason="length")
    context = m.prompt("hi").with_messages(answer, m.tool_result(CALL, "1"), m.tool_result(cut, "2"))
    sent = body(m.to_request(hw.Model("model-1", provider="openai", protocol="openai-chat", api_key="sk-test-key"), context))
    assert isinstance(sent, dict)
    assert [message.get("tool_call_id") or [call["id"] for call in message.get("tool_calls", [])] for message in sent["messages"]] == [
        [],
        ["call_1"],
        "call_1",
    ]


@pytest.mark.rows("OR-RS-03")
def test_packed_signatures() -> None:
    """What stands alone stays as it is; what was made up or cut is nothing."""
    meta = Raw(b'{"id": "msg_1",  "n":1.0}')
    cases = [
        (None, None, None, False),
        ("sig", None, None, False),
        (None, "sealed", None, True),
        ("sig", "sealed", meta, False),
        (None, "sealed", None, False),
        (None, None, meta, True),
        ("sig", "sealed", None, True),
    ]
    for signature, data, kept, redacted in cases:
        packed = pack(signature, data, kept, redacted=redacted)
        back = unpack(packed, redacted=redacted)
        assert (back.signature, back.data, None if back.meta is None else bytes(back.meta)) == (
            signature,
            data,
            None if kept is None else bytes(kept),
        )
    assert (pack("sig", None, None), pack(None, "sealed", None, redacted=True)) == ("sig", "sealed")
    whole = pack("sig", "sealed", meta)
    assert whole is not None
    for spoilt in ("headwater:", "headwater:{", "headwater:[]", 'headwater:{"signature":1}', whole[:-1], "headwater:\ud83d"):
        assert unpack(spoilt) == Packed()


def test_arguments_that_cannot_be_sent() -> None:
    """NaN is no JSON: an error that names the call, before a byte is sent."""
    answer = m.AssistantMessage((m.ToolCall("call_9", "f", {"a": float("nan")}),), stop_reason="toolUse")
    with pytest.raises(hw.ConfigurationError, match=r"the arguments of call call_9 \(f\) cannot be written as JSON"):
        m.to_request("prov/model-1", m.prompt("hi").with_messages(answer))


def test_the_fields_of_a_request() -> None:
    """Every field of `Request` can be given by its name, but those that the conversation and the view decide."""
    assert set(get_type_hints(m.RequestFields)) == set(hw.Request.__struct_fields__) - {"model", "messages", "tools", "n"}
