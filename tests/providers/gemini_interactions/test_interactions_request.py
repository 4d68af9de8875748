"""Bodies of gemini-interactions: the conversation as steps."""

from __future__ import annotations

import msgspec

from headwater_codecs.neutral import Message, Model, Request, Secret, system, tool_result, user
from headwater_codecs.neutral.request import ImagePart, JsonSchema, OpaquePart, Origin, ReasoningPart, TextPart, Tool, ToolCallPart
from headwater_providers import new_registries
from headwater_providers.adapter import HttpRequest

Json = dict[str, object]
MODEL = Model("google/gemini-3-flash-preview", protocol="gemini-interactions", api_key="k")
PARTS = (
    ReasoningPart("plan", signature="U0ln"),
    TextPart("Look."),
    ToolCallPart("c1", "f", '{"a":1}', signature="Qw=="),
    OpaquePart("google_search_call", b'{"type":"google_search_call","id":"g1"}'),
    OpaquePart("image", b'{"type":"image","data":"iVBORw0K"}'),
)
CALL: Json = {"type": "function_call", "id": "c1", "name": "f", "arguments": {"a": 1}}


def built(request: Request) -> HttpRequest:
    """The request as HTTP."""
    registries = new_registries(plugins=False)
    registries.env = {}
    target = registries.resolve(MODEL)
    return registries.adapter(target.protocol).build(request, target, Secret("k"))


def steps(*messages: Message) -> object:
    """The steps that are sent."""
    return msgspec.json.decode(built(Request(model=MODEL, messages=list(messages))).body)["input"]


def test_everything_that_is_sent() -> None:
    """Every field of the body; the revision that has steps is asked for."""
    request = built(
        Request(
            model=MODEL,
            messages=[system("Be brief."), user("Hi", ImagePart(data="iVBORw0K", media_type="image/png"))],
            tools=[Tool("f", "Does.", {"type": "object"})],
            tool_choice="f",
            max_tokens=10,
            temperature=0.5,
            top_p=0.9,
            seed=7,
            stop=["END"],
            reasoning="xhigh",
            response_format=JsonSchema({"type": "object"}, "place"),
            store=False,
        )
    )
    headers = dict(request.headers)
    assert request.url == "https://generativelanguage.googleapis.com/v1beta/interactions"
    assert (headers["x-goog-api-key"], headers["api-revision"]) == ("k", "2026-05-20")
    assert msgspec.json.decode(request.body) == {
        "model": "gemini-3-flash-preview",
        "input": [
            {"type": "user_input", "content": [{"type": "text", "text": "Hi"}, {"type": "image", "data": "iVBORw0K", "mime_type": "image/png"}]}
        ],
        "stream": True,
        "system_instruction": "Be brief.",
        "tools": [{"type": "function", "name": "f", "description": "Does.", "parameters": {"type": "object"}}],
        "generation_config": {
            "max_output_tokens": 10,
            "temperature": 0.5,
            "top_p": 0.9,
            "seed": 7,
            "stop_sequences": ["END"],
            "tool_choice": {"allowed_tools": {"mode": "any", "tools": ["f"]}},
            "thinking_level": "high",
            "thinking_summaries": "auto",
        },
        "response_format": {"type": "text", "mime_type": "application/json", "schema": {"type": "object"}},
        "store": False,
    }


def test_an_answer_of_its_own() -> None:
    """Thoughts, signatures and opaque steps go back; an image is part of an output again."""
    own = Message("assistant", PARTS, origin=Origin("google", "gemini-interactions", "gemini-3-flash-preview"))
    assert steps(user("Hi"), own, tool_result("c1", "broke", is_error=True)) == [
        {"type": "user_input", "content": [{"type": "text", "text": "Hi"}]},
        {"type": "thought", "signature": "U0ln", "summary": [{"type": "text", "text": "plan"}]},
        {"type": "model_output", "content": [{"type": "text", "text": "Look."}]},
        {**CALL, "signature": "Qw=="},
        {"type": "google_search_call", "id": "g1"},
        {"type": "model_output", "content": [{"type": "image", "data": "iVBORw0K"}]},
        {"type": "function_result", "call_id": "c1", "result": "broke", "name": "f", "is_error": True},
    ]


def test_an_answer_of_another_model() -> None:
    """What means something to its maker only is left out."""
    other = Message("assistant", PARTS, origin=Origin("openai", "openai-chat", "gpt"))
    assert steps(user("Hi"), other) == [
        {"type": "user_input", "content": [{"type": "text", "text": "Hi"}]},
        {"type": "model_output", "content": [{"type": "text", "text": "Look."}]},
        CALL,
    ]
