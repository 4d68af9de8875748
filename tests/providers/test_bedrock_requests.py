"""What is sent to Bedrock: Converse's own bodies, and Claude's handed through by InvokeModel."""

from __future__ import annotations

import json

import pytest

import headwater as hw
from headwater_providers.builtin import new_registries
from headwater_providers.history import hand_off

CLAUDE = "anthropic.claude-sonnet-4-5-20250929-v1:0"
ARN = "arn:aws:bedrock:eu-west-1:1:inference-profile/eu.anthropic.claude-x:0"
OWN = hw.Origin("bedrock", "bedrock-converse", CLAUDE)
LONG = "call." + "x" * 80


def built(model: str, *messages: hw.Message, protocol: str = "bedrock-converse", **fields: object) -> tuple[str, dict[str, object]]:
    """The address and the body."""
    registries = new_registries(plugins=False)
    registries.env = {"AWS_REGION": "eu-west-1", "AWS_BEARER_TOKEN_BEDROCK": "token-0123456789"}
    target = registries.resolve(hw.Model(model, provider="bedrock", protocol=protocol))
    handed = hand_off(messages, target)  # as the engine does
    request = hw.Request(model=model, messages=handed, **fields)  # type: ignore[arg-type]  # by name
    sent = registries.adapter(protocol).build(request, target, target.api_key)  # type: ignore[arg-type]  # a secret, out of the environment
    assert dict(sent.headers)["authorization"] == "Bearer token-0123456789"
    return sent.url, json.loads(sent.body)


@pytest.mark.rows("PI-BR-04", "ISS-50")
def test_a_conversation_for_converse() -> None:
    """Ids made fit, empty blocks left out, results of one turn together, reasoning signed and of this model only, images as bytes."""
    calls = hw.Message(
        "assistant",
        (
            hw.ReasoningPart("hm", "SIG"),
            hw.ReasoningPart("unsigned"),
            hw.ReasoningPart(redacted=True, data="RU5D"),
            hw.TextPart(" "),
            hw.ToolCallPart("call.1", "f", '{"a":1}'),
            hw.ToolCallPart(LONG, "f"),
        ),
        origin=OWN,
    )
    image = hw.ImagePart(data="AA==", media_type="image/jpeg")
    foreign = hw.Message("assistant", (hw.ReasoningPart("hm", "SIG"), hw.TextPart("Hi")), origin=hw.Origin("openai", "openai-chat", "gpt"))
    _, body = built(
        CLAUDE,
        hw.user("look", image, ""),
        calls,
        hw.tool_result("call.1", "rain"),
        hw.tool_result(LONG, "", is_error=True),
        foreign,
        hw.user("on"),
    )
    assert body["messages"] == [
        {"role": "user", "content": [{"text": "look"}, {"image": {"format": "jpeg", "source": {"bytes": "AA=="}}}]},
        {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "SIG"}}},
                {"reasoningContent": {"redactedContent": "RU5D"}},
                {"toolUse": {"toolUseId": "call_1", "name": "f", "input": {"a": 1}}},
                {"toolUse": {"toolUseId": "call_" + "x" * 59, "name": "f", "input": {}}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"toolResult": {"toolUseId": "call_1", "content": [{"text": "rain"}], "status": "success"}},
                {"toolResult": {"toolUseId": "call_" + "x" * 59, "content": [{"text": "(no output)"}], "status": "error"}},
            ],
        },
        {"role": "assistant", "content": [{"text": "Hi"}]},
        {"role": "user", "content": [{"text": "on"}]},
    ]
    for other in (hw.ImagePart(data="AA==", media_type="image/tiff"), hw.ImagePart(url="https://x/1.png", media_type="image/png")):
        with pytest.raises(hw.ConfigurationError, match="takes images as data, of type gif, jpeg, png, webp"):
            built(CLAUDE, hw.user(other))


@pytest.mark.rows("PI-BR-04")
@pytest.mark.parametrize("model", [CLAUDE, "amazon.nova-lite-v1:0"])
def test_tools_of_earlier_turns_where_none_is_offered(model: str) -> None:
    """The conversation would be refused without `toolConfig`, so there is one, of a tool that nobody is to call; it is there for no other reason."""
    history = (hw.user("a"), hw.Message("assistant", (hw.ToolCallPart("c", "f"),)), hw.tool_result("c", "1"), hw.user("sum up"))
    protocol = "bedrock-converse" if model == CLAUDE else "bedrock-invoke"
    for fields in ({}, {"tools": [hw.Tool("f")], "tool_choice": "none"}):
        _, body = built(model, *history, protocol=protocol, **fields)
        assert [tool["toolSpec"]["name"] for tool in body["toolConfig"]["tools"]] == ["no_tool"]  # type: ignore[index]  # JSON
        assert "toolChoice" not in body["toolConfig"]  # type: ignore[operator]  # JSON
        _, body = built(model, hw.user("a"), hw.assistant("b"), hw.user("c"), protocol=protocol, **fields)
        assert "toolConfig" not in body
    _, body = built(model, *history, protocol=protocol, tools=[hw.Tool("f")])
    assert [tool["toolSpec"]["name"] for tool in body["toolConfig"]["tools"]] == ["f"]  # type: ignore[index]  # JSON


@pytest.mark.rows("PI-BR-05")
@pytest.mark.parametrize(
    ("env", "region"),
    [
        ({"AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "us-west-2"}, "eu-west-1"),
        ({"AWS_DEFAULT_REGION": "us-west-2"}, "us-west-2"),
        ({}, "us-east-1"),
    ],
)
def test_the_region(env: dict[str, str], region: str) -> None:
    """Of the variables the first that is set, else the one that AWS itself falls back to."""
    registries = new_registries(plugins=False)
    registries.env = {**env, "AWS_BEARER_TOKEN_BEDROCK": "token-0123456789"}
    assert registries.resolve(f"bedrock/{CLAUDE}").base_url == f"https://bedrock-runtime.{region}.amazonaws.com"


@pytest.mark.rows("WIRE-40", "ISS-50")
def test_claude_through_invoke() -> None:
    """The model stands in the address, escaped, and `stream` too; the version is added."""
    url, body = built(CLAUDE, hw.system("s"), hw.user("hi"), protocol="bedrock-invoke", max_tokens=9, extra_body={"anthropic_beta": ["b-1"]})
    assert url == f"https://bedrock-runtime.eu-west-1.amazonaws.com/model/{CLAUDE.replace(':', '%3A')}/invoke-with-response-stream"
    assert body == {
        "anthropic_version": "bedrock-2023-05-31",
        "max_tokens": 9,
        "system": [{"type": "text", "text": "s"}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
        "anthropic_beta": ["b-1"],
    }
    url, _ = built(ARN, hw.user("hi"), protocol="bedrock-invoke", max_tokens=9)
    assert "/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A1%3Ainference-profile%2Feu.anthropic.claude-x%3A0/invoke-with-response-stream" in url
