"""Which result answers which call: by its id, without one by name and order, never one that another call was meant to get."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from headwater_codecs.neutral import ConfigurationError, Message, Origin, TextPart, ToolCallPart, ToolResultPart, tool_result, user
from headwater_providers.adapter import Target
from headwater_providers.history import History, hand_off

REFUSING = History(strays="refuse")
TARGET = Target(model="gpt-x", provider="openai", protocol="openai-chat", base_url="http://x")


def made(*parts: ToolCallPart | TextPart, **fields: object) -> Message:
    """A turn of the model's."""
    return Message("assistant", parts, **fields)  # type: ignore[arg-type]  # by name


def said(messages: list[Message], history: History | None = None) -> list[tuple[str, str, object]]:
    """What each call is answered in the end: its id as sent, its tool, and the content of its result."""
    sent = hand_off(messages, TARGET, history or History())
    calls = {part.id: part.name for message in sent for part in message.parts if isinstance(part, ToolCallPart)}
    return [(part.id, calls[part.id], part.content) for message in sent for part in message.parts if isinstance(part, ToolResultPart)]


A, B, C = ToolCallPart("a", "f"), ToolCallPart("b", "g"), ToolCallPart("c", "f")
NONE = "No result provided"


@pytest.mark.rows("ADK-OAI-REQ-09")
def test_calls_without_an_id_are_given_one() -> None:
    """One each, in the target's form, the same in every request of the conversation, and their results have it too."""
    messages = [user("x"), made(ToolCallPart("", "f"), ToolCallPart("", "f")), tool_result("", "1"), tool_result("", "2")]
    first, second = said(messages)
    assert (first[1:], second[1:]) == (("f", "1"), ("f", "2"))
    assert first[0] != second[0]
    assert min(len(first[0]), len(second[0])) > 0
    longer = [*messages, made(TextPart("y")), user("z"), made(ToolCallPart("", "g")), tool_result("", "3")]
    assert said(longer)[:2] == [first, second]
    assert len({id for id, _, _ in said(longer)}) == 3


@pytest.mark.rows("ADK-OAI-REQ-10", "ADK-OAI-REQ-12")
@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ([tool_result("", "1"), tool_result("", "2"), tool_result("", "3")], "123"),
        ([tool_result(" ", "1"), tool_result("a", "2"), tool_result("", "3")], "213"),  # what has an id has the say
        ([tool_result("b", "1"), tool_result("", "2"), tool_result("", "3")], "213"),  # else the oldest that is left
        ([tool_result("", "1", name="g"), tool_result("", "2", name="f"), tool_result("", "3", name="f")], "213"),
        ([tool_result("", "1", name="g"), tool_result("", "2"), tool_result("", "3", name="f")], "213"),
    ],
)
def test_results_without_an_id(results: list[Message], expected: str) -> None:
    """They answer the oldest call of the turn before them; that of their own tool, where they have a name. None is refused."""
    messages = [user("x"), made(A, B, C), *results]
    answered = [("a", "f", expected[0]), ("b", "g", expected[1]), ("c", "f", expected[2])]
    assert said(messages) == said(messages, REFUSING) == answered


def test_a_result_of_another_tool() -> None:
    """A call never gets the answer of another tool: it is left without one."""
    assert said([user("x"), made(A), tool_result("", "1", name="g")]) == [("a", "f", NONE)]


def test_results_without_an_id_belong_to_the_turn_before_them() -> None:
    """A call of an earlier turn that nobody answered does not take them."""
    messages = [user("x"), made(A), user("y"), made(B), tool_result("", "1"), tool_result("", "2")]
    assert said(messages) == [("a", "f", NONE), ("b", "g", "1")]


@pytest.mark.rows("ADK-OAI-REQ-11")
def test_results_with_an_id_in_any_order() -> None:
    """Each finds its call, also where strays are refused."""
    messages = [user("x"), made(A, B), tool_result("b", "2"), tool_result("a", "1")]
    assert said(messages, REFUSING) == [("a", "f", "1"), ("b", "g", "2")]


@pytest.mark.rows("ADK-OAI-REQ-10", "ADK-OAI-REQ-11")
@pytest.mark.parametrize(
    ("stray", "words"),
    [
        (tool_result("z", "2"), r"messages\[3\]\.content\[0\]: the result 'z' answers no call before it, or one that has its result: leave it out"),
        (tool_result("a", "2"), r"messages\[3\]\.content\[0\]: the result 'a' answers no call"),
        (tool_result("", "2"), r"messages\[3\]\.content\[0\]: the result has no id, and no call waits for one: give it the id of its call"),
        (tool_result("", "2", name="f"), r"the result of tool 'f' has no id"),
        (Message("user", (TextPart("see"), ToolResultPart("z", "2"))), r"messages\[3\]\.content\[1\]: the result 'z'"),
    ],
)
def test_strays(stray: Message, words: str) -> None:
    """Results of no call, and second ones, are left out; refused where that is asked for, by the number that the caller knows."""
    messages = [user("x"), made(A), tool_result("a", "1"), stray]
    assert said(messages) == [("a", "f", "1")]
    with pytest.raises(ConfigurationError, match=words):
        hand_off(messages, TARGET, REFUSING)


def test_what_the_provider_holds_is_no_stray() -> None:
    """Its calls are not ours to see; of other protocols the same field means nothing."""
    target = replace(TARGET, protocol="openai-responses")
    messages, held = [tool_result("z", "1"), user("and?")], {"previous_response_id": "r1"}
    assert hand_off(messages, target, REFUSING, held) == messages
    for to, extra in ((target, None), (TARGET, held)):
        with pytest.raises(ConfigurationError, match="'z'"):
            hand_off(messages, to, REFUSING, extra)


def test_a_result_before_its_call() -> None:
    """It is an older call's, whose id was used again, or nobody's: the call is not given it."""
    messages = [user("x"), tool_result("a", "old"), made(A), user("y")]
    assert said(messages) == [("a", "f", NONE)]
    with pytest.raises(ConfigurationError, match=r"messages\[1\].*before it"):
        hand_off(messages, TARGET, REFUSING)


@pytest.mark.rows("OR-TM-06", "AMB-26")
@pytest.mark.parametrize("other", [made(A, failed=True), made(TextPart("cut"), ToolCallPart("a", "f", '{"x', complete=False))])
def test_results_of_calls_that_are_not_sent(other: Message) -> None:
    """They go with their calls, and no earlier call with the same id gets them; they are no strays either."""
    messages = [user("x"), made(A), user("y"), other, tool_result("a", "of the other"), user("z")]
    assert said(messages) == said(messages, REFUSING) == [("a", "f", NONE)]
    nameless = [user("x"), made(ToolCallPart("", "f"), failed=True), tool_result("", "of the failed"), user("z")]
    assert said(nameless) == said(nameless, REFUSING) == []


@pytest.mark.rows("OR-TM-07")
def test_words_behind_a_call_that_nobody_answered() -> None:
    """The model went on without its result, so that the error stands between them; also where both are of one model."""
    messages = [user("x"), made(A), made(TextPart("done")), user("y")]
    result = Message("tool", (ToolResultPart("a", NONE, "f", is_error=True),))
    assert hand_off(messages, TARGET) == [messages[0], messages[1], result, messages[2], messages[3]]


@pytest.mark.rows("CK-MSG-11", "AMB-52")
@pytest.mark.parametrize(
    ("pieces", "turns"),
    [
        ([made(TextPart("I look")), made(A), made(B)], [made(TextPart("I look"), A, B)]),
        ([made(A), made(TextPart("I look"))], [made(A, TextPart("I look"))]),
        ([made(TextPart("b")), made(TextPart("c"))], None),
        ([made(A), made(B, origin=Origin("other"))], None),
        ([made(A), made(B, failed=True)], None),
    ],
)
def test_pieces_of_one_turn(pieces: list[Message], turns: list[Message] | None) -> None:
    """They are one again where they hold calls, are of one model, and are answered together; failed ones are none of it."""
    sent = hand_off([user("x"), *pieces, tool_result("a", "1"), tool_result("b", "2")], TARGET)
    made_by_model = [message for message in sent if message.role == "assistant"]
    assert made_by_model == (turns or [piece for piece in pieces if not piece.failed])
