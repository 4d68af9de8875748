"""The body of an ollama-chat request."""

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
    TextPart,
    Tool,
    ToolCallPart,
    assistant,
    system,
    tool_result,
    user,
)
from headwater_providers.adapter import Target
from headwater_providers.builtin import new_registries
from headwater_providers.ollama_chat.adapter import OllamaChatAdapter
from headwater_providers.ollama_chat.dialect import OllamaDialect

TARGET = Target(model="llama-x", provider="ollama", protocol="ollama-chat", base_url="http://127.0.0.1:11434")
HI = {"role": "user", "content": "hi"}
SCHEMA: dict[str, object] = {"type": "object", "properties": {"a": {"type": "integer"}}}
CALL = ToolCallPart("c1", "f", '{"a": 1}')
SENT_CALL = {"id": "c1", "function": {"name": "f", "arguments": {"a": 1}}}
Json = dict[str, object]


def body(*messages: Message, dialect: OllamaDialect | None = None, **fields: object) -> Json:
    """The body of a request."""
    request = Request(model="llama-x", messages=list(messages) or [user("hi")], **fields)  # type: ignore[arg-type]
    target = TARGET if dialect is None else msgspec.structs.replace(TARGET, dialect=dialect)
    value: Json = msgspec.json.decode(OllamaChatAdapter().build(request, target, None).body)
    return value


def sent(*messages: Message) -> list[object]:
    """The messages of a request, behind the first one."""
    value = body(user("hi"), *messages)["messages"]
    assert isinstance(value, list)
    assert value[0] == HI
    return value[1:]


def test_the_least() -> None:
    """Nothing is sent that was not asked for."""
    built = OllamaChatAdapter().build(Request(model="llama-x", messages=[user("hi")]), TARGET, None)
    assert (built.method, built.url) == ("POST", "http://127.0.0.1:11434/api/chat")
    assert msgspec.json.decode(built.body) == {"model": "llama-x", "messages": [HI], "stream": True}


def test_the_address_of_the_vendor() -> None:
    """Beside its address for chat completions, without the `/v1`."""
    target = new_registries(plugins=False).resolve(Model("ollama/llama-x", protocol="ollama-chat"))
    assert OllamaChatAdapter().build(Request(model="m", messages=[user("hi")]), target, None).url == "http://127.0.0.1:11434/api/chat"


def test_what_steers_the_sampling_is_in_options() -> None:
    """Zeros are sent."""
    fields = {"max_tokens": 9, "temperature": 0.0, "top_p": 0.5, "top_k": 4, "seed": 0, "presence_penalty": 0.1, "frequency_penalty": 0.2}
    wanted = {"num_predict": 9, "temperature": 0.0, "top_p": 0.5, "top_k": 4, "seed": 0, "presence_penalty": 0.1, "frequency_penalty": 0.2}
    assert body(**fields, stop="END")["options"] == {**wanted, "stop": ["END"]}
    assert body(stop=["a", "b"])["options"] == {"stop": ["a", "b"]}


def test_extra_body_is_merged_deeply() -> None:
    """Options of Ollama's own stand beside ours."""
    built = body(temperature=0.5, extra_body={"keep_alive": "5m", "options": {"num_ctx": 8192}})
    assert (built["keep_alive"], built["options"]) == ("5m", {"temperature": 0.5, "num_ctx": 8192})


@pytest.mark.parametrize(("wanted", "sent_as"), [("json", "json"), (JsonSchema(SCHEMA), SCHEMA), ("text", None), (None, None)])
def test_format(wanted: object, sent_as: object) -> None:
    """Any JSON, JSON of a schema, or nothing said."""
    assert body(response_format=wanted).get("format") == sent_as


@pytest.mark.parametrize(
    ("asked", "plain", "levels"),
    [
        ("off", False, False),
        ("minimal", True, "low"),
        ("medium", True, "medium"),
        ("max", True, "high"),
        (Reasoning(effort="high"), True, "high"),
        (Reasoning(), None, None),
        (None, None, None),
    ],
)
def test_think(asked: object, plain: object, levels: object) -> None:
    """On or off; a level where the dialect says that the model takes one."""
    assert body(reasoning=asked).get("think") == plain
    assert body(reasoning=asked, dialect=OllamaDialect(think_levels=True)).get("think") == levels


def test_tools() -> None:
    """With a schema in any case; `none` leaves them out."""
    tools = [Tool("f", "does f", SCHEMA), Tool("g")]
    wanted = [
        {"type": "function", "function": {"name": "f", "description": "does f", "parameters": SCHEMA}},
        {"type": "function", "function": {"name": "g", "parameters": {"type": "object", "properties": {}}}},
    ]
    assert body(tools=tools)["tools"] == wanted
    assert body(tools=tools, tool_choice="auto")["tools"] == wanted
    assert "tools" not in body(tools=tools, tool_choice="none")


def test_a_conversation() -> None:
    """System, images as bare base64, thinking, a call and its result with the tool's name."""
    turns = [
        system("s"),
        user("what", ImagePart(data="aGk=", media_type="image/png"), "is it"),
        Message("assistant", (ReasoningPart("p"), TextPart("I "), TextPart("look"), CALL)),
        tool_result("c1", "42"),
        tool_result("c2", "43", name="g"),
        assistant("done"),
    ]
    assert sent(*turns) == [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "what\nis it", "images": ["aGk="]},
        {"role": "assistant", "content": "I look", "thinking": "p", "tool_calls": [SENT_CALL]},
        {"role": "tool", "content": "42", "tool_call_id": "c1", "tool_name": "f"},
        {"role": "tool", "content": "43", "tool_call_id": "c2", "tool_name": "g"},
        {"role": "assistant", "content": "done"},
    ]


def test_what_another_model_thought_stays_at_home() -> None:
    """Its text and its calls go on."""
    turn = Message("assistant", (ReasoningPart("p"), TextPart("a"), CALL), origin=Origin("openai", "openai-chat", "gpt"))
    assert sent(turn) == [{"role": "assistant", "content": "a", "tool_calls": [SENT_CALL]}]


def test_a_cut_call_and_its_result_are_left_out() -> None:
    """So is a turn that has nothing left, and an item that this wire has no place for."""
    cut = ToolCallPart("c1", "f", '{"a', complete=False)
    assert sent(Message("assistant", (cut, OpaquePart("image", b'"aGk="'))), tool_result("c1", "no"), user("")) == []


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"tool_choice": "required"}, "Request.tool_choice"),
        ({"tools": [Tool("f")], "tool_choice": "f"}, "Request.tool_choice"),
        ({"tools": [Tool("f", kind="custom")]}, r"Request.tools\[0\]"),
        ({"reasoning": Reasoning(budget_tokens=9)}, "Request.reasoning"),
        ({"response_format": JsonSchema({"a": float("nan")})}, "Request.response_format"),
        ({"parallel_tool_calls": True}, "parallel_tool_calls"),
        ({"n": 2}, "n"),
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
        user(ImagePart(url="https://a.example/x.png")),
        user(FilePart(data="aGk=", media_type="application/pdf")),
        Message("assistant", (ToolCallPart("c1", "f", "[1]"),)),
        Message("assistant", (ToolCallPart("", "f", "{}"),)),
        tool_result("c1", [ImagePart(data="aGk=", media_type="image/png")]),
        Message("user", (CALL,)),
        Message("judge", "x"),  # type: ignore[arg-type]  # what is not typed must be refused too
    ],
    ids=[
        "an image's address",
        "a file",
        "arguments that are no object",
        "a call without an id",
        "an image as a result",
        "a call of the user's",
        "a role",
    ],
)
def test_a_part_without_a_place_is_refused(turn: Message) -> None:
    """With the number of the message that it stands in."""
    with pytest.raises(ConfigurationError, match=r"messages\[1\]"):
        sent(turn)


def test_nothing_to_send() -> None:
    """A request of empty messages is a mistake."""
    with pytest.raises(ConfigurationError, match="nothing to send"):
        body(user(""))
