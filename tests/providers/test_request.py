"""The body of a call: every field, what is sent as it is, what is checked, what is merged."""

from __future__ import annotations

import msgspec
import pytest

from chat_calls import HI, body, target
from headwater_codecs.neutral import ConfigurationError, JsonSchema, Message, Request, Timeouts, Tool, user
from headwater_providers.body import merged
from headwater_providers.openai_chat.dialect import ChatDialect
from headwater_providers.openai_chat.request import build_body, build_fields
from headwater_providers.openai_chat.support import SUPPORTS

BASE: dict[str, object] = {"model": "m", "messages": [HI], "stream": True, "stream_options": {"include_usage": True}}
WEATHER = Tool("weather", "Tells it.", {"type": "object", "properties": {"city": {"type": "string"}}})
WEATHER_WIRE = {
    "type": "function",
    "function": {"name": "weather", "description": "Tells it.", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
}


@pytest.mark.rows("OR-CC-01")
def test_the_least_that_is_sent() -> None:
    """Model, messages, and the stream with its usage (OR-CC-01), byte for byte."""
    raw = build_body(Request(model="m", messages=[user("hi")]), target(), ChatDialect())
    assert raw == b'{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true,"stream_options":{"include_usage":true}}'


@pytest.mark.rows("OR-CC-01", "OR-OPT-02", "AMB-46")
@pytest.mark.parametrize(
    ("field", "value", "wire"),
    [
        ("max_tokens", 0, {"max_tokens": 0}),
        ("temperature", 0, {"temperature": 0}),
        ("temperature", 0.5, {"temperature": 0.5}),
        ("top_p", 0.9, {"top_p": 0.9}),
        ("n", 2, {"n": 2}),
        ("stop", "END", {"stop": "END"}),
        ("stop", ("a", "b"), {"stop": ["a", "b"]}),
        ("stop", (), {}),
        ("seed", 0, {"seed": 0}),
        ("presence_penalty", 0.0, {"presence_penalty": 0.0}),
        ("frequency_penalty", -1, {"frequency_penalty": -1}),
        ("logprobs", True, {"logprobs": True}),
        ("logprobs", False, {"logprobs": False}),
        ("top_logprobs", 5, {"top_logprobs": 5}),
        ("logit_bias", {"50256": -100}, {"logit_bias": {"50256": -100}}),
        ("service_tier", "flex", {"service_tier": "flex"}),
        ("verbosity", "low", {"verbosity": "low"}),
        ("user", "u-1", {"user": "u-1"}),
        ("store", False, {}),
        ("metadata", {"run": "7"}, {"metadata": {"run": "7"}}),
        ("cache_key", "k", {"prompt_cache_key": "k"}),
        ("parallel_tool_calls", False, {"parallel_tool_calls": False}),
        ("response_format", "text", {"response_format": {"type": "text"}}),
        ("response_format", "json", {"response_format": {"type": "json_object"}}),
        (
            "response_format",
            JsonSchema({"type": "object"}, "answer", "An answer."),
            {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "answer", "schema": {"type": "object"}, "description": "An answer.", "strict": True},
                }
            },
        ),
        ("reasoning", "low", {"reasoning_effort": "low"}),
        ("tools", (WEATHER,), {"tools": [WEATHER_WIRE]}),
        ("extra_body", {"min_p": 0.1}, {"min_p": 0.1}),
        ("timeouts", Timeouts(idle=1), {}),
    ],
)
def test_single_fields(field: str, value: object, wire: dict[str, object]) -> None:
    """Every field as it stands on the wire; zero and False are sent (AMB-46)."""
    assert body([user("hi")], **{field: value}) == {**BASE, **wire}


def test_every_field_of_request_is_in_the_support_table() -> None:
    """Nothing of a request is forgotten, and every entry but the sent ones has a reason."""
    assert set(SUPPORTS) == set(Request.__struct_fields__)
    assert [name for name, support in SUPPORTS.items() if support.how != "supported" and not support.reason] == []


_SAMPLES: dict[str, object] = {
    "model": "m",
    "messages": [user("other")],
    "tools": (WEATHER,),
    "tool_choice": "weather",
    "parallel_tool_calls": False,
    "max_tokens": 1,
    "temperature": 1.0,
    "top_p": 1.0,
    "top_k": 40,
    "n": 2,
    "stop": "x",
    "seed": 1,
    "presence_penalty": 1.0,
    "frequency_penalty": 1.0,
    "logprobs": True,
    "top_logprobs": 1,
    "logit_bias": {"1": 1.0},
    "response_format": "json",
    "reasoning": "high",
    "service_tier": "auto",
    "verbosity": "low",
    "user": "u",
    "store": True,
    "metadata": {"a": "b"},
    "cache_key": "c",
    "extra_body": {"x": 1},
    "extra_headers": {"x": "1"},
    "timeouts": Timeouts(idle=1),
}


@pytest.mark.parametrize("name", sorted(Request.__struct_fields__))
def test_the_support_table_says_what_happens(name: str) -> None:
    """Supported fields change the request, rejected ones are an error that names them, ignored ones change nothing."""
    from headwater_providers.openai_chat.adapter import OpenAIChatAdapter

    to = target(supports_store=True)
    adapter = OpenAIChatAdapter()
    fields: dict[str, object] = {"model": "m", "messages": [user("hi")], **({"tools": (WEATHER,)} if name == "tool_choice" else {})}
    plain = adapter.build(Request(**fields), to, None)  # type: ignore[arg-type]
    request = Request(**{**fields, name: _SAMPLES[name]})  # type: ignore[arg-type]
    how = adapter.supports[name].how
    if how == "rejected":
        with pytest.raises(ConfigurationError, match=f"`{name}`"):
            adapter.build(request, to, None)
        return
    built = adapter.build(request, to, None)
    changed = (built.body, built.headers) != (plain.body, plain.headers)
    assert changed == (how == "supported" and name != "model")  # the model's name comes from the target


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"temperature": float("nan")}, "Request.temperature is nan: give a finite number"),
        ({"top_p": "1"}, "Request.top_p is '1': give a finite number"),
        ({"max_tokens": 1.5}, "Request.max_tokens is 1.5: give a whole number"),
        ({"seed": True}, "Request.seed is True: give a whole number"),
        ({"logprobs": 1}, "Request.logprobs is 1: give True or False"),
        ({"user": 7}, "Request.user is 7: give a string"),
        ({"n": 0}, "Request.n is 0: at least one answer is asked for"),
        ({"stop": ("a", 1)}, "Request.stop holds something that is not a string"),
        ({"logit_bias": {"1": float("inf")}}, "Request.logit_bias['1'] is inf"),
        ({"extra_body": {"a": [{"b": float("nan")}]}}, "extra_body.a[0].b is nan: JSON has no such number"),
        ({"extra_body": {"a": object()}}, "the request holds something that JSON cannot say"),
        ({"top_k": 5}, "provider custom does not take the field `top_k`"),
        ({"store": True}, "provider custom does not take the field `store`"),
        ({"response_format": "xml"}, "Request.response_format is 'xml': give 'text', 'json' or a JsonSchema"),
        ({"tool_choice": "auto"}, "Request.tool_choice is 'auto', but there are no tools to choose from"),
        (
            {"tools": (WEATHER,), "tool_choice": "wether"},
            "Request.tool_choice names the unknown tool 'wether': give auto, none, required or one of weather",
        ),
        ({"tools": (WEATHER, Tool("weather"))}, "two tools are called 'weather'"),
        ({"tools": (Tool(" "),)}, "Request.tools[0] has no name"),
        ({"tools": (Tool("t", parameters=[]),)}, "Request.tools[0] (t): parameters is a JSON schema, an object"),
        ({"tools": (Tool("t", kind="custom"),)}, "Request.tools[0] (t): provider custom takes no custom tools"),
        ({"reasoning": "huge"}, "Request.reasoning: the effort 'huge' is none of off, minimal"),
    ],
)
def test_wrong_values_are_named(fields: dict[str, object], said: str) -> None:
    """A value that cannot be sent is an error that names its field, before a byte is sent."""
    with pytest.raises(ConfigurationError) as caught:
        body([user("hi")], **fields)
    assert said in str(caught.value)


def test_what_a_dialect_refuses() -> None:
    """Fields that the vendor does not take are errors; one answer is not refused, and not sent."""
    to = target(unsupported=("n", "logprobs", "tools"), supports_json_schema=False)
    assert body([user("hi")], to, n=1) == BASE
    for fields in ({"n": 2}, {"logprobs": False}, {"tools": (WEATHER,)}):
        with pytest.raises(ConfigurationError, match=f"`{next(iter(fields))}`"):
            body([user("hi")], to, **fields)
    with pytest.raises(ConfigurationError, match="takes 'json' but no JsonSchema"):
        body([user("hi")], to, response_format=JsonSchema({}))


@pytest.mark.rows("OR-CC-01")
@pytest.mark.rows("OR-OPT-14")
def test_tool_choice() -> None:
    """Words go as they are, names as objects of their kind (OR-OPT-12)."""
    to = target(supports_custom_tools=True)
    tools = (WEATHER, Tool("shell", kind="custom", parameters={"type": "text"}))
    sent = [body([user("hi")], to, tools=tools, tool_choice=choice)["tool_choice"] for choice in ("auto", "none", "required", "weather", "shell")]
    assert sent == [
        "auto",
        "none",
        "required",
        {"type": "function", "function": {"name": "weather"}},
        {"type": "custom", "custom": {"name": "shell"}},
    ]


@pytest.mark.rows("OR-CC-07", "OR-CMP-05", "OR-CMP-09", "ISS-44")
def test_tools() -> None:
    """`strict` is forwarded only when given and known; a description that is empty is left out; a schema is always there (OR-CC-07)."""
    tools = (Tool("a", "", strict=True), Tool("b", strict=False), Tool("c", kind="custom", parameters={"type": "text"}))
    empty = {"type": "object", "properties": {}}
    assert body([user("hi")], target(supports_custom_tools=True, tool_stream=True), tools=tools)["tools"] == [
        {"type": "function", "function": {"name": "a", "parameters": empty, "strict": True}},
        {"type": "function", "function": {"name": "b", "parameters": empty, "strict": False}},
        {"type": "custom", "custom": {"name": "c", "format": {"type": "text"}}},
    ]
    without = body([user("hi")], target(supports_strict=False), tools=tools[:1])
    assert without == {**BASE, "tools": [{"type": "function", "function": {"name": "a", "parameters": empty}}]}
    assert body([user("hi")], target(tool_stream=True), tools=tools[:1])["tool_stream"] is True


@pytest.mark.rows("OR-CMP-04", "PI-CMP-11", "ISS-22")
def test_flags_of_the_body() -> None:
    """Where the limit goes, whether usage is asked for, other names, and what the vendor always wants."""
    to = target(
        max_tokens_field="max_completion_tokens",
        usage_in_stream=False,
        rename={"seed": "random_seed"},
        extra_body={"a": 1, "seed": 2},
        supports_top_k=True,
    )
    assert body([user("hi")], to, max_tokens=5, seed=7, top_k=3) == {
        "a": 1,
        "seed": 2,
        "model": "m",
        "messages": [HI],
        "stream": True,
        "max_completion_tokens": 5,
        "random_seed": 7,
        "top_k": 3,
    }


@pytest.mark.rows("OR-THK-10")
def test_extra_body_is_merged_deeply_over_the_body() -> None:
    """Objects are merged key by key, everything else is replaced, nothing is mutated."""
    extra = {"stream_options": {"x": 1}, "thinking": {"type": "enabled"}}
    to = target(thinking_format="zai", supports_reasoning_effort=False)
    sent = body([user("hi")], to, reasoning="high", extra_body=extra)
    assert sent == {
        **BASE,
        "stream_options": {"include_usage": True, "x": 1},
        "thinking": {"type": "enabled", "clear_thinking": False},
    }
    assert extra == {"stream_options": {"x": 1}, "thinking": {"type": "enabled"}}
    assert merged({"a": {"b": 1, "c": [1]}}, {"a": {"c": [2]}, "d": None}) == {"a": {"b": 1, "c": [2]}, "d": None}


@pytest.mark.rows("PI-TM-20")
def test_lone_surrogates_are_replaced_and_pairs_joined() -> None:
    """Text that UTF-8 cannot say is mended on its way out (PI-TM-20)."""
    sent = body([user("a\ud800b \ud83d\ude00")], metadata={"k": "\udc00"})
    assert sent["messages"] == [{"role": "user", "content": "a\ufffdb \U0001f600"}]
    assert sent["metadata"] == {"k": "\ufffd"}


def test_a_request_is_never_changed() -> None:
    """Building twice gives the same bytes."""
    request = Request(model="m", messages=[user("hi")], tools=(WEATHER,), extra_body={"tools": [1]})
    before = msgspec.json.encode(build_fields(request, target(), ChatDialect()))
    assert msgspec.json.encode(build_fields(request, target(), ChatDialect())) == before


@pytest.mark.rows("OR-CC-02")
def test_nothing_to_send_is_an_error() -> None:
    """Empty turns are left out (OR-CC-02); with none left there is no call."""
    for messages in ([], [user("")], [Message("user", ())]):
        with pytest.raises(ConfigurationError, match="nothing to send"):
            body(messages)
