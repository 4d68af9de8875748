"""Chat bodies to requests and back: nothing is lost, and mistakes are named by their place."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_calls import HI, target
from headwater_codecs.neutral import ConfigurationError, JsonSchema, Message, Model, Reasoning, Request, Tool, ToolCallPart, tool_result, user
from headwater_providers.openai_chat.adapter import OpenAIChatAdapter
from headwater_providers.openai_chat.read_messages import request_from_chat_body

TOOL = {"type": "function", "function": {"name": "weather", "description": "Tells it.", "parameters": {"type": "object"}, "strict": True}}
CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
TO = target(
    max_tokens_field="max_completion_tokens",
    supports_store=True,
    supports_developer_role=True,
    supports_custom_tools=True,
    supports_top_k=True,
    supports_file_urls=True,
    supports_video=True,
)


def back(body: Mapping[str, object]) -> dict[str, object]:
    """The body that is built from the request that was read from this one."""
    request = request_from_chat_body(body)
    built: dict[str, object] = msgspec.json.decode(OpenAIChatAdapter().build(request, TO, None).body)
    return built


def test_a_whole_body() -> None:
    """Every field that a request has a word for."""
    body = {
        "model": "m",
        "messages": [HI],
        "max_completion_tokens": 5,
        "temperature": 0,
        "top_p": 1,
        "top_k": 3,
        "n": 1,
        "stop": ["a"],
        "seed": 0,
        "presence_penalty": 0.5,
        "frequency_penalty": 0.5,
        "logprobs": True,
        "top_logprobs": 2,
        "logit_bias": {"1": 2},
        "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {}, "strict": False}},
        "reasoning_effort": "low",
        "service_tier": "flex",
        "verbosity": "low",
        "user": "u",
        "store": False,
        "metadata": {"a": "b"},
        "prompt_cache_key": "k",
        "parallel_tool_calls": False,
        "tools": [TOOL],
        "tool_choice": {"type": "function", "function": {"name": "weather"}},
        "stream": False,
        "stream_options": {"include_usage": False},
        "audio": None,
        "min_p": 0.1,
    }
    assert request_from_chat_body(body) == Request(
        model="m",
        messages=(user("hi"),),
        max_tokens=5,
        temperature=0,
        top_p=1,
        top_k=3,
        n=1,
        stop=("a",),
        seed=0,
        presence_penalty=0.5,
        frequency_penalty=0.5,
        logprobs=True,
        top_logprobs=2,
        logit_bias={"1": 2},
        response_format=JsonSchema({}, "a", None, False),
        reasoning="low",
        service_tier="flex",
        verbosity="low",
        user="u",
        store=False,
        metadata={"a": "b"},
        cache_key="k",
        parallel_tool_calls=False,
        tools=(Tool("weather", "Tells it.", {"type": "object"}, True),),
        tool_choice="weather",
        extra_body={"min_p": 0.1},
    )
    built = back(body)
    assert built == {**{key: value for key, value in body.items() if value is not None}, "stream": True, "stream_options": {"include_usage": True}}


def test_the_model_can_be_given() -> None:
    """A model given outside takes the place of the body's own."""
    model = Model("x", provider="p", base_url="http://h")
    assert request_from_chat_body({"messages": [HI], "model": "m"}, model).model == model
    assert request_from_chat_body({"messages": [HI]}, "x").model == "x"


@pytest.mark.parametrize(
    "fields",
    [
        {"reasoning_effort": "none"},
        {"response_format": {"type": "grammar", "grammar": "x"}},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "a"}}},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {}, "x": 1}}},
        {"tools": [{"type": "web_search"}], "tool_choice": "required"},
        {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}}},
        {"web_search_options": {}},
        {"functions": [{"name": "f"}], "function_call": "auto"},
        {"tools": [{"type": "function", "function": {"name": "f", "x": 1}}]},
    ],
)
def test_what_has_no_word_goes_through(fields: dict[str, object]) -> None:
    """What the neutral request cannot say is sent as it came."""
    request = request_from_chat_body({"model": "m", "messages": [HI], **fields})
    assert request.extra_body == fields
    assert back({"model": "m", "messages": [HI], **fields}) == {
        "model": "m",
        "messages": [HI],
        "stream": True,
        "stream_options": {"include_usage": True},
        **fields,
    }


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "system", "content": "s"}, {"role": "developer", "content": "d"}, {"role": "user", "content": "hi", "name": "ann"}],
        [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "see", "cache_control": {"type": "ephemeral"}},
                    {"type": "image_url", "image_url": {"url": "https://x/y.png", "detail": "low"}},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
                    {"type": "input_audio", "input_audio": {"data": "QQ==", "format": "wav"}},
                    {"type": "input_audio", "input_audio": {"data": "QQ==", "format": "mp3"}},
                    {"type": "file", "file": {"file_data": "data:application/pdf;base64,QQ==", "filename": "a.pdf"}},
                    {"type": "file", "file": {"file_id": "file-1"}},
                    {"type": "video_url", "video_url": {"url": "https://x/a.mp4"}},
                ],
            }
        ],
        [
            HI,
            {"role": "assistant", "content": "a", "tool_calls": [CALL, {"id": "c2", "type": "custom", "custom": {"name": "sh", "input": "ls"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "rain"},
            {"role": "tool", "tool_call_id": "c2", "content": ""},
        ],
        [HI, {"role": "assistant", "content": None, "tool_calls": [CALL]}],
        [HI, {"role": "assistant", "content": "a", "reasoning_content": "hm"}],
        [HI, {"role": "assistant", "content": "a", "reasoning": "hm", "reasoning_details": [{"type": "x", "data": "y", "n": 1.5}]}],
        [HI, {"role": "assistant", "content": None, "refusal": "no"}],
        [HI, {"role": "assistant", "content": "a", "annotations": [{"u": 1}]}],
    ],
)
def test_messages_come_back_as_they_were(messages: list[dict[str, object]]) -> None:
    """build(read(body)) has the same messages."""
    assert back({"model": "m", "messages": messages})["messages"] == messages


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)
_CALLS = st.lists(
    st.fixed_dictionaries(
        {"id": _TEXT, "type": st.just("function"), "function": st.fixed_dictionaries({"name": _TEXT, "arguments": st.just('{"a":1}')})}
    ),
    min_size=1,
    max_size=2,
)
_MESSAGE = st.one_of(
    st.fixed_dictionaries({"role": st.sampled_from(["system", "user", "assistant"]), "content": _TEXT}),
    st.fixed_dictionaries(
        {"role": st.just("user"), "content": st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": _TEXT}), min_size=2, max_size=3)}
    ),
    st.fixed_dictionaries({"role": st.just("assistant"), "content": st.none() | _TEXT, "tool_calls": _CALLS}),
    st.fixed_dictionaries({"role": st.just("tool"), "tool_call_id": _TEXT, "content": st.text(st.characters(exclude_categories=["Cs"]))}),
)


@given(messages=st.lists(_MESSAGE, min_size=1, max_size=5))
def test_any_messages_come_back(messages: list[dict[str, object]]) -> None:
    """The round trip holds for any mixture of turns."""
    assert back({"model": "m", "messages": messages})["messages"] == messages


def test_old_dumps_are_read() -> None:
    """Nulls and empty lists of a client's dump, arguments as an object, images as a bare address."""
    body = {
        "model": "m",
        "messages": [
            {"role": "user", "content": [{"type": "image_url", "image_url": "https://x/y.png"}, "and text"]},
            {
                "role": "assistant",
                "content": None,
                "refusal": None,
                "annotations": [],
                "audio": None,
                "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": {"a": 1}}}],
            },
            {"role": "tool", "tool_call_id": "c1", "name": "f", "content": [{"type": "text", "text": "x"}]},
        ],
        "reasoning_effort": "high",
    }
    request = request_from_chat_body(body)
    assert request.messages[1] == Message("assistant", (ToolCallPart("c1", "f", '{"a":1}'),))
    assert request.messages[2].parts[0] == tool_result("c1", (user("x", "").parts[0],), name="f").parts[0]  # type: ignore[arg-type]
    assert request.reasoning == "high"
    assert Reasoning("high").effort == request.reasoning


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ([], "the body is a JSON object, not a list"),
        ({"messages": [HI]}, "model: the body names none, and none was given"),
        ({"model": 3, "messages": [HI]}, "model: the body names none"),
        ({"model": "m"}, "messages: a list with at least one message is needed"),
        ({"model": "m", "messages": []}, "messages: a list with at least one message is needed"),
        ({"model": "m", "messages": ["hi"]}, "messages[0]: a message is an object, not a string"),
        ({"model": "m", "messages": [{"content": "x"}]}, "messages[0].role: None is none of system, developer, user, assistant, tool"),
        ({"model": "m", "messages": [HI, {"role": "function", "content": "x"}]}, "messages[1].role: 'function' is none of"),
        ({"model": "m", "messages": [{"role": "user", "content": 5}]}, "messages[0].content: a string or a list of parts is needed, not a number"),
        ({"model": "m", "messages": [{"role": "user", "content": [5]}]}, "messages[0].content[0]: a number is none of text, refusal"),
        ({"model": "m", "messages": [{"role": "user", "content": [{"type": "x"}]}]}, "messages[0].content[0]: the type 'x' is none of text"),
        ({"model": "m", "messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages[0].content[0].text: a string is needed, not null"),
        (
            {"model": "m", "messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
            "messages[0].content[0].image_url: an object with a url",
        ),
        (
            {"model": "m", "messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]},
            "messages[0].content[0].image_url.url: a non-empty string is needed, not null",
        ),
        (
            {"model": "m", "messages": [{"role": "user", "content": [{"type": "input_audio", "input_audio": {"format": "x", "data": "a"}}]}]},
            "messages[0].content[0].input_audio.format: 'x' is none of",
        ),
        (
            {"model": "m", "messages": [{"role": "user", "content": [{"type": "file", "file": {}}]}]},
            "messages[0].content[0].file.file_data: a non-empty string",
        ),
        ({"model": "m", "messages": [{"role": "user", "content": "x", "weight": 1}]}, "messages[0].weight: a message of role user has no such field"),
        ({"model": "m", "messages": [{"role": "tool", "content": "x"}]}, "messages[0].tool_call_id: a non-empty string is needed, not null"),
        ({"model": "m", "messages": [{"role": "assistant", "function_call": {}}]}, "messages[0].function_call: the old form of a call has no id"),
        ({"model": "m", "messages": [{"role": "assistant", "tool_calls": {}}]}, "messages[0].tool_calls: a list is needed, not an object"),
        ({"model": "m", "messages": [{"role": "assistant", "tool_calls": [1]}]}, "messages[0].tool_calls[0]: a call is an object, not a number"),
        (
            {"model": "m", "messages": [{"role": "assistant", "tool_calls": [{"id": "c"}]}]},
            "messages[0].tool_calls[0]: a call has type function or custom",
        ),
        (
            {"model": "m", "messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]}]},
            "messages[0].tool_calls[0].id: a non-empty string is needed, not null",
        ),
        (
            {"model": "m", "messages": [{"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": 5}}]}]},
            "messages[0].tool_calls[0].function: arguments are a string of JSON, not a number",
        ),
        ({"model": "m", "messages": [{"role": "user", "content": [{"type": "file"}]}]}, "messages[0].content[0].file: an object with file_data"),
        (
            {"model": "m", "messages": [{"role": "user", "content": [{"type": "input_audio"}]}]},
            "messages[0].content[0].input_audio: an object with data",
        ),
        ({"model": "m", "messages": [HI], "max_tokens": "5"}, "max_tokens: a string is no value for it"),
        ({"model": "m", "messages": [HI], "n": True}, "n: true is no value for it"),
        ({"model": "m", "messages": [HI], "stop": ["a", ""]}, "stop[1]: a non-empty string is needed, not an empty string"),
        ({"model": "m", "messages": [HI], "tools": {}}, "tools: a list is needed, not an object"),
        ({"model": "m", "messages": [HI], "tools": [1]}, "tools[0]: a tool is an object, not a number"),
        ({"model": "m", "messages": [HI], "tools": [{"type": "function", "function": {}}]}, "tools[0].function.name: a non-empty string is needed"),
        (
            {"model": "m", "messages": [HI], "tools": [{"type": "function", "function": {"name": "f", "parameters": 1}}]},
            "tools[0]: a schema is an object",
        ),
        ({"model": "m", "messages": [HI], "tool_choice": {"type": "function", "function": {}}}, "tool_choice.function.name: a non-empty string"),
    ],
)
def test_mistakes_are_named_by_their_place(body: object, said: str) -> None:
    """Every mistake is a ConfigurationError that says where it is."""
    with pytest.raises(ConfigurationError) as caught:
        request_from_chat_body(body)  # type: ignore[arg-type]
    assert said in str(caught.value)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["role", "content", "type", "text", "tool_calls", "id", "function", "name", "image_url", "url"]), inner, max_size=4
        )
    ),
    max_leaves=15,
)


@given(messages=st.lists(_JSON, max_size=3), tools=_JSON, choice=_JSON)
def test_nothing_but_configuration_errors(messages: object, tools: object, choice: object) -> None:
    """Any JSON is read or refused; no other exception leaves."""
    try:
        request = request_from_chat_body({"model": "m", "messages": messages, "tools": tools, "tool_choice": choice})
    except ConfigurationError:
        return
    assert isinstance(messages, list)
    assert len(request.messages) == len(messages)
