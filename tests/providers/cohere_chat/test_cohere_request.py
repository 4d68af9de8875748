"""The body of a cohere-chat request."""

from __future__ import annotations

import msgspec
import pytest

from headwater_codecs.neutral import (
    ConfigurationError,
    FilePart,
    ImagePart,
    JsonSchema,
    Message,
    Model,
    OpaquePart,
    Origin,
    Reasoning,
    ReasoningPart,
    Request,
    Secret,
    TextPart,
    Tool,
    ToolCallPart,
    system,
    tool_result,
    user,
)
from headwater_providers.adapter import Target
from headwater_providers.builtin import new_registries
from headwater_providers.cohere_chat.adapter import CohereChatAdapter

TARGET = Target(model="command-x", provider="cohere", protocol="cohere-chat", base_url="https://api.example")
HI = {"role": "user", "content": "hi"}
SCHEMA: dict[str, object] = {"type": "object", "properties": {"a": {"type": "integer"}}}
CALL = ToolCallPart("c1", "f", '{"a": 1}')
SENT_CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
PLAN = OpaquePart("tool_plan", b'"I will"')
Json = dict[str, object]


def body(*messages: Message, **fields: object) -> Json:
    """The body of a request."""
    request = Request(model="command-x", messages=list(messages) or [user("hi")], **fields)  # type: ignore[arg-type]
    value: Json = msgspec.json.decode(CohereChatAdapter().build(request, TARGET, None).body)
    return value


def sent(*messages: Message) -> list[object]:
    """The messages of a request, behind the first one."""
    value = body(user("hi"), *messages)["messages"]
    assert isinstance(value, list)
    assert value[0] == HI
    return value[1:]


def test_the_least() -> None:
    """Nothing is sent that was not asked for; the key goes into its header."""
    target = new_registries(plugins=False).resolve(Model("cohere/command-x", api_key="KEY"))
    built = CohereChatAdapter().build(Request(model="m", messages=[user("hi")]), target, Secret("KEY"))
    assert (built.method, built.url) == ("POST", "https://api.cohere.com/v2/chat")
    assert dict(built.headers)["authorization"] == "Bearer KEY"
    assert msgspec.json.decode(built.body) == {"model": "command-x", "messages": [HI], "stream": True}


def test_fields_under_the_names_of_the_wire() -> None:
    """Zeros are sent."""
    fields = {"max_tokens": 9, "temperature": 0.0, "top_p": 0.5, "top_k": 4, "seed": 0, "presence_penalty": 0.1, "frequency_penalty": 0.2}
    built = body(**fields, logprobs=True, stop="END")
    wanted = {"max_tokens": 9, "temperature": 0.0, "p": 0.5, "k": 4, "seed": 0, "presence_penalty": 0.1, "frequency_penalty": 0.2}
    assert built == {"model": "command-x", "messages": [HI], "stream": True, **wanted, "logprobs": True, "stop_sequences": ["END"]}


def test_extra_body_is_merged() -> None:
    """What is Cohere's own goes that way."""
    assert body(extra_body={"documents": ["d"], "safety_mode": "NONE"})["documents"] == ["d"]


@pytest.mark.parametrize(
    ("wanted", "sent_as"),
    [
        ("json", {"type": "json_object"}),
        (JsonSchema(SCHEMA), {"type": "json_object", "json_schema": SCHEMA}),
        ("text", {"type": "text"}),
        (None, None),
    ],
)
def test_response_format(wanted: object, sent_as: object) -> None:
    """Any JSON, JSON of a schema, text."""
    assert body(response_format=wanted).get("response_format") == sent_as


@pytest.mark.parametrize(
    ("asked", "sent_as"),
    [
        ("off", {"type": "disabled"}),
        ("low", {"type": "enabled", "token_budget": 2048}),
        (Reasoning(budget_tokens=77), {"type": "enabled", "token_budget": 77}),
        (Reasoning(effort="high", budget_tokens=77), {"type": "enabled", "token_budget": 77}),
        (Reasoning(), None),
        (None, None),
    ],
)
def test_thinking(asked: object, sent_as: object) -> None:
    """A budget; an effort is one."""
    assert body(reasoning=asked).get("thinking") == sent_as


def test_tools() -> None:
    """With a schema in any case; one strict tool makes all of them strict."""
    built = body(tools=[Tool("f", "does f", SCHEMA, strict=True), Tool("g")])
    assert built["tools"] == [
        {"type": "function", "function": {"name": "f", "description": "does f", "parameters": SCHEMA}},
        {"type": "function", "function": {"name": "g", "parameters": {"type": "object", "properties": {}}}},
    ]
    assert built["strict_tools"] is True
    assert "strict_tools" not in body(tools=[Tool("f")])


@pytest.mark.parametrize(("choice", "sent_as"), [("auto", None), ("none", "NONE"), ("required", "REQUIRED"), (None, None)])
def test_tool_choice(choice: str | None, sent_as: str | None) -> None:
    """In capitals; the default is not sent."""
    assert body(tools=[Tool("f")], tool_choice=choice).get("tool_choice") == sent_as


def test_a_conversation() -> None:
    """System, images, thinking, a plan with its calls, results."""
    turns = [
        system("s"),
        user("what", ImagePart(data="aGk=", media_type="image/png"), ImagePart(url="https://a.example/x.png", detail="low")),
        Message("assistant", (PLAN, ReasoningPart("p"), TextPart("a"), CALL, ToolCallPart("c2", "g", " "))),
        tool_result("c1", "42"),
        tool_result("c2", [TextPart("4"), TextPart("3")]),
    ]
    assert sent(*turns) == [
        {"role": "system", "content": "s"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "what"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
                {"type": "image_url", "image_url": {"url": "https://a.example/x.png", "detail": "low"}},
            ],
        },
        {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "p"}, {"type": "text", "text": "a"}],
            "tool_calls": [SENT_CALL, {"id": "c2", "type": "function", "function": {"name": "g", "arguments": "{}"}}],
            "tool_plan": "I will",
        },
        {"role": "tool", "tool_call_id": "c1", "content": "42"},
        {"role": "tool", "tool_call_id": "c2", "content": "4\n3"},
    ]


def test_what_another_model_thought_stays_at_home() -> None:
    """Its plan does too."""
    turn = Message("assistant", (PLAN, ReasoningPart("p"), TextPart("a"), CALL), origin=Origin("openai", "openai-chat", "gpt"))
    assert sent(turn) == [{"role": "assistant", "content": [{"type": "text", "text": "a"}], "tool_calls": [SENT_CALL]}]


def test_a_cut_call_and_its_result_are_left_out() -> None:
    """So is a plan whose calls were, and a turn that has nothing left."""
    cut = ToolCallPart("c1", "f", '{"a', complete=False)
    assert sent(Message("assistant", (PLAN, cut)), tool_result("c1", "no"), user("")) == []


@pytest.mark.parametrize("raw", [b"", b"{", b'{"a":1}'])
def test_a_plan_that_is_no_text_is_left_out(raw: bytes) -> None:
    """It is no reason to lose the calls."""
    assert sent(Message("assistant", (OpaquePart("tool_plan", raw), CALL))) == [{"role": "assistant", "tool_calls": [SENT_CALL]}]


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"tools": [Tool("f")], "tool_choice": "f"}, "Request.tool_choice"),
        ({"tools": [Tool("f", kind="custom")]}, r"Request.tools\[0\]"),
        ({"reasoning": Reasoning(effort="low", summary="auto")}, "Request.reasoning"),
        ({"response_format": JsonSchema({"a": float("nan")})}, "Request.response_format"),
        ({"parallel_tool_calls": True}, "parallel_tool_calls"),
        ({"n": 2}, "n"),
        ({"top_logprobs": 2}, "top_logprobs"),
        ({"logit_bias": {"1": 1.0}}, "logit_bias"),
        ({"service_tier": "x"}, "service_tier"),
        ({"verbosity": "low"}, "verbosity"),
        ({"user": "u"}, "user"),
        ({"store": False}, "store"),
        ({"metadata": {"a": "b"}}, "metadata"),
        ({"cache_key": "k"}, "cache_key"),
    ],
)
def test_a_field_without_a_place_is_refused(fields: Json, named: str) -> None:
    """By its name, before a byte is sent."""
    with pytest.raises(ConfigurationError, match=named):
        body(**fields)


@pytest.mark.parametrize(
    "turn",
    [
        user(FilePart(data="aGk=", media_type="application/pdf")),
        user(ImagePart(data="aGk=")),
        Message("assistant", (ToolCallPart("c1", " ", "{}"),)),
        tool_result("c1", [ImagePart(data="aGk=", media_type="image/png")]),
        Message("assistant", (ImagePart(url="https://a.example"),)),
        Message("judge", "x"),  # type: ignore[arg-type]  # what is not typed must be refused too
    ],
    ids=["a file", "an image of no type", "a call without a name", "an image as a result", "an image of the model's", "a role"],
)
def test_a_part_without_a_place_is_refused(turn: Message) -> None:
    """With the number of the message that it stands in."""
    with pytest.raises(ConfigurationError, match=r"messages\[1\]"):
        sent(turn)
