"""Requests as anthropic-messages writes them: whole bodies compared, and what is refused before a byte is sent."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import Raw

from headwater_codecs.neutral import ConfigurationError, Request, Secret
from headwater_codecs.neutral.request import (
    FilePart,
    ImagePart,
    JsonSchema,
    Message,
    OpaquePart,
    Origin,
    Reasoning,
    ReasoningPart,
    TextPart,
    Tool,
    ToolCallPart,
    ToolResultPart,
    assistant,
    system,
    tool_result,
    user,
)
from headwater_providers.adapter import HttpRequest, Target
from headwater_providers.anthropic_messages.adapter import AnthropicMessagesAdapter

ADAPTER = AnthropicMessagesAdapter()
LOOK = Tool("look", "Looks.", {"properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {}}, "additionalProperties": False}, strict=True)
OWN = Origin("anthropic", "anthropic-messages", "claude-x")
FOREIGN = Origin("openai", "openai-chat", "gpt")


def built(
    messages: object = "hi", *, dialect: dict[str, object] | None = None, base_url: str = "https://api.anthropic.com", **fields: object
) -> HttpRequest:
    """The HTTP request for these messages."""
    target = Target(model="claude-x", provider="anthropic", protocol="anthropic-messages", base_url=base_url, dialect=ADAPTER.dialect(dialect or {}))
    given = [user(messages)] if isinstance(messages, str) else messages
    return ADAPTER.build(Request(model="claude-x", messages=given, **fields), target, Secret("sk-secret"))  # type: ignore[arg-type]


def body(messages: object = "hi", **fields: object) -> dict[str, object]:
    """Its body without what every request has."""
    value = msgspec.json.decode(built(messages, **fields).body)
    assert value.pop("model") == "claude-x"
    assert value.pop("stream") is True
    assert isinstance(value, dict)
    return value


def turns(*messages: Message, **fields: object) -> object:
    """The messages on the wire."""
    return body(list(messages), **fields)["messages"]


HI = [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]


@pytest.mark.rows("PI-AN-13", "OR-TR-03")
def test_http() -> None:
    """Address and headers; a base URL with the version is taken too, a bearer key is a flag, and extra headers have the last word."""
    sent = built(extra_headers={"anthropic-beta": "x-1", "Anthropic-Version": "2024-01-01"})
    assert (sent.method, sent.url) == ("POST", "https://api.anthropic.com/v1/messages")
    assert dict(sent.headers) == {
        "content-type": "application/json",
        "accept": "text/event-stream",
        "anthropic-version": "2024-01-01",
        "x-api-key": "sk-secret",
        "anthropic-beta": "x-1",
    }
    assert built(base_url="http://localhost:8080/v1/").url == "http://localhost:8080/v1/messages"
    assert built(base_url="https://api.z.ai/api/anthropic").url == "https://api.z.ai/api/anthropic/v1/messages"
    bearer = dict(built(dialect={"auth": "bearer", "version": None}).headers)
    assert bearer["authorization"] == "Bearer sk-secret"
    assert not {"x-api-key", "anthropic-version"} & set(bearer)
    assert "sk-secret" not in repr(sent)


@pytest.mark.rows("OR-AN-01", "OR-AN-02", "AMB-34")
def test_every_field() -> None:
    """All fields that the protocol carries, under its names."""
    assert body(
        max_tokens=9,
        temperature=0.0,
        top_p=0.5,
        top_k=3,
        stop=["a", "b"],
        service_tier="standard_only",
        user="u",
        tools=[LOOK],
        tool_choice="required",
        parallel_tool_calls=False,
        response_format=JsonSchema({"type": "object"}),
        cache_key="ignored",
        extra_body={"metadata": {"more": 1}},
    ) == {
        "max_tokens": 9,
        "messages": HI,
        "temperature": 0.0,
        "top_p": 0.5,
        "top_k": 3,
        "stop_sequences": ["a", "b"],
        "service_tier": "standard_only",
        "metadata": {"user_id": "u", "more": 1},
        "tools": [
            {
                "name": "look",
                "description": "Looks.",
                "input_schema": {"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {}}, "additionalProperties": False},
                "strict": True,
            }
        ],
        "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
        "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}},
    }
    assert body() == {"max_tokens": 8192, "messages": HI}
    assert body(dialect={"max_tokens": 5}, n=1, stop="x", metadata={"user_id": "m"}) == {
        "max_tokens": 5,
        "messages": HI,
        "stop_sequences": ["x"],
        "metadata": {"user_id": "m"},
    }


@pytest.mark.rows("OR-AN-12")
@pytest.mark.parametrize(
    ("fields", "choice"),
    [
        ({"tool_choice": "auto"}, {"type": "auto"}),
        ({"tool_choice": "none", "parallel_tool_calls": False}, {"type": "none"}),
        ({"tool_choice": "look", "parallel_tool_calls": True}, {"type": "tool", "name": "look", "disable_parallel_tool_use": False}),
        ({"parallel_tool_calls": False}, {"type": "auto", "disable_parallel_tool_use": True}),
        ({}, None),
    ],
)
@pytest.mark.rows("OR-OPT-11")
def test_tool_choice(fields: dict[str, object], choice: object) -> None:
    """Words become objects, and say whether several calls may come at once."""
    assert body(tools=[LOOK], **fields).get("tool_choice") == choice


@pytest.mark.rows("OR-AN-06", "OR-AN-07", "OR-AN-08", "OR-AN-09")
@pytest.mark.parametrize(
    ("reasoning", "flags", "fields", "wanted"),
    [
        ("off", {}, {}, {"thinking": {"type": "disabled"}, "max_tokens": 8192}),
        ("low", {}, {}, {"thinking": {"type": "enabled", "budget_tokens": 2048}, "max_tokens": 8192}),
        ("max", {}, {}, {"thinking": {"type": "enabled", "budget_tokens": 16384}, "max_tokens": 16384 + 8192}),
        ("high", {}, {"max_tokens": 5000}, {"thinking": {"type": "enabled", "budget_tokens": 3976}, "max_tokens": 5000}),
        (Reasoning(budget_tokens=3000), {}, {"max_tokens": 5000}, {"thinking": {"type": "enabled", "budget_tokens": 3000}, "max_tokens": 5000}),
        ("minimal", {"adaptive_thinking": True}, {}, {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}, "max_tokens": 8192}),
        (
            Reasoning("max", summary="omitted"),
            {"adaptive_thinking": True, "thinking_display": "summarized"},
            {},
            {"thinking": {"type": "adaptive", "display": "omitted"}, "output_config": {"effort": "max"}, "max_tokens": 8192},
        ),
        (
            "medium",
            {"effort_beside_budget": True, "max_tokens": 20000},
            {},
            {"thinking": {"type": "enabled", "budget_tokens": 8192}, "output_config": {"effort": "medium"}, "max_tokens": 20000},
        ),
        (Reasoning(), {}, {}, {"max_tokens": 8192}),
    ],
)
@pytest.mark.rows("OR-OPT-11")
def test_thinking(reasoning: object, flags: dict[str, object], fields: dict[str, object], wanted: dict[str, object]) -> None:
    """Efforts and budgets, as the model takes them."""
    assert body(reasoning=reasoning, dialect=flags, **fields) == {**wanted, "messages": HI}


@pytest.mark.rows("OR-AN-10")
def test_sampling_beside_thinking() -> None:
    """What the API refuses beside thinking is not sent."""
    assert body(reasoning="low", temperature=1.0, top_k=2, top_p=0.99) == {
        "max_tokens": 8192,
        "messages": HI,
        "thinking": {"type": "enabled", "budget_tokens": 2048},
        "top_p": 0.99,
    }
    assert body(reasoning="off", temperature=1.0)["temperature"] == 1.0


def test_schema_beside_effort() -> None:
    """Both stand in output_config."""
    sent = body(reasoning="high", response_format=JsonSchema({"type": "object"}), dialect={"adaptive_thinking": True})
    assert sent["output_config"] == {"effort": "high", "format": {"type": "json_schema", "schema": {"type": "object"}}}


@pytest.mark.rows("OR-AN-11", "OR-CMP-20", "PI-OPT-20")
def test_cache_breakpoints() -> None:
    """The last system block, the last tool and the last block of all are marked, where the dialect says so; a part's own mark stays."""
    mark = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    sent = body([system("s"), user("a", "b")], tools=[Tool("f")], dialect={"cache_breakpoints": True, "cache_ttl": "1h"})
    assert sent["system"] == [{"type": "text", "text": "s", **mark}]
    assert sent["tools"] == [{"name": "f", "input_schema": {"type": "object", "properties": {}}, **mark}]
    assert sent["messages"] == [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b", **mark}]}]
    own = TextPart("a", meta=Raw(b'{"cache_control":{"type":"ephemeral"}}'))
    assert turns(user(own, "b")) == [
        {"role": "user", "content": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": "b"}]}
    ]


@pytest.mark.rows("OR-AN-02", "OR-AN-03")
def test_system_messages() -> None:
    """Leading ones go into `system`, later ones are marked user text; blank text is left out."""
    sent = body([system("a"), Message("developer", "b"), system(" "), user("hi"), system("c"), user("")])
    assert sent["system"] == [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert sent["messages"] == [{"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "text", "text": "<system>\nc\n</system>"}]}]


@pytest.mark.rows("OR-AN-03", "OR-AN-05")
def test_turns_are_merged_and_results_come_first() -> None:
    """Consecutive turns of a role become one; results stand in front, whatever came between."""
    calls = assistant("on it", ToolCallPart("a", "f"), ToolCallPart("b", "f", '{"n": 1.50}'))
    image = tool_result("b", [TextPart("seen"), ImagePart(data="AA==", media_type="image/png")], is_error=True)
    sent = turns(user("1"), user("2"), calls, system("mid"), tool_result("a", " "), image, user("3"))
    assert sent == [
        {"role": "user", "content": [{"type": "text", "text": "1"}, {"type": "text", "text": "2"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "on it"},
                {"type": "tool_use", "id": "a", "name": "f", "input": {}},
                {"type": "tool_use", "id": "b", "name": "f", "input": {"n": 1.5}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a"},
                {
                    "type": "tool_result",
                    "tool_use_id": "b",
                    "content": [
                        {"type": "text", "text": "seen"},
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}},
                    ],
                    "is_error": True,
                },
                {"type": "text", "text": "<system>\nmid\n</system>"},
                {"type": "text", "text": "3"},
            ],
        },
    ]


@pytest.mark.rows("OR-AN-04", "ISS-45")
def test_replay_is_byte_exact() -> None:
    """What the model made goes back to it as it came, in its order: signatures, redacted data, opaque blocks, arguments, citations."""
    item = b'{"type":"mcp_tool_use" , "n": 1.50, "big":123456789012345678901234567890}'
    made = Message(
        "assistant",
        (
            ReasoningPart("hm", "S+/="),
            ReasoningPart(redacted=True, data="Em=="),
            OpaquePart("mcp_tool_use", item),
            TextPart("so", meta=Raw(b'{"citations":[{"n": 1.50}]}')),
            ToolCallPart("t", "f", '{"a": 1.50}', meta=Raw(b'{"caller":{"type" : "direct"}}')),
        ),
        origin=OWN,
    )
    sent = built([user("hi"), made]).body
    assert (
        b'{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"S+/="},{"type":"redacted_thinking","data":"Em=="},'
        + item
        + b',{"type":"text","text":"so","citations":[{"n": 1.50}]},'
        + b'{"type":"tool_use","id":"t","name":"f","input":{"a": 1.50},"caller":{"type" : "direct"}}]}'
    ) in sent


@pytest.mark.rows("OR-AN-04")
def test_what_another_model_made() -> None:
    """Its reasoning, opaque items and meta stay at home; text and calls go."""
    made = Message(
        "assistant",
        (
            ReasoningPart("hm", "S"),
            ReasoningPart(redacted=True, data="E"),
            OpaquePart("x", b'{"type":"x"}'),
            TextPart("so", meta=Raw(b'{"annotations":[]}')),
            ToolCallPart("t", "f", "{}", meta=Raw(b'{"x":1}')),
        ),
        origin=FOREIGN,
    )
    content = [{"type": "text", "text": "so"}, {"type": "tool_use", "id": "t", "name": "f", "input": {}}]
    assert turns(user("hi"), made) == [*HI, {"role": "assistant", "content": content}]


@pytest.mark.rows("OR-AN-04", "OR-CMP-20", "ISS-39")
@pytest.mark.parametrize(
    ("how", "block"),
    [("drop", None), ("text", {"type": "text", "text": "hm"}), ("thinking", {"type": "thinking", "thinking": "hm", "signature": ""})],
)
def test_unsigned_thinking(how: str, block: object) -> None:
    """Reasoning without a signature, as the dialect says."""
    made = Message("assistant", (ReasoningPart("hm"), TextPart("so")), origin=OWN)
    content = [*([block] if block else []), {"type": "text", "text": "so"}]
    assert turns(user("hi"), made, dialect={"unsigned_thinking": how}) == [*HI, {"role": "assistant", "content": content}]


@pytest.mark.rows("AMB-09", "ISS-34")
def test_cut_calls_stay_out() -> None:
    """A call that was cut is left out with its result, and a turn that has nothing left too."""
    cut = assistant(ToolCallPart("t", "f", '{"a', complete=False))
    assert turns(user("hi"), cut, tool_result("t", "x"), user("on")) == [
        {"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "text", "text": "on"}]}
    ]


@pytest.mark.parametrize(
    ("arguments", "kind", "given"),
    [("", "function", {}), ("[1]", "function", {"input": [1]}), ("{bad", "function", {"input": "{bad"}), ("free", "custom", {"input": "free"})],
)
def test_arguments_that_are_no_object(arguments: str, kind: str, given: object) -> None:
    """The wire demands an object: anything else goes inside of one."""
    made = assistant(ToolCallPart("t", "f", arguments, kind))  # type: ignore[arg-type]  # one of the kinds
    assert turns(user("hi"), made) == [*HI, {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": given}]}]


@pytest.mark.rows("OR-AN-03")
@pytest.mark.parametrize(
    ("part", "block"),
    [
        (ImagePart(url="https://a.example/i.png"), {"type": "image", "source": {"type": "url", "url": "https://a.example/i.png"}}),
        (
            ImagePart(url="data:image/gif;base64,AA=="),
            {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": "AA=="}},
        ),
        (FilePart(url="https://a.example/d.pdf"), {"type": "document", "source": {"type": "url", "url": "https://a.example/d.pdf"}}),
        (
            FilePart(data="AA==", media_type="application/pdf", filename="d.pdf"),
            {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "AA=="}, "title": "d.pdf"},
        ),
        (
            FilePart(data="aGk=", media_type="text/markdown"),
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "hi"}},
        ),
        (FilePart(file_id="file_1"), {"type": "document", "source": {"type": "file", "file_id": "file_1"}}),
        (FilePart(file_id="file_1", media_type="image/png"), {"type": "image", "source": {"type": "file", "file_id": "file_1"}}),
        (FilePart(data="AA==", media_type="image/png"), {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}),
    ],
)
def test_images_and_documents(part: ImagePart | FilePart, block: object) -> None:
    """Where a picture or a document is, in the wire's words."""
    assert turns(user(part)) == [{"role": "user", "content": [block]}]


@pytest.mark.parametrize(
    ("messages", "fields", "named"),
    [
        ("hi", {"n": 2}, "`n`"),
        ("hi", {"seed": 1}, "`seed`"),
        ("hi", {"presence_penalty": 0.0}, "`presence_penalty`"),
        ("hi", {"frequency_penalty": 1.0}, "`frequency_penalty`"),
        ("hi", {"logprobs": True}, "`logprobs`"),
        ("hi", {"top_logprobs": 1}, "`top_logprobs`"),
        ("hi", {"logit_bias": {"1": 1}}, "`logit_bias`"),
        ("hi", {"verbosity": "low"}, "`verbosity`"),
        ("hi", {"store": True}, "`store`"),
        ("hi", {"metadata": {"a": "b"}}, "Request.metadata"),
        ("hi", {"max_tokens": "9"}, "Request.max_tokens"),
        ("hi", {"max_tokens": 1024, "reasoning": "low"}, "Request.max_tokens"),
        ("hi", {"reasoning": "much"}, "Request.reasoning"),
        ("hi", {"reasoning": Reasoning("low", summary="auto")}, "Request.reasoning"),
        ("hi", {"reasoning": Reasoning(budget_tokens=2000), "dialect": {"supports_budget": False}}, "Request.reasoning"),
        ("hi", {"reasoning": "low", "dialect": {"supports_thinking": False}}, "Request.reasoning"),
        ("hi", {"response_format": "json"}, "Request.response_format"),
        ("hi", {"response_format": "yaml"}, "Request.response_format"),
        ("hi", {"response_format": JsonSchema({"x": float("nan")})}, "Request.response_format"),
        ("hi", {"response_format": JsonSchema({}), "dialect": {"supports_json_schema": False}}, "Request.response_format"),
        ("hi", {"tool_choice": "look"}, "Request.tool_choice"),
        ("hi", {"tools": [LOOK], "tool_choice": "feel"}, "Request.tool_choice"),
        ("hi", {"tools": [LOOK, LOOK]}, "Request.tools"),
        ("hi", {"tools": [Tool("f", kind="custom")]}, "Request.tools[0]"),
        ("hi", {"top_k": 1, "dialect": {"unsupported": ("top_k",)}}, "`top_k`"),
        ("hi", {"extra_body": {"a": float("inf")}}, "extra_body"),
        ([system("only")], {}, "Request.messages"),
        ([Message("tool", "x")], {}, "messages[0]"),
        ([tool_result(" ", "x")], {}, "messages[0].content[0]"),
        ([user(ReasoningPart("x"))], {}, "messages[0].content[0]"),
        ([assistant(ToolResultPart("t"))], {}, "messages[0].content[0]"),
        ([assistant(ToolCallPart("", "f"))], {}, "messages[0].content[0]"),
        ([system("a"), Message("system", (ImagePart(url="x"),))], {}, "messages[1].content[0]"),
        ([user(ImagePart(data="AA=="))], {}, "messages[0].content[0]"),
        ([user(ImagePart())], {}, "messages[0].content[0]"),
        ([user(ImagePart(url="data:image/png,x"))], {}, "messages[0].content[0]"),
        ([user(FilePart(data="AA==", media_type="audio/wav"))], {}, "messages[0].content[0]"),
        ([user(FilePart(data="AA==", media_type="application/zip"))], {}, "messages[0].content[0]"),
        ([user(FilePart(data="not base64!", media_type="text/plain"))], {}, "messages[0].content[0]"),
        ([user(FilePart())], {}, "messages[0].content[0]"),
        ([user(FilePart(file_id="x"))], {"dialect": {"supports_files": False}}, "messages[0].content[0]"),
        ([assistant(OpaquePart("x", b"[1]"))], {}, "messages[0].content[0]"),
        ([user(TextPart("a", meta=Raw(b"1")))], {}, "messages[0].content[0]"),
        ([Message("robot", "x")], {}, "messages[0]"),  # type: ignore[arg-type]  # no role
    ],
)
def test_refused_by_name(messages: object, fields: dict[str, object], named: str) -> None:
    """What cannot be sent is named, and the key is not shown."""
    with pytest.raises(ConfigurationError) as caught:
        built(messages, **fields)  # type: ignore[arg-type]  # fields of a request
    assert named in str(caught.value)
    assert "sk-secret" not in str(caught.value)


def test_every_field_is_in_the_table() -> None:
    """No field of a request is forgotten."""
    assert set(ADAPTER.supports) == set(Request.__struct_fields__)


def test_lone_surrogates_are_replaced() -> None:
    """What UTF-8 cannot say is replaced, in arguments too."""
    sent = built([user("a\ud800"), assistant(ToolCallPart("t", "f", '{"a":"\ud800"}'))]).body
    assert "a\ufffd".encode() in sent
    assert b'"input":{"a":"?"}' in sent


def test_errors_are_read() -> None:
    """An answer other than 2xx, as Anthropic writes it."""
    info = ADAPTER.read_error(529, {"request-id": "req_1"}, b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}')
    assert (info.kind, info.code, info.status, info.retryable, info.request_id) == ("overloaded", "overloaded_error", 529, True, "req_1")
    body = b'{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}'
    assert ADAPTER.read_error(400, {}, body).kind == "context_overflow"
