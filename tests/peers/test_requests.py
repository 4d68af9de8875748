"""Every body that a builder makes is one that the vendor's own types allow, and a wrong body is one that they refuse.

The cases are the same for all protocols. What a protocol cannot say is refused by the builder, by name; `CANNOT` lists it, so that a builder
that refuses more than it must is noticed.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from headwater_codecs.neutral import (
    ConfigurationError,
    FilePart,
    ImagePart,
    JsonSchema,
    Message,
    Model,
    Reasoning,
    Request,
    Secret,
    TextPart,
    Tool,
    ToolCallPart,
    assistant,
    system,
    tool_result,
    user,
)
from headwater_providers import new_registries

pytest.importorskip("openai", reason="the vendors' SDKs are not installed: pip install headwater[peers]")

from peers.vendor_types import TYPED_DICTS, Json, check_converse, check_gemini, check_typed_dict

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PDF = "JVBERi0xLjQKJSVFT0YK"
WAV = "UklGRiQAAABXQVZFZm10IA=="
SCHEMA: Json = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}
WEATHER = Tool("weather", "The weather of a city.", SCHEMA)
CLOCK = Tool("clock", parameters=None)
HI = user("hi")
CALL = ToolCallPart("call_1", "weather", '{"city":"Oslo"}')

JUDGES: dict[str, Callable[[Json], None]] = {
    **{protocol: lambda body, protocol=protocol: check_typed_dict(protocol, body) for protocol in TYPED_DICTS if "," not in protocol},  # type: ignore[misc]
    "gemini": check_gemini,
    "bedrock-converse": check_converse,
}
MODELS = {
    "openai-chat": Model("openai/gpt-5"),
    "openai-responses": Model("openai/gpt-5", protocol="openai-responses"),
    "openai-text": Model("openai/gpt-3.5-turbo-instruct", protocol="openai-text"),
    "anthropic-messages": Model("anthropic/claude-sonnet-4-5"),
    "gemini": Model("google/gemini-2.5-pro"),
    "bedrock-converse": Model("bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0", base_url="https://bedrock-runtime.eu-west-1.amazonaws.com"),
}
CASES: dict[str, dict[str, Any]] = {
    "text": {"messages": [HI]},
    "system": {"messages": [system("Be brief."), HI]},
    "turns": {"messages": [HI, assistant("Hello."), user("Go on.")]},
    "image as data": {"messages": [user("What is it?", ImagePart(data=PNG, media_type="image/png"))]},
    "image as address": {"messages": [user("What is it?", ImagePart(url="https://images.example/cat.png"))]},
    "document": {"messages": [user("Sum it up.", FilePart(data=PDF, media_type="application/pdf", filename="paper.pdf"))]},
    "recording": {"messages": [user("What is said?", FilePart(data=WAV, media_type="audio/wav"))]},
    "tools": {"messages": [HI], "tools": [WEATHER, CLOCK]},
    "strict tool": {"messages": [HI], "tools": [Tool("weather", "The weather.", SCHEMA, strict=True)]},
    "custom tool": {"messages": [HI], "tools": [Tool("code", "Runs code.", kind="custom")]},
    "tool choice auto": {"messages": [HI], "tools": [WEATHER], "tool_choice": "auto"},
    "tool choice required": {"messages": [HI], "tools": [WEATHER], "tool_choice": "required"},
    "tool choice none": {"messages": [HI], "tools": [WEATHER], "tool_choice": "none"},
    "tool choice named": {"messages": [HI], "tools": [WEATHER], "tool_choice": "weather"},
    "no parallel calls": {"messages": [HI], "tools": [WEATHER], "parallel_tool_calls": False},
    "call and result": {
        "messages": [HI, Message("assistant", (TextPart("Let me see."), CALL)), tool_result("call_1", "Rain."), user("Thanks.")],
        "tools": [WEATHER],
    },
    "failed result": {"messages": [HI, Message("assistant", (CALL,)), tool_result("call_1", "no such city", is_error=True)], "tools": [WEATHER]},
    "result with image": {
        "messages": [HI, Message("assistant", (CALL,)), tool_result("call_1", [TextPart("a map"), ImagePart(data=PNG, media_type="image/png")])],
        "tools": [WEATHER],
    },
    "two results": {
        "messages": [
            HI,
            Message("assistant", (CALL, ToolCallPart("call_2", "clock"))),
            tool_result("call_1", "Rain."),
            tool_result("call_2", "Noon."),
        ],
        "tools": [WEATHER, CLOCK],
    },
    "sampling": {"messages": [HI], "max_tokens": 4096, "temperature": 0.5, "top_p": 0.9},
    "top k": {"messages": [HI], "top_k": 40},
    "one stop": {"messages": [HI], "stop": "END"},
    "stops": {"messages": [HI], "stop": ["END", "STOP"]},
    "seed": {"messages": [HI], "seed": 7},
    "penalties": {"messages": [HI], "presence_penalty": 0.5, "frequency_penalty": -0.5},
    "several answers": {"messages": [HI], "n": 2},
    "log probabilities": {"messages": [HI], "logprobs": True, "top_logprobs": 3},
    "logit bias": {"messages": [HI], "logit_bias": {"50256": -100}},
    "JSON": {"messages": [HI], "response_format": "json"},
    "JSON schema": {"messages": [HI], "response_format": JsonSchema(SCHEMA, "place")},
    "effort": {"messages": [HI], "reasoning": "medium", "max_tokens": 30_000},
    "no reasoning": {"messages": [HI], "reasoning": "off"},
    "budget": {"messages": [HI], "reasoning": Reasoning(budget_tokens=2048), "max_tokens": 8192},
    "summary": {"messages": [HI], "reasoning": Reasoning(effort="low", summary="auto"), "max_tokens": 30_000},
    "service tier": {"messages": [HI], "service_tier": "auto"},
    "verbosity": {"messages": [HI], "verbosity": "low"},
    "user": {"messages": [HI], "user": "u-1"},
    "store": {"messages": [HI], "store": False},
    "metadata": {"messages": [HI], "metadata": {"job": "nightly"}},
    "cache key": {"messages": [HI], "cache_key": "k-1"},
}
# What each protocol has no words for.
CANNOT: dict[str, set[str]] = {
    "openai-chat": {"top k", "budget", "summary"},
    "openai-responses": {"recording", "top k", "one stop", "stops", "seed", "penalties", "several answers", "logit bias", "budget"},
    "openai-text": {
        *("system", "turns", "image as data", "image as address", "document", "recording", "tools", "strict tool", "custom tool"),
        *("tool choice auto", "tool choice required", "tool choice none", "tool choice named", "no parallel calls", "call and result"),
        *("failed result", "result with image", "two results", "top k", "JSON", "JSON schema", "effort", "no reasoning", "budget", "summary"),
        *("service tier", "verbosity", "store", "metadata", "cache key"),
    },
    "anthropic-messages": {
        *("recording", "custom tool", "seed", "penalties", "several answers", "log probabilities", "logit bias", "JSON", "summary"),
        *("verbosity", "store", "metadata"),
    },
    "gemini": {"custom tool", "no parallel calls", "logit bias", "service tier", "verbosity", "user", "store", "metadata", "cache key"},
    "bedrock-converse": {
        *("image as address", "recording", "custom tool", "no parallel calls", "seed", "penalties", "several answers", "log probabilities"),
        *("logit bias", "JSON", "summary", "verbosity", "user", "store", "cache key"),
    },
}
# What the SDK's types no longer describe, though older models of the vendor take it.
UNTYPED = {"anthropic-messages": {"temperature", "top_p", "top_k"}}
PROTOCOLS = [protocol for protocol in MODELS if protocol in CANNOT]


def build(protocol: str, fields: Json) -> Json:
    """The body that the protocol's builder makes."""
    registries = new_registries(plugins=False)
    registries.env = {}
    model = MODELS[protocol]
    target = registries.resolve(Model(model.id, model.provider, model.protocol, model.base_url, "sk-test-0123456789"))
    assert target.protocol == protocol
    assert isinstance(target.api_key, Secret)
    built = registries.adapter(protocol).build(Request(model=model, **fields), target, target.api_key)
    body: Json = msgspec.json.decode(built.body)
    return body


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_vendor_would_take_it(protocol: str, case: str) -> None:
    """The body validates, or the builder has refused it where the table says so."""
    if case in CANNOT[protocol]:
        with pytest.raises(ConfigurationError):
            build(protocol, CASES[case])
        return
    body = build(protocol, CASES[case])
    JUDGES[protocol]({name: value for name, value in body.items() if name not in UNTYPED.get(protocol, ())})


def spoiled(body: Json) -> list[Json]:
    """The body with one thing wrong: an unknown field at the top, an unknown field in a message, a part of a wrong type."""
    wrong: list[Json] = [{**body, "no_such_field": 1}]
    for name in ("messages", "contents", "input", "prompt"):
        if isinstance(body.get(name), list):
            deep = copy.deepcopy(body)
            deep[name][-1]["no_such_field"] = 1
            odd = copy.deepcopy(body)
            odd[name][-1]["role"] = 7
            wrong += [deep, odd]
        elif name in body:
            wrong.append({**body, name: {"no": "prompt"}})
    return wrong


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_wrong_body_is_refused(protocol: str) -> None:
    """The judges look: each spoiled body is refused."""
    body = build(protocol, CASES["text"])
    JUDGES[protocol](body)
    for wrong in spoiled(body):
        with pytest.raises(Exception, match=r"validation|no field|Unknown|Invalid"):
            JUDGES[protocol](wrong)
