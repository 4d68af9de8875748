"""Messages on the wire: roles, parts, calls and results, reasoning that goes back, what is left out and what is refused."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import Raw

from chat_calls import HI, body, messages, target
from headwater_codecs.neutral import (
    ConfigurationError,
    FilePart,
    ImagePart,
    Message,
    OpaquePart,
    Origin,
    Part,
    ReasoningPart,
    Request,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    assistant,
    system,
    tool_result,
    user,
)
from headwater_providers import Target
from headwater_providers.openai_chat.dialect import ChatDialect
from headwater_providers.openai_chat.messages import ATTACHED, PROCESSED, SEE_ATTACHED
from headwater_providers.openai_chat.request import build_body
from headwater_providers.origin import same_origin

CALL = ToolCallPart("c1", "weather", '{"city":"Bern"}')
CALL_WIRE = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Bern"}'}}
IMAGE = ImagePart(data="AAAA", media_type="image/png")
IMAGE_WIRE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


@pytest.mark.rows("OR-CC-02")
@pytest.mark.parametrize(
    ("part", "wire"),
    [
        (TextPart("a", meta=Raw(b'{"cache_control":{"type":"ephemeral"}}')), {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}),
        (IMAGE, IMAGE_WIRE),
        (ImagePart(url="https://x/y.png", detail="low"), {"type": "image_url", "image_url": {"url": "https://x/y.png", "detail": "low"}}),
        (FilePart(data="QQ==", media_type="audio/wav"), {"type": "input_audio", "input_audio": {"data": "QQ==", "format": "wav"}}),
        (FilePart(data="QQ==", media_type="audio/mpeg"), {"type": "input_audio", "input_audio": {"data": "QQ==", "format": "mp3"}}),
        (
            FilePart(data="QQ==", media_type="application/pdf", filename="a.pdf"),
            {"type": "file", "file": {"file_data": "data:application/pdf;base64,QQ==", "filename": "a.pdf"}},
        ),
        (FilePart(file_id="file-1"), {"type": "file", "file": {"file_id": "file-1"}}),
        (FilePart(url="https://x/a.pdf", filename="a.pdf"), {"type": "file", "file": {"file_data": "https://x/a.pdf", "filename": "a.pdf"}}),
        (FilePart(url="https://x/a.mp4", media_type="video/mp4"), {"type": "video_url", "video_url": {"url": "https://x/a.mp4"}}),
        (FilePart(data="QQ==", media_type="video/mp4"), {"type": "video_url", "video_url": {"url": "data:video/mp4;base64,QQ=="}}),
    ],
)
def test_parts_of_a_user_message(part: Part, wire: dict[str, object]) -> None:
    """Every part that a user may send, beside a text."""
    to = target(supports_file_urls=True, supports_video=True)
    assert messages([user("see", part)], to) == [{"role": "user", "content": [{"type": "text", "text": "see"}, wire]}]


@pytest.mark.rows("OR-CC-02", "OR-CC-06")
@pytest.mark.parametrize(
    ("message", "said"),
    [
        (user(ImagePart()), "messages[0].content[0]: an image has either a url or data"),
        (user(ImagePart(url="u", data="d")), "messages[0].content[0]: an image has either a url or data"),
        (user("a", ImagePart(data="AAAA")), "messages[0].content[1]: an image given as data needs its media_type"),
        (user(FilePart()), "messages[0].content[0]: a file has one of url, data and file_id"),
        (user(FilePart(data="A")), "messages[0].content[0]: a file given as data needs its media_type"),
        (user(FilePart(url="https://x/a.pdf")), "messages[0].content[0]: provider custom takes no file by its address"),
        (user(FilePart(url="https://x/a.mp4", media_type="video/mp4")), "messages[0].content[0]: provider custom takes no video"),
        (user(FilePart(data="A", media_type="audio/x-strange")), "messages[0].content[0]: no name is known for recordings of type 'audio/x-strange'"),
        (user(CALL), "messages[0].content[0]: ToolCallPart does not belong into this message"),
        (user(OpaquePart("x", b"{}")), "messages[0].content[0]: openai-chat has no place for an opaque item"),
        (user(TextPart("a", meta=Raw(b"[]"))), "messages[0].content[0]: the meta of a text is not a JSON object"),
        (Message("system", (IMAGE,)), "messages[0].content[0]: this message holds text only, not ImagePart"),
        (Message("tool", "text"), "messages[0]: a tool message holds ToolResultPart, not plain text"),
        (Message("tool", (TextPart("a"),)), "messages[0]: a tool message holds ToolResultPart only, not TextPart"),
        (tool_result(" ", "a"), "messages[0]: a tool result has an empty id"),
        (assistant(ToolCallPart("", "t")), "messages[0]: the call of tool 't' has an empty id"),
        (assistant(ToolCallPart("c", " ")), "messages[0]: the tool call c has no name"),
        (assistant(""), "messages[0] is a blank assistant message"),
        (assistant(" \n"), "messages[0] is a blank assistant message"),
        (Message("assistant", ()), "messages[0] is a blank assistant message"),
        (assistant(IMAGE), "messages[0]: openai-chat takes no ImagePart in an assistant message"),
        (assistant(ToolResultPart("c")), "messages[0]: a tool result does not belong into an assistant message"),
        (assistant("a", ReasoningPart(meta=Raw(b"[1]"))), "messages[0]: the meta of a part is not a JSON object"),
        (Message("robot", "a"), "messages[0]: unknown role 'robot'"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_said_names_the_place(message: Message, said: str) -> None:
    """A message that would be refused, or would mean something else, is an error that names it."""
    with pytest.raises(ConfigurationError) as caught:
        messages([message])
    assert said in str(caught.value)


@pytest.mark.rows("OR-CC-02", "OR-CC-03", "ISS-26")
def test_plain_turns() -> None:
    """Text alone is a string, empty turns are left out, names are kept."""
    sent = [system("s"), Message("user", "a", name="ann"), user(""), user(TextPart("b")), user("c", "", "d"), assistant("e", "f"), user("g")]
    assert messages(sent) == [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "a", "name": "ann"},
        {"role": "user", "content": "b"},
        {"role": "user", "content": [{"type": "text", "text": "c"}, {"type": "text", "text": "d"}]},
        {"role": "assistant", "content": "ef"},
        {"role": "user", "content": "g"},
    ]
    assert messages([Message("user", "a", name="ann")], target(supports_message_name=False)) == [{"role": "user", "content": "a"}]


@pytest.mark.rows("OR-CMP-02")
@pytest.mark.parametrize(
    ("flags", "reasoning", "roles"),
    [
        ({}, None, ["system", "system"]),
        ({"supports_developer_role": True}, None, ["system", "developer"]),
        ({"supports_developer_role": True, "reasoning_model": True}, None, ["developer", "developer"]),
        ({"supports_developer_role": True}, "high", ["developer", "developer"]),
        ({"supports_developer_role": True, "reasoning_model": True}, "off", ["system", "developer"]),
        ({"reasoning_model": True}, None, ["system", "system"]),
    ],
)
def test_the_developer_role(flags: dict[str, object], reasoning: object, roles: list[str]) -> None:
    """A model that reasons takes its system prompt as developer, where the role is known (OR-CMP-02)."""
    sent = body([system("a"), Message("developer", "b"), user("hi")], target(**flags), reasoning=reasoning)
    assert sent["messages"] == [{"role": roles[0], "content": "a"}, {"role": roles[1], "content": "b"}, HI]


def test_a_system_message_of_several_texts() -> None:
    """Several texts, and texts with fields of their own, stay parts; empty ones are left out."""
    marked = TextPart("b", meta=Raw(b'{"cache_control":{"type":"ephemeral"}}'))
    sent = messages([Message("system", (TextPart("a"), TextPart(""), marked)), system(""), user("hi")])
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b", "cache_control": {"type": "ephemeral"}}]
    assert sent == [{"role": "system", "content": parts}, HI]


@pytest.mark.rows("OR-CC-05", "OR-CC-06", "AMB-52", "ISS-24")
def test_calls_and_results() -> None:
    """Calls of one turn stay together, arguments that are blank become an empty object, results follow as they are (OR-CC-05, OR-CC-06)."""
    sent = [
        user("hi"),
        assistant("Let me see.", CALL, ToolCallPart("c2", "now", "  "), ToolCallPart("c3", "shell", "ls -l", "custom")),
        Message("tool", (ToolResultPart("c1", "rain"), ToolResultPart("c2", (TextPart("a"), TextPart("b"))), ToolResultPart("c3", is_error=True))),
    ]
    assert messages(sent) == [
        HI,
        {
            "role": "assistant",
            "content": "Let me see.",
            "tool_calls": [
                CALL_WIRE,
                {"id": "c2", "type": "function", "function": {"name": "now", "arguments": "{}"}},
                {"id": "c3", "type": "custom", "custom": {"name": "shell", "input": "ls -l"}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "rain"},
        {"role": "tool", "tool_call_id": "c2", "content": "a\nb"},
        {"role": "tool", "tool_call_id": "c3", "content": ""},
    ]


@pytest.mark.rows("OR-CC-06")
def test_images_of_results_follow_as_one_user_message() -> None:
    """What a run of results shows comes after the run, before the next turn (OR-CC-06)."""
    other = ImagePart(url="https://x/2.png")
    sent = [assistant(CALL), tool_result("c1", (IMAGE,)), tool_result("c2", (TextPart("two"), other)), user("and?")]
    assert messages(sent) == [
        {"role": "assistant", "content": None, "tool_calls": [CALL_WIRE]},
        {"role": "tool", "tool_call_id": "c1", "content": SEE_ATTACHED},
        {"role": "tool", "tool_call_id": "c2", "content": "two"},
        {"role": "user", "content": [{"type": "text", "text": ATTACHED}, IMAGE_WIRE, {"type": "image_url", "image_url": {"url": "https://x/2.png"}}]},
        {"role": "user", "content": "and?"},
    ]


def test_results_inside_a_user_message_come_first() -> None:
    """Results that are given with the next question become messages of their own."""
    assert messages([user(ToolResultPart("c1", "rain"), TextPart("and?"))]) == [
        {"role": "tool", "tool_call_id": "c1", "content": "rain"},
        {"role": "user", "content": "and?"},
    ]


@pytest.mark.rows("PI-CMP-11")
def test_flags_of_tool_results() -> None:
    """A result may need the tool's name, and an assistant turn before the user's next one (PI-CMP-11)."""
    to = target(tool_result_name=True, assistant_after_tool_result=True)
    assert messages([assistant(CALL), tool_result("c1", "rain"), user("and?")], to) == [
        {"role": "assistant", "content": "", "tool_calls": [CALL_WIRE]},
        {"role": "tool", "tool_call_id": "c1", "content": "rain", "name": "weather"},
        {"role": "assistant", "content": PROCESSED},
        {"role": "user", "content": "and?"},
    ]


@pytest.mark.rows("AMB-09", "ISS-34")
def test_cut_calls_are_left_out_with_their_results() -> None:
    """A call that is not complete is never replayed; its turn keeps its text, or goes with it (B271)."""
    cut = ToolCallPart("c9", "weather", '{"ci', complete=False)
    assert messages([user("hi"), assistant("Let me", cut), tool_result("c9", "no"), user("and?")]) == [
        HI,
        {"role": "assistant", "content": "Let me"},
        {"role": "user", "content": "and?"},
    ]
    assert messages([user("hi"), assistant(cut)]) == [HI]


@pytest.mark.rows("OR-CC-04")
def test_a_turn_of_reasoning_alone_is_left_out() -> None:
    """Reasoning without answer or call is no turn (OR-CC-04); opaque items have no place in a chat."""
    assert messages([user("hi"), assistant(ReasoningPart("hm")), assistant(OpaquePart("image", b"{}"))]) == [HI]


MINE = Origin("custom", "openai-chat", "m")


@pytest.mark.rows("OR-CC-03", "OR-CMP-06", "OR-CMP-07", "ISS-48")
@pytest.mark.parametrize(
    ("flags", "parts", "origin", "wire"),
    [
        ({}, [ReasoningPart("a"), ReasoningPart(" "), ReasoningPart("b")], MINE, {"content": "Hi", "reasoning_content": "a\nb"}),
        ({}, [ReasoningPart("a")], None, {"content": "Hi", "reasoning_content": "a"}),
        ({"reasoning_field": "reasoning"}, [ReasoningPart("a")], MINE, {"content": "Hi", "reasoning": "a"}),
        ({"reasoning_field": ""}, [ReasoningPart("a")], MINE, {"content": "Hi"}),
        ({}, [ReasoningPart("a")], Origin("other", "openai-chat", "m"), {"content": "Hi"}),
        ({}, [ReasoningPart("a")], Origin("custom", "openai-chat", "m2"), {"content": "Hi"}),
        ({}, [ReasoningPart("a")], Origin("custom", "openai-responses", "m"), {"content": "Hi"}),
        ({"requires_reasoning_content": True}, [], MINE, {"content": "Hi"}),
        ({"requires_reasoning_content": True, "reasoning_model": True}, [], MINE, {"content": "Hi", "reasoning_content": ""}),
        ({"requires_reasoning_content": True}, [ReasoningPart("a")], MINE, {"content": "Hi", "reasoning_content": "a"}),
        (
            {"requires_reasoning_content": True, "reasoning_model": True},
            [ReasoningPart("a")],
            Origin("other", None, "x"),
            {"content": "Hi", "reasoning_content": ""},
        ),
        (
            {"thinking_as_text": True},
            [ReasoningPart("a"), ReasoningPart("b")],
            MINE,
            {"content": [{"type": "text", "text": "a\n\nb"}, {"type": "text", "text": "Hi"}]},
        ),
        ({}, [ReasoningPart("a", meta=Raw(b'{"reasoning_details":[{"x":1}]}'))], MINE, {"content": "Hi", "reasoning_details": [{"x": 1}]}),
        ({}, [ReasoningPart("a", meta=Raw(b'{"reasoning_details":[{"x":1}]}'))], Origin("other", None, "m"), {"content": "Hi"}),
    ],
)
def test_reasoning_goes_back_to_its_own_model(flags: dict[str, object], parts: list[Part], origin: Origin | None, wire: dict[str, object]) -> None:
    """Reasoning is replayed to the provider and model that it came from, in the dialect's field; never to another (B273, B274)."""
    sent = messages([user("hi"), Message("assistant", (*parts, TextPart("Hi")), origin=origin)], target(**flags))
    assert sent == [HI, {"role": "assistant", **wire}]


@pytest.mark.rows("PI-CCS-14", "ISS-45")
def test_meta_goes_back_byte_for_byte() -> None:
    """What the provider sent to be replayed keeps its bytes: spaces, escapes, order, numbers; lists of several blocks are joined."""
    first, second = rb'{"reasoning_details": [{"b":1.0,  "a":"\u00e9\/"}]}', rb'{"reasoning_details":[ {"z" :1e2} ]}'
    parts = (ReasoningPart("x", meta=Raw(first)), ReasoningPart("y", meta=Raw(second)), TextPart("Hi"), CALL)
    raw = build_body(Request(model="m", messages=[Message("assistant", parts)]), target(), ChatDialect())
    assert rb'"reasoning_details":[{"b":1.0,  "a":"\u00e9\/"},{"z" :1e2}]' in raw
    assert msgspec.json.decode(raw)["messages"][0]["tool_calls"] == [CALL_WIRE]


def test_meta_of_text_and_calls_is_merged_too() -> None:
    """A refusal, or a signature of a call, are fields of the message."""
    parts = (TextPart("", meta=Raw(b'{"refusal":"no"}')),)
    assert messages([user("hi"), Message("assistant", parts)]) == [HI, {"role": "assistant", "content": None, "refusal": "no"}]
    call = ToolCallPart("c1", "weather", '{"city":"Bern"}', signature="S", meta=Raw(b'{"x":1,"id":null}'))
    wire = {**CALL_WIRE, "x": 1, "extra_content": {"google": {"thought_signature": "S"}}}
    assert messages([user("hi"), assistant("a", call)]) == [HI, {"role": "assistant", "content": "a", "tool_calls": [wire]}]


@pytest.mark.parametrize(
    ("asked", "answered", "same"),
    [
        ("gpt-4o", "gpt-4o-2024-08-06", True),
        ("gpt-4", "gpt-4-0613", True),
        ("mistral-large-latest", "mistral-large-latest", True),
        ("x/y:free", "x/y", True),
        ("gpt-4", "gpt-4o", False),
        ("gpt-4", "gpt-4-turbo", False),
        ("gpt-4o", "gpt-4o-mini", False),
        ("a", "b", False),
    ],
)
def test_a_dated_form_is_the_same_model(asked: str, answered: str, same: bool) -> None:
    """A provider may answer with a version of the name that was asked for."""
    to = Target(model=asked, provider="p", protocol="openai-chat", base_url="")
    assert same_origin(Origin("p", "openai-chat", answered), to) is same
