"""A conversation handed on: what is answered, moved, left out, fitted, and that nothing given is changed."""

from __future__ import annotations

import copy

import pytest
from msgspec import Raw

from headwater_codecs.neutral import (
    ImagePart,
    Message,
    OpaquePart,
    Origin,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    assistant,
    system,
    tool_result,
    user,
)
from headwater_providers.adapter import Target
from headwater_providers.history import History, hand_off
from headwater_providers.history.hand_off import NO_IMAGE, NO_START, NO_TOOL_IMAGE
from headwater_providers.openai_chat.dialect import ChatDialect

HERE = Origin("openai", "openai-chat", "gpt-x")
ELSEWHERE = Origin("anthropic", "anthropic-messages", "claude-x")
PNG = ImagePart(data="aGk=", media_type="image/png")


def target(protocol: str = "openai-chat", **fields: object) -> Target:
    """A target without a dialect of its own."""
    return Target(model="gpt-x", provider="openai", protocol=protocol, base_url="http://x", **fields)  # type: ignore[arg-type]


def made(*parts: str | Part, origin: Origin | None = HERE, failed: bool = False) -> Message:
    """A turn of the model's."""
    return Message("assistant", tuple(TextPart(part) if isinstance(part, str) else part for part in parts), origin=origin, failed=failed)


def call(id: str, name: str = "f", **fields: object) -> ToolCallPart:
    """A call."""
    return ToolCallPart(id, name, **fields)  # type: ignore[arg-type]


def unanswered(id: str, name: str = "f") -> ToolResultPart:
    """What stands for a result that nobody gave."""
    return ToolResultPart(id, "No result provided", name, is_error=True)


def handed(messages: list[Message], to: Target | None = None, history: History | None = None) -> list[Message]:
    """Handed on, and what was given is as it was."""
    before = copy.deepcopy(messages)
    found = hand_off(messages, to or target(), history or History())
    assert messages == before
    assert hand_off(found, to or target(), history or History()) == found  # once is enough
    return list(found)


def answered(*results: ToolResultPart) -> Message:
    """The results behind a turn."""
    return Message("tool", results)


def test_nothing_to_do_is_nothing_done() -> None:
    """The same object: a conversation of plain text costs a look."""
    messages = [system("s"), user("a")]
    assert hand_off(messages, target()) is messages


@pytest.mark.rows("OR-TM-07")
def test_a_call_that_nobody_answered() -> None:
    """An error result right behind the turn, beside those that are there, before the user goes on (B269)."""
    messages = [user("a"), made(call("t1"), call("t2", "g")), tool_result("t1", "1"), user("b"), made(call("t3"))]
    assert handed(messages) == [
        user("a"),
        messages[1],
        answered(ToolResultPart("t1", "1", "f"), unanswered("t2", "g")),
        user("b"),
        messages[4],
        answered(unanswered("t3")),
    ]


@pytest.mark.rows("OR-TM-07", "OR-TM-08")
def test_the_next_turn_of_the_model_closes_the_one_before() -> None:
    """Also where that next one is left out."""
    first, last = made(call("t1")), made("done", origin=ELSEWHERE)
    assert handed([user("a"), first, made("x", failed=True), last]) == [user("a"), first, answered(unanswered("t1")), last]


def test_results_that_answer_nothing() -> None:
    """They are left out, and do not end the turn that they stand in (B270)."""
    messages = [
        user("a"),
        tool_result("t9", "lost"),
        made(call("t1"), call("t2")),
        tool_result("t1", "1"),
        tool_result("t9", "x"),
        tool_result("t2", "2"),
    ]
    assert handed(messages) == [user("a"), messages[2], answered(ToolResultPart("t1", "1", "f"), ToolResultPart("t2", "2", "f"))]


@pytest.mark.rows("OR-TM-10")
def test_a_second_result_of_one_call() -> None:
    """The first has the say: providers refuse two."""
    assert handed([user("a"), made(call("t")), tool_result("t", "1"), tool_result("t", "2")])[2:] == [answered(ToolResultPart("t", "1", "f"))]


def test_results_in_another_order_and_place() -> None:
    """They come in the order of the calls (B279), right behind the turn, wherever they stood behind it."""
    turn = made(call("t1"), call("t2"))
    messages = [
        user("a"),
        turn,
        user("wait"),
        tool_result("t2", "2"),
        made("meanwhile"),
        Message("user", (ToolResultPart("t1", "1"), TextPart("go on"))),
    ]
    assert handed(messages) == [
        user("a"),
        turn,
        answered(ToolResultPart("t1", "1", "f"), ToolResultPart("t2", "2", "f")),
        user("wait"),
        made("meanwhile"),
        Message("user", (TextPart("go on"),)),
    ]


def test_an_id_that_is_used_again() -> None:
    """Results belong to the newest call with their id; ids that are the same within one conversation become different ones."""
    messages = [user("a"), made(call("c")), tool_result("c", "1"), made(call("c"), call("c")), tool_result("c", "2"), tool_result("c", "3")]
    found = handed(messages)
    ids = [part.id for message in found for part in message.parts if isinstance(part, ToolCallPart)]
    results = [(part.id, part.content) for message in found for part in message.parts if isinstance(part, ToolResultPart)]
    assert ids[0] == "c"
    assert len(set(ids)) == 3
    assert results == list(zip(ids, "123", strict=True))


@pytest.mark.rows("OR-TM-06", "AMB-26")
def test_turns_that_failed() -> None:
    """They are left out with their calls and the results of those, unless they are asked for."""
    broken = made("so far", call("t1"), failed=True)
    messages = [user("a"), broken, tool_result("t1", "1"), user("again")]
    assert handed(messages) == [user("a"), user("again")]
    assert handed(messages, history=History(failed="keep")) == [user("a"), broken, answered(ToolResultPart("t1", "1", "f")), user("again")]


def test_calls_that_were_cut() -> None:
    """The text stays (B271); a turn that held nothing else goes, and so do results of cut calls."""
    cut = call("t1", arguments='{"a', complete=False)
    messages = [user("a"), made("I will", cut), tool_result("t1", "?"), user("b"), made(cut), user("c")]
    assert handed(messages) == [user("a"), made("I will"), user("b"), user("c")]


@pytest.mark.rows("OR-TM-02", "OR-TM-03", "AMB-25")
def test_reasoning_of_another_model() -> None:
    """Dropped, or given as plain text where that is asked for; redacted reasoning is never shown (B273, B274)."""
    thoughts = (ReasoningPart("hm", "sig"), ReasoningPart("", None, True, "xyz"), ReasoningPart("  "))
    messages = [user("a"), made(*thoughts, "b", origin=ELSEWHERE)]
    assert handed(messages) == [user("a"), made("b", origin=ELSEWHERE)]
    assert handed(messages, history=History(thinking="text")) == [user("a"), made("hm", "b", origin=ELSEWHERE)]


@pytest.mark.rows("OR-TM-02", "OR-TM-03", "OR-TM-04", "OR-TM-05")
def test_the_same_models_own_turn_is_untouched() -> None:
    """Reasoning, signatures and items, byte for byte and in order (B275)."""
    turn = made(
        ReasoningPart("a", "s1"),
        ReasoningPart("", None, True, "r"),
        TextPart("b", "s2", Raw(b'{"x": 1}')),
        call("t", signature="s3", meta=Raw(b'{"y":2}')),
        OpaquePart("k", b"{}"),
    )
    assert handed([user("a"), turn, tool_result("t", "1", name="f")]) == [user("a"), turn, tool_result("t", "1", name="f")]


@pytest.mark.rows("OR-TM-03")
def test_empty_reasoning_of_the_same_model() -> None:
    """Without a signature or anything else of its own it says nothing, and goes; a turn that had nothing else goes with it."""
    kept = (ReasoningPart("", "s"), ReasoningPart("hm"), ReasoningPart(meta=Raw(b"{}")), ReasoningPart(data="x"))
    assert handed([user("a"), made(ReasoningPart(), *kept, ReasoningPart(" "), "b"), made(ReasoningPart())]) == [user("a"), made(*kept, "b")]


@pytest.mark.rows("OR-TM-03")
@pytest.mark.parametrize("protocol", ["anthropic-messages", "bedrock-converse", "bedrock-invoke", "openai-responses"])
def test_reasoning_that_nothing_follows(protocol: str) -> None:
    """An answer that was cut while the model thought, or in its call: these refuse a turn that ends so, others are given it as it was."""
    here = Origin("openai", protocol, "gpt-x")
    thought, cut = ReasoningPart("hm", "s"), call("t", arguments="{", complete=False)
    alone, behind, in_front = made(thought, cut, origin=here), made("b", thought, thought, origin=here), made(thought, "b", thought, origin=here)
    messages = [user("a"), alone, user("b"), behind, user("c"), in_front, user("d")]
    assert handed(messages, target(protocol)) == [
        user("a"),
        user("b"),
        made("b", origin=here),
        user("c"),
        made(thought, "b", origin=here),
        user("d"),
    ]
    pieces = [user("a"), made(thought, origin=here), made("b", origin=here), user("c")]
    assert handed(pieces, target(protocol)) == pieces  # its answer stands in the next message
    chat = [message if message.origin is None else made(*message.parts) for message in messages]
    assert handed(chat) == [user("a"), made(thought), *chat[2:]]


@pytest.mark.rows("OR-TM-04", "OR-TM-05")
def test_what_only_another_model_can_read() -> None:
    """Text and calls lose their signatures, items go; "same" is provider, protocol and model."""
    turn = (TextPart("b", "s2", Raw(b"{}")), call("t", signature="s3", meta=Raw(b"{}")), OpaquePart("k", b"{}"))
    for origin in (ELSEWHERE, Origin("openai", "openai-chat", "gpt-other"), Origin("openai", "openai-responses", "gpt-x")):
        assert handed([user("a"), made(*turn, origin=origin), tool_result("t", "1", name="f")])[1] == made("b", call("t"), origin=origin)


@pytest.mark.rows("OR-TM-01")
def test_images_for_a_model_without_sight() -> None:
    """A run of them is one word, also behind the same word; tool results have their own; who can see, or may, sees."""
    word = TextPart(NO_IMAGE)
    messages = [
        Message("user", (TextPart("look"), PNG, PNG, TextPart("and"), PNG)),
        Message("user", (word, PNG)),
        made(call("t")),
        tool_result("t", [TextPart("shot"), PNG, PNG], name="f"),
    ]
    blind = handed(messages, target(modalities=frozenset({"text"})))
    assert blind == [
        Message("user", (TextPart("look"), word, TextPart("and"), word)),
        Message("user", (word,)),
        messages[2],
        tool_result("t", [TextPart("shot"), TextPart(NO_TOOL_IMAGE)], name="f"),
    ]
    assert handed(messages, target(modalities=frozenset({"text", "image"}))) == messages
    assert handed(messages) == messages


def test_blank_turns() -> None:
    """Text that says nothing goes, alone or beside a call; a turn that has nothing left goes with it (B276)."""
    messages = [user("a"), assistant("  "), made("\n", call("t")), tool_result("t", "", name="f"), made("", " "), user("b")]
    assert handed(messages) == [user("a"), made(call("t")), messages[3], user("b")]


def test_a_mark_of_the_prompt_cache() -> None:
    """It has no text, and is no blank beside something that it marks."""
    mark = TextPart("", meta=Raw(b'{"cachePoint":{"type":"default"}}'))
    messages = [user("a", mark), user(TextPart(" "), "b"), user(mark, TextPart(""))]
    assert handed(messages, target("bedrock-converse")) == [messages[0], Message("user", (TextPart("b"),))]


@pytest.mark.rows("CK-MSG-11", "AMB-52")
def test_one_turn_stored_as_several_messages() -> None:
    """Text and calls of one turn are one turn again, so that parallel calls are answered together (AMB-52)."""
    messages = [user("a"), made("I look"), made(call("t1")), made(call("t2")), tool_result("t1", "1", name="f"), tool_result("t2", "2", name="f")]
    assert handed(messages) == [
        user("a"),
        made("I look", call("t1"), call("t2")),
        answered(ToolResultPart("t1", "1", "f"), ToolResultPart("t2", "2", "f")),
    ]
    apart = [user("a"), made("b"), made("c"), user("d")]
    assert handed(apart) == apart


@pytest.mark.parametrize("protocol", ["anthropic-messages", "bedrock-converse", "gemini"])
def test_a_conversation_that_begins_with_the_model(protocol: str) -> None:
    """Where the user must begin, a word says that something is missing (B277)."""
    messages = [system("s"), made("b"), user("c")]
    assert handed(messages, target(protocol)) == [system("s"), user(NO_START), made("b", origin=HERE), user("c")]
    assert handed(messages) == messages


@pytest.mark.parametrize(
    ("protocol", "key"),
    [("openai-responses", "previous_response_id"), ("openai-responses", "conversation"), ("gemini-interactions", "previous_interaction_id")],
)
def test_the_provider_holds_the_earlier_turns(protocol: str, key: str) -> None:
    """Then a result's call is not ours to see."""
    messages = [tool_result("t", "1"), user("and?")]
    assert hand_off(messages, target(protocol), extra_body={key: "r1"}) == messages
    assert hand_off(messages, target(protocol), extra_body={"other": 1}) == [user("and?")]


def test_threads_are_the_providers_own() -> None:
    """A run of the Assistants API is answered by its own rules."""
    messages = [tool_result("t", "1")]
    assert hand_off(messages, target("openai-assistants")) is messages


def test_as_it_is() -> None:
    """Whoever repairs the history on their own can have it sent as it is."""
    messages = [tool_result("t", "1"), assistant(" ")]
    assert hand_off(messages, target(), History(repair=False)) is messages


@pytest.mark.rows("OR-TM-05", "OR-TM-11")
def test_ids_go_to_calls_and_results_alike() -> None:
    """A vendor's form is its dialect's."""
    messages = [user("a"), made(call("functions.f:0"), origin=ELSEWHERE), tool_result("functions.f:0", "1", name="f")]
    assert handed(messages) == messages  # nobody said that this is no id
    fitted = handed(messages, target(dialect=ChatDialect(call_ids="word-40")))
    assert [fitted[1].parts, fitted[2].parts] == [(call("functions_f_0"),), (ToolResultPart("functions_f_0", "1", "f"),)]


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ('{"a": 1}', '{"a": 1}'),
        ("", ""),
        ("[1]", '{"input":[1]}'),
        ('"x"', '{"input":"x"}'),
        ("{bad", '{"input":"{bad"}'),
        ("\ud800", '{"input":"\ufffd"}'),
    ],
)
def test_arguments_that_are_no_object(arguments: str, sent: str) -> None:
    """Where the wire wants an object they go inside of one; elsewhere they are text, as they came (B280)."""
    messages = [user("a"), made(call("t", arguments=arguments)), tool_result("t", "1", name="f")]
    assert handed(messages, target("gemini"))[1].parts == (call("t", arguments=sent),)
    assert handed(messages) == messages


@pytest.mark.parametrize("protocol", ["ollama-chat", "cohere-chat"])
def test_images_of_a_result_where_results_are_text(protocol: str) -> None:
    """They stand behind the results, as the user's, all of one turn together."""
    messages = [user("a"), made(call("t1"), call("t2")), tool_result("t1", [TextPart("shot"), PNG], name="f"), tool_result("t2", [PNG], name="f")]
    assert handed(messages, target(protocol))[2:] == [
        answered(ToolResultPart("t1", "shot", "f"), ToolResultPart("t2", "(see attached image)", "f")),
        Message("user", (TextPart("Attached image(s) from tool result:"), PNG, PNG)),
    ]
    assert handed(messages)[2:] == [answered(*(part for message in messages[2:] for part in message.parts if isinstance(part, ToolResultPart)))]
