"""The body of an openai-text request."""

from __future__ import annotations

import msgspec
import pytest

from headwater_codecs.neutral import ConfigurationError, ImagePart, Message, Model, Request, TextPart, Tool, assistant, system, user
from headwater_providers.adapter import Target
from headwater_providers.builtin import new_registries
from headwater_providers.openai_text.adapter import OpenAITextAdapter

TARGET = Target(model="davinci-x", provider="openai", protocol="openai-text", base_url="https://api.example/v1")
LEAST = {"model": "davinci-x", "prompt": "Once", "stream": True, "stream_options": {"include_usage": True}}
Json = dict[str, object]


def body(*messages: Message, **fields: object) -> Json:
    """The body of a request."""
    request = Request(model="davinci-x", messages=list(messages) or [user("Once")], **fields)  # type: ignore[arg-type]
    value: Json = msgspec.json.decode(OpenAITextAdapter().build(request, TARGET, None).body)
    return value


def test_the_least() -> None:
    """One prompt, and the counts at the end are asked for."""
    built = OpenAITextAdapter().build(Request(model="davinci-x", messages=[user("Once")]), TARGET, None)
    assert (built.method, built.url) == ("POST", "https://api.example/v1/completions")
    assert msgspec.json.decode(built.body) == LEAST


@pytest.mark.parametrize("vendor", ["openai", "deepseek", "vllm", "ollama"])
def test_the_vendors_that_have_it(vendor: str) -> None:
    """At the address of their chat."""
    target = new_registries(plugins=False).resolve(Model(f"{vendor}/m", protocol="openai-text", api_key="k"))
    assert OpenAITextAdapter().build(Request(model="m", messages=[user("Once")]), target, None).url.endswith("/completions")


def test_fields() -> None:
    """Zeros are sent."""
    fields = {"max_tokens": 9, "temperature": 0.0, "top_p": 0.5, "n": 2, "seed": 0, "presence_penalty": 0.1, "frequency_penalty": 0.2, "user": "u"}
    assert body(**fields, stop="END", logit_bias={"5": -1.0}) == {**LEAST, **fields, "stop": "END", "logit_bias": {"5": -1.0}}
    assert body(stop=["a", "b"])["stop"] == ["a", "b"]


@pytest.mark.parametrize(
    ("fields", "sent"), [({"logprobs": True}, 0), ({"logprobs": True, "top_logprobs": 3}, 3), ({"top_logprobs": 3}, 3), ({"logprobs": False}, None)]
)
def test_logprobs_are_a_number(fields: Json, sent: int | None) -> None:
    """Of alternatives to each token."""
    assert body(**fields).get("logprobs") == sent


def test_extra_body_is_merged_deeply() -> None:
    """What is of completions alone goes that way, and what a server refuses can be taken out."""
    built = body(extra_body={"suffix": "end", "stream_options": {"include_usage": False}})
    assert (built["suffix"], built["stream_options"]) == ("end", {"include_usage": False})


@pytest.mark.parametrize(
    "messages",
    [
        [system("s"), user("Once")],
        [user("a"), assistant("b"), user("c")],
        [assistant("a")],
        [user("")],
        [user(TextPart("a"), ImagePart(url="https://a.example"))],
    ],
    ids=["a system message", "a conversation", "another's message", "nothing", "an image"],
)
def test_what_is_no_prompt_is_refused(messages: list[Message]) -> None:
    """Joining turns to one text would be a guess at the model's template."""
    with pytest.raises(ConfigurationError, match="essages"):
        body(*messages)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"tools": [Tool("f")]}, "tools"),
        ({"tool_choice": "auto"}, "tool_choice"),
        ({"parallel_tool_calls": True}, "parallel_tool_calls"),
        ({"top_k": 4}, "top_k"),
        ({"response_format": "json"}, "response_format"),
        ({"reasoning": "low"}, "reasoning"),
        ({"service_tier": "x"}, "service_tier"),
        ({"verbosity": "low"}, "verbosity"),
        ({"store": False}, "store"),
        ({"metadata": {"a": "b"}}, "metadata"),
        ({"cache_key": "k"}, "cache_key"),
    ],
)
def test_a_field_without_a_place_is_refused(fields: Json, named: str) -> None:
    """By its name, before a byte is sent."""
    with pytest.raises(ConfigurationError, match=named):
        body(**fields)
