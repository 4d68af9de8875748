"""The types of the messages view: what may stand where, the helpers, and JSON without loss."""

from __future__ import annotations

import json

import pytest

from headwater.views import messages as m
from headwater_codecs.neutral import ConfigurationError

CALL = m.ToolCall("call_1", "look_up", {"city": "Zürich", "n": 123456789012345678901234567890}, "sig-c")
ANSWER = m.AssistantMessage(
    content=(
        m.ThinkingContent("Hm.", "sig-t"),
        m.ThinkingContent(m.REDACTED, "sealed", redacted=True),
        m.TextContent("Let me see", "sig-x"),
        m.TextContent(", yes."),
        CALL,
        m.ToolCall("call_2", "now", complete=False),
    ),
    protocol="anthropic-messages",
    provider="anthropic",
    model="claude-a",
    provider_request_id="req_1",
    response_model="claude-a-20250101",
    response_id="msg_1",
    usage=m.Usage(10, False, 6, 3, 2, 21, m.Cost(0.1, 0.2, 0.0, 0.0, 0.3)),
    stop_reason="toolUse",
    raw_stop_reason="tool_use",
    diagnostics=(m.Diagnostic("tool_arguments_recovered", 1, details={"toolCallId": "call_2", "toolName": "now", "mode": "partial"}),),
    items=(m.ProviderItem(2, "web_search", b'{"q":"\xff"}'),),
    timestamp=1_700_000_000_000,
)
MESSAGES: list[m.Message] = [
    m.user("hi"),
    m.user("look", m.ImageContent("aGk=", "image/png")),
    m.UserMessage((m.TextContent("then"),), timestamp=5),
    ANSWER,
    m.AssistantMessage((), stop_reason="error", error_message="no"),
    m.AssistantMessage((m.TextContent("cut"),), stop_reason="aborted", usage=m.Usage(input_unknown=True, output=2)),
    m.assistant("made up"),
    m.tool_result(CALL, "sunny", m.ImageContent("aGk=", "image/png")),
    m.tool_result(CALL, is_error=True),
    m.user("half a pair: \ud83d"),
]
TOOL = m.ToolDefinition("look_up", "The weather.", {"type": "object", "properties": {"city": {"type": "string"}}}, strict=True)
CONTEXT = m.Context(MESSAGES, "Be brief.", [TOOL, m.ToolDefinition("now", strict=False), m.ToolDefinition("later")])


@pytest.mark.rows("OR-TYPE-12", "OR-TYPE-02", "OR-TYPE-06", "OR-TYPE-07", "OR-TYPE-08", "OR-TYPE-09", "OR-TYPE-10", "AMB-74")
def test_json_round_trip() -> None:
    """Every kind of message, alone, as lines, and in a conversation, comes back equal."""
    assert [m.decode_message(m.encode(message)) for message in MESSAGES] == MESSAGES
    assert m.decode_messages(b"\n".join(map(m.encode, MESSAGES)).splitlines()) == MESSAGES
    assert m.decode_context(m.encode(CONTEXT)) == CONTEXT
    assert m.decode_context(m.encode(m.Context())) == m.Context()
    assert all(b"\n" not in m.encode(message) for message in MESSAGES)


@pytest.mark.rows("OR-TYPE-03", "OR-TYPE-05", "OR-TYPE-06", "OR-TYPE-07", "OR-TYPE-09", "OR-TYPE-10")
def test_json_names() -> None:
    """The names of or's fields; what says nothing is left out, arguments are always there."""
    assert json.loads(m.encode(ANSWER)) == {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Hm.", "thinkingSignature": "sig-t"},
            {"type": "thinking", "thinking": "[Reasoning redacted]", "thinkingSignature": "sealed", "redacted": True},
            {"type": "text", "text": "Let me see", "textSignature": "sig-x"},
            {"type": "text", "text": ", yes."},
            {
                "type": "toolCall",
                "id": "call_1",
                "name": "look_up",
                "arguments": {"city": "Zürich", "n": 123456789012345678901234567890},
                "thoughtSignature": "sig-c",
            },
            {"type": "toolCall", "id": "call_2", "name": "now", "arguments": {}, "complete": False},
        ],
        "protocol": "anthropic-messages",
        "provider": "anthropic",
        "model": "claude-a",
        "providerRequestId": "req_1",
        "responseModel": "claude-a-20250101",
        "responseId": "msg_1",
        "usage": {
            "input": 10,
            "output": 6,
            "cacheRead": 3,
            "cacheWrite": 2,
            "totalTokens": 21,
            "cost": {"input": 0.1, "output": 0.2, "cacheRead": 0.0, "cacheWrite": 0.0, "total": 0.3},
        },
        "stopReason": "toolUse",
        "rawStopReason": "tool_use",
        "diagnostics": [
            {"type": "tool_arguments_recovered", "timestamp": 1, "details": {"toolCallId": "call_2", "toolName": "now", "mode": "partial"}}
        ],
        "items": [{"position": 2, "kind": "web_search", "raw": "eyJxIjoi/yJ9"}],
        "timestamp": 1_700_000_000_000,
    }
    assert json.loads(m.encode(CONTEXT))["tools"] == [
        {
            "name": "look_up",
            "description": "The weather.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
            "strict": True,
        },
        {"name": "now", "strict": False},
        {"name": "later"},
    ]
    assert json.loads(m.encode(m.tool_result(CALL, "x", is_error=True))) == {
        "role": "toolResult",
        "toolCallId": "call_1",
        "toolName": "look_up",
        "content": [{"type": "text", "text": "x"}],
        "isError": True,
    }


@pytest.mark.rows("OR-TYPE-05")
@pytest.mark.parametrize("arguments", ["", ',"arguments":null', ',"arguments":{}'])
def test_arguments_that_are_not_there(arguments: str) -> None:
    """Missing and null arguments are none."""
    text = '{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"f"' + arguments + "}]}"
    assert m.decode_message(text) == m.AssistantMessage((m.ToolCall("c", "f"),))
    assert m.ToolCall("c", "f", None) == m.ToolCall("c", "f", {})  # type: ignore[arg-type]  # as some callers do


CONTENT = {
    "text": m.TextContent("x"),
    "thinking": m.ThinkingContent("x"),
    "image": m.ImageContent("aGk=", "image/png"),
    "toolCall": m.ToolCall("c", "f"),
}
PLACES = {"user": ["text", "image"], "assistant": ["text", "thinking", "toolCall"], "toolResult": ["text", "image"]}


@pytest.mark.rows("OR-TYPE-04")
@pytest.mark.parametrize("role", PLACES)
@pytest.mark.parametrize("kind", CONTENT)
def test_what_may_stand_where(role: str, kind: str) -> None:
    """The placement matrix, when constructed and when read; a refusal names the place."""
    build = {
        "user": lambda content: m.UserMessage(content),
        "assistant": lambda content: m.AssistantMessage(content),
        "toolResult": lambda content: m.ToolResultMessage("c", "f", content),
    }[role]
    content = (m.TextContent("x"), CONTENT[kind]) if role != "assistant" else (m.ToolCall("d", "g"), CONTENT[kind])
    home = next(name for name, kinds in PLACES.items() if kind in kinds)
    one = {"user": m.UserMessage, "assistant": m.AssistantMessage}[home]((CONTENT[kind],))
    item = json.loads(m.encode(one))["content"][0]
    text = json.dumps({"role": role, "toolCallId": "c", "toolName": "f", "content": [{"type": "text", "text": "x"}, item]})
    if kind in PLACES[role]:
        assert build(content).content == content
        assert m.decode_message(text).content[1] == CONTENT[kind]
        return
    with pytest.raises(ConfigurationError, match=rf"^content\[1\]: content type '{kind}' is not allowed in a {role} message"):
        build(content)
    with pytest.raises(ConfigurationError, match=rf"^messages\[2\]\.content\[1\]: content type '{kind}' is not allowed in a {role} message"):
        m.decode_messages([m.encode(m.user("a")), "", text])


GOOD = '{"role":"user","content":[]}'


@pytest.mark.rows("OR-TYPE-03", "OR-TYPE-12")
@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("null", r"messages\[1\]: a message is an object, not null"),
        ("[]", r"messages\[1\]: a message is an object, not a list"),
        ("{}", r"messages\[1\]: role is missing, it is one of user, assistant, toolResult"),
        ('{"role":"system","content":[]}', r"messages\[1\]: role 'system' is none of user, assistant, toolResult"),
        ('{"role":null,"content":[]}', r"messages\[1\]: role None is none of"),
        ('{"role":["user"],"content":[]}', r"messages\[1\]: role \['user'\] is none of"),
        ('{"role":"user"}', r"messages\[1\]: content is a list, not null"),
        ('{"role":"user","content":"hi"}', r"messages\[1\]: content is a list, not a string"),
        ('{"role":"user","content":[null]}', r"messages\[1\].content\[0\]: content is an object, not null"),
        ('{"role":"user","content":[{"text":"x"}]}', r"messages\[1\].content\[0\]: type is missing, it is one of text, thinking, image, toolCall"),
        ('{"role":"user","content":[{"type":"video"}]}', r"messages\[1\].content\[0\]: content type 'video' is none of"),
        ('{"role":"user","content":[{"type":[]}]}', r"messages\[1\].content\[0\]: content type \[\] is none of"),
        ('{"role":"user","content":[{"type":"text","text":7}]}', r"messages\[1\]: Expected `str`, got `int` - at `\$.content\[0\].text`"),
        ('{"role":"user","content":[{"type":"text"}]}', r"messages\[1\]: Object missing required field `text`"),
        ('{"role":"toolResult","content":[]}', r"messages\[1\]: Object missing required field `toolCallId`"),
    ],
)
def test_reading_names_the_place(message: str, said: str) -> None:
    """In a conversation and in lines; nothing is guessed."""
    with pytest.raises(ConfigurationError, match=said):
        m.decode_context('{"messages":[' + GOOD + "," + message + "]}")
    with pytest.raises(ConfigurationError, match=said):
        m.decode_messages([GOOD, message])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "context: this is no JSON"),
        ("[" * 100_000, "context: this is no JSON"),
        ("3", "a context is an object, not a number"),
        ('{"messages":{}}', "messages is a list, not an object"),
        ('{"tools":[{}]}', "context: Object missing required field `name`"),
        ('{"systemPrompt":true}', "context: Expected `str | null`, got `bool`"),
    ],
)
def test_reading_a_context(text: str, said: str) -> None:
    """What is wrong around the messages."""
    with pytest.raises(ConfigurationError) as caught:
        m.decode_context(text)
    assert str(caught.value).startswith(said)


@pytest.mark.rows("AMB-70")
def test_what_json_does_not_know_is_not_written() -> None:
    """NaN and infinities are refused, and what is no value at all."""
    for value in (float("nan"), float("inf"), object()):
        with pytest.raises(ConfigurationError, match="cannot be written as JSON"):
            m.encode(m.AssistantMessage((m.ToolCall("c", "f", {"a": value}),)))


def test_construction_refuses_what_is_no_message() -> None:
    """Text in the place of a list, a dict in the place of a message."""
    with pytest.raises(ConfigurationError, match="the content of a user message is a list, not str"):
        m.UserMessage("hi")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=r"content\[0\]: content type 'str' is not allowed in a user message: use image, text"):
        m.UserMessage(("hi",))  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=r"messages\[1\]: dict is no message"):
        m.Context([m.user("a"), {"role": "user"}])  # type: ignore[list-item]


@pytest.mark.rows("OR-TYPE-11")
def test_builders() -> None:
    """The short ways to say it."""
    image = m.ImageContent("aGk=", "image/png")
    assert m.user("a", image, "b") == m.UserMessage((m.TextContent("a"), image, m.TextContent("b")))
    assert m.assistant("a") == m.AssistantMessage((m.TextContent("a"),), stop_reason="stop")
    assert m.tool_result(CALL, "a") == m.ToolResultMessage("call_1", "look_up", (m.TextContent("a"),), is_error=False)
    assert m.prompt("a", system="b", tools=[TOOL]) == m.Context((m.user("a"),), "b", (TOOL,))
    assert m.prompt("a").with_messages(m.assistant("b"), m.user("c")) == m.Context((m.user("a"), m.assistant("b"), m.user("c")))


@pytest.mark.rows("OR-TYPE-06", "OR-EV-23", "ISS-34", "AMB-38")
def test_helpers_of_an_answer() -> None:
    """The text without separators; of the calls only those that may be run."""
    assert ANSWER.text() == "Let me see, yes."
    assert ANSWER.tool_calls() == (CALL,)
    runnable = {reason: len(m.AssistantMessage((CALL,), stop_reason=reason).tool_calls()) for reason in m.STOP_REASONS}
    assert runnable == {"stop": 1, "length": 1, "toolUse": 1, "error": 0, "aborted": 0}
    assert m.AssistantMessage((CALL,)).tool_calls() == ()  # it still streams
