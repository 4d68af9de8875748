"""Input items of openai-responses: what goes back as it came, and what must not."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import Raw

from headwater_codecs.neutral import (
    ConfigurationError,
    ImagePart,
    Message,
    Model,
    OpaquePart,
    Origin,
    Part,
    ReasoningPart,
    Request,
    TextPart,
    Tool,
    ToolCallPart,
    system,
    tool_result,
    user,
)
from headwater_providers.adapter import Target
from headwater_providers.builtin import new_registries
from headwater_providers.openai_responses.adapter import OpenAIResponsesAdapter

TARGET = Target(model="gpt-5", provider="openai", protocol="openai-responses", base_url="https://api.example/v1")
HI = {"role": "user", "content": [{"type": "input_text", "text": "hi"}]}
REASONING = b'{"id":"rs1", "type":"reasoning","summary":[],"encrypted_content":"ENC="}'
THOUGHT = ReasoningPart("", None, True, "ENC=", Raw(REASONING))
UNKNOWN_THOUGHT = ReasoningPart("plan", None, False, None, Raw(b'{"id":"rs1","type":"reasoning","summary":[]}'))
TEXT = TextPart("A", None, Raw(b'{"id":"m1","phase":"final"}'))
CALL = ToolCallPart("c1", "f", "{}", meta=Raw(b'{"id":"fc1"}'))
ITEM = b'{"id":"ws1", "type":"web_search_call"}'


def body(*parts: Part, origin: Origin | None = None, store: bool | None = None) -> bytes:
    """The body of a request whose second message is an assistant's with these parts."""
    messages = [user("hi"), Message("assistant", parts, origin=origin)]
    return OpenAIResponsesAdapter().build(Request(model="openai/gpt-5", messages=messages, store=store), TARGET, None).body


def items(*parts: Part, origin: Origin | None = None, store: bool | None = None) -> list[object]:
    """The input items of these parts."""
    value = msgspec.json.decode(body(*parts, origin=origin, store=store))["input"]
    assert value[0] == HI
    return list(value[1:])


def message(*texts: str) -> dict[str, object]:
    """An output message with these texts."""
    content = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
    return {"type": "message", "role": "assistant", "id": "m1", "phase": "final", "status": "completed", "content": content}


@pytest.mark.rows("OR-RS-06", "OR-RS-03", "ISS-46")
def test_what_came_goes_back_byte_for_byte() -> None:
    """Reasoning and items that are not modelled."""
    sent = body(THOUGHT, OpaquePart("web_search_call", ITEM), TEXT)
    assert REASONING in sent
    assert ITEM in sent


@pytest.mark.rows("OR-RS-05", "OR-RS-07", "ISS-46", "ISS-47")
def test_ids_go_back_behind_their_reasoning() -> None:
    """Message and call keep the ids that the provider gave them."""
    call = {"id": "fc1", "type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
    assert items(THOUGHT, TEXT, CALL)[1:] == [message("A"), call]


@pytest.mark.rows("OR-RS-05", "OR-RS-06", "OR-RS-07", "ISS-46")
def test_no_ids_without_their_reasoning() -> None:
    """The provider refuses an item under its id whose reasoning is not there; without the id it is a text or a call like any other."""
    call = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
    assert items(UNKNOWN_THOUGHT, TEXT, CALL) == [{"role": "assistant", "content": "A"}, call]


def test_stored_reasoning_goes_back_without_its_content() -> None:
    """Where the provider keeps its items, the id is enough."""
    reasoning = {"id": "rs1", "type": "reasoning", "summary": []}
    assert items(UNKNOWN_THOUGHT, TEXT, store=True) == [reasoning, message("A")]


@pytest.mark.rows("OR-RS-05")
def test_parts_of_one_message_are_one_item() -> None:
    """A second item of the same id would be refused."""
    other = TextPart("B", None, TEXT.meta)
    assert items(TEXT, other) == [message("A", "B")]


def test_parts_of_two_messages_are_two_items() -> None:
    """Their ids differ."""
    other = TextPart("B", None, Raw(b'{"id":"m2","phase":"final"}'))
    assert items(TEXT, other) == [message("A"), {**message("B"), "id": "m2"}]


def test_an_item_that_never_came_is_left_out() -> None:
    """There is nothing to send."""
    assert items(OpaquePart("web_search_call", b""), TEXT) == [message("A")]


@pytest.mark.parametrize("raw", [b"{", b"[]", b"nothing"])
def test_an_item_that_is_no_object_is_refused(raw: bytes) -> None:
    """It would spoil the body."""
    with pytest.raises(ConfigurationError, match=r"messages\[1\]\.content\[0\]"):
        body(OpaquePart("web_search_call", raw))


@pytest.mark.rows("OR-RS-05", "OR-RS-06", "ISS-46")
@pytest.mark.parametrize(
    "origin",
    [Origin("anthropic", "anthropic-messages", "claude"), Origin("openai", "openai-responses", "gpt-4o"), Origin("openai", "openai-chat", "gpt-5")],
)
def test_what_another_model_thought_stays_at_home(origin: Origin) -> None:
    """Its reasoning, its items and its ids mean nothing here."""
    call = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
    sent = items(THOUGHT, OpaquePart("web_search_call", ITEM), TEXT, CALL, origin=origin)
    assert sent == [{"role": "assistant", "content": "A"}, call]


def test_a_cut_call_and_its_result_are_left_out() -> None:
    """It must never be taken for one that was run."""
    cut = ToolCallPart("c1", "f", '{"a', complete=False)
    messages = [user("hi"), Message("assistant", (TEXT, cut)), tool_result("c1", "no"), user("hi")]
    built = OpenAIResponsesAdapter().build(Request(model="openai/gpt-5", messages=messages), TARGET, None)
    assert msgspec.json.decode(built.body)["input"] == [HI, message("A"), HI]


def test_the_messages_are_not_changed() -> None:
    """Twice the same request gives twice the same body."""
    parts = (THOUGHT, TEXT, TextPart("B", None, TEXT.meta), CALL)
    assert body(*parts) == body(*parts)


@pytest.mark.rows("OR-RS-02")
def test_a_reasoning_model_of_the_vendor_asks_for_its_encrypted_reasoning() -> None:
    """The flags by the model's name hold for a further protocol too: without them the reasoning is lost between two turns (OR-RS-02)."""
    registries = new_registries(plugins=False)
    for name, included in (("gpt-5", ["reasoning.encrypted_content"]), ("gpt-4o", None)):
        target = registries.resolve(Model(f"openai/{name}", protocol="openai-responses", api_key="k"))
        built = registries.adapter("openai-responses").build(Request(model=name, messages=[user("hi")]), target, None)
        assert msgspec.json.decode(built.body).get("include") == included


@pytest.mark.rows("OR-RS-01", "OR-RS-02", "OR-RS-04", "OR-RS-08")
def test_a_whole_conversation() -> None:
    """The full history as items, never a reference to an earlier response; `strict` is always said, since left out it would be true."""
    image = ImagePart(data="AA==", media_type="image/png")
    tools = (Tool("f", "Does it.", {"type": "object"}), Tool("g", strict=True))
    messages = [
        system("Be brief."),
        user("look", image),
        user(""),
        Message("assistant", (TextPart("A"), ToolCallPart("c1", "f", " "), ToolCallPart("c2", "g", '{"a":1}'), ToolCallPart("c3", "g"))),
        tool_result("c1", "one"),
        tool_result("c2", (TextPart("two"), image)),
        tool_result("c3", ""),
    ]
    request = Request(model="gpt-5", messages=messages, tools=tools, tool_choice="f", max_tokens=9, temperature=0.0, reasoning="low", store=False)
    shown = {"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "auto"}
    call = {"type": "function_call", "name": "g"}
    assert msgspec.json.decode(OpenAIResponsesAdapter().build(request, TARGET, None).body) == {
        "model": "gpt-5",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "look"}, shown]},
            {"role": "assistant", "content": "A"},
            {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
            {**call, "call_id": "c2", "arguments": '{"a":1}'},
            {**call, "call_id": "c3", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "one"},
            {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "two"}, shown]},
            {"type": "function_call_output", "call_id": "c3", "output": ""},
        ],
        "stream": True,
        "instructions": "Be brief.",
        "max_output_tokens": 9,
        "temperature": 0.0,
        "store": False,
        "tools": [
            {"type": "function", "name": "f", "description": "Does it.", "parameters": {"type": "object"}, "strict": False},
            {"type": "function", "name": "g", "parameters": {"type": "object", "properties": {}}, "strict": True},
        ],
        "tool_choice": {"type": "function", "name": "f"},
        "reasoning": {"effort": "low", "summary": "auto"},
        "include": ["reasoning.encrypted_content"],
    }
    off = msgspec.json.decode(OpenAIResponsesAdapter().build(Request(model="gpt-5", messages=[user("hi")], reasoning="off"), TARGET, None).body)
    assert (off["reasoning"], off.get("include")) == ({"effort": "none"}, None)
