"""The vocabulary: what holds for its structs, whoever fills them."""

from __future__ import annotations

import copy
import pickle
from typing import get_args

import msgspec
import pytest

from headwater_codecs.neutral import (
    TERMINALS,
    Block,
    ChoiceEnd,
    Citation,
    ConfigurationError,
    ErrorInfo,
    Event,
    Finish,
    HeadwaterError,
    MalformedError,
    Message,
    Model,
    OpaquePart,
    Origin,
    ProviderError,
    ReasoningPart,
    Request,
    Response,
    Secret,
    ServerError,
    StreamFailed,
    TextDelta,
    TextPart,
    Timeouts,
    ToolCallPart,
    ToolResultPart,
    TruncatedError,
    Usage,
    assistant,
    error_info,
    exception_for,
    system,
    tool_result,
    user,
)
from headwater_codecs.neutral.errors import EXCEPTIONS, ErrorKind
from headwater_codecs.neutral.request import Timeouts as TimeoutsType

KEY = "sk-not-to-be-seen"


# --- secrets


def test_secret_shows_itself_to_reveal_only() -> None:
    """Not in text, not in a struct's repr, not in JSON or msgpack."""
    secret = Secret(KEY)
    model = Model("m", provider="p", api_key=KEY, headers={"x-key": KEY})
    assert secret.reveal() == KEY
    shown = [repr(secret), str(secret), f"{secret}", f"{secret!r:>3}", repr(model), str(model), repr(Request(model=model, messages=[user("hi")]))]
    assert [text for text in shown if KEY in text] == []
    for encode in (msgspec.json.encode, msgspec.msgpack.encode):
        for value in (secret, model, {"key": [secret]}):
            with pytest.raises(TypeError):
                encode(value)


def test_secret_compares_by_value() -> None:
    """Equal keys are equal and find each other in a cache."""
    assert Secret(KEY) == Secret(KEY) != Secret("other")
    assert Secret(KEY) != KEY
    assert {Secret(KEY): 1}[Secret(KEY)] == 1


def test_model_wraps_its_key() -> None:
    """A key given as text is a Secret from then on."""
    assert Model("m", api_key=KEY).api_key == Secret(KEY)
    assert Model("m").api_key is None


# --- usage

MERGED: dict[str, tuple[Usage, Usage, Usage]] = {
    "the later value": (Usage(5, 1), Usage(5, 3), Usage(5, 3)),
    "nothing is added up": (Usage(5, 10), Usage(5, 4), Usage(5, 4)),
    "None does not overwrite": (Usage(5, 1, 2, 3, 4), Usage(), Usage(5, 1, 2, 3, 4)),
    "zero does not overwrite a count": (Usage(5, 3), Usage(0, 0), Usage(5, 3)),
    "zero is better than nothing": (Usage(), Usage(0, 0), Usage(0, 0)),
    "each field for itself": (Usage(5, None, 2), Usage(None, 7), Usage(5, 7, 2)),
    "raw objects are merged too": (Usage(raw={"a": 1, "b": 1}), Usage(raw={"b": 2}), Usage(raw={"a": 1, "b": 2})),
    "no raw object": (Usage(1), Usage(2), Usage(2)),
}


@pytest.mark.parametrize("name", MERGED)
def test_usage_merged(name: str) -> None:
    """Two reports of one answer as one."""
    first, later, expected = MERGED[name]
    assert first.merged(later) == expected


def test_usage_merged_changes_neither() -> None:
    """The reports themselves stay what they were."""
    first, later = Usage(1, raw={"a": 1}), Usage(2, raw={"b": 2})
    first.merged(later)
    assert (first, later) == (Usage(1, raw={"a": 1}), Usage(2, raw={"b": 2}))


# --- timeouts and requests


@pytest.mark.parametrize("name", ["connect", "first_content", "idle", "total"])
@pytest.mark.parametrize("value", [0, -1, float("nan")])
def test_timeouts_refuse_what_is_no_time(name: str, value: float) -> None:
    """Zero would fail every stream: the error names the field and says what to give instead."""
    with pytest.raises(ConfigurationError, match=rf"Timeouts\.{name} is {value}: give seconds above zero, or None"):
        TimeoutsType(**{name: value})


def test_timeouts_take_none_and_small_values() -> None:
    """None switches a deadline off."""
    assert Timeouts(None, None, None, None).idle is None
    assert (Timeouts().connect, Timeouts().first_content, Timeouts().idle, Timeouts().total) == (10.0, 600.0, 300.0, None)
    assert Timeouts(total=0.001).total == 0.001


def test_requests_are_frozen() -> None:
    """Nobody can change a request, its model, its messages or its deadlines."""
    request = Request(model=Model("m"), messages=[user("hi")], timeouts=Timeouts())
    for part, name in ((request, "model"), (request.model, "id"), (request.messages[0], "content"), (request.timeouts, "idle")):
        with pytest.raises(AttributeError):
            setattr(part, name, None)


def test_messages() -> None:
    """The short forms make plain messages; text stays text, parts become a tuple."""
    assert system("a") == Message("system", "a")
    assert user("a") == Message("user", "a")
    assert user("a", "b") == Message("user", (TextPart("a"), TextPart("b")))
    assert assistant(ToolCallPart("t", "f")) == Message("assistant", (ToolCallPart("t", "f"),))
    assert tool_result("t", "ok", is_error=True) == Message("tool", (ToolResultPart("t", "ok", None, True),))
    assert tool_result("t", [TextPart("ok")]).parts == (ToolResultPart("t", (TextPart("ok"),)),)
    assert [message.parts for message in (user("a"), user(""), user())] == [(TextPart("a"),), (), ()]


# --- events


def test_events_are_tagged_and_frozen() -> None:
    """Every event has its own `type`, leaves defaults out, and cannot be changed."""
    kinds = get_args(Event)
    tags = [msgspec.inspect.type_info(kind).tag for kind in kinds]  # type: ignore[attr-defined]  # every one is a tagged struct
    assert len(set(tags)) == len(kinds) == 21
    assert msgspec.json.encode(TextDelta(0, "a")) == b'{"type":"text_delta","index":0,"text":"a"}'
    assert msgspec.json.encode(ChoiceEnd(0, "stop")) == b'{"type":"choice_end","choice":0,"finish_reason":"stop"}'
    for kind in kinds:
        assert kind.__struct_config__.frozen
    assert {Finish, StreamFailed} == TERMINALS


# --- errors


def test_every_kind_has_its_exception() -> None:
    """One table maps kinds to classes; the class of a kind carries that kind."""
    assert set(EXCEPTIONS) == set(get_args(ErrorKind))
    for kind in get_args(ErrorKind):
        info = error_info(kind, "said")
        raised = exception_for(info)
        assert type(raised) is EXCEPTIONS[kind]
        assert (raised.info, str(raised), raised.response) == (info, "said", None)
        assert EXCEPTIONS[kind].kind == kind


def test_error_made_from_text() -> None:
    """An exception made from a sentence has the info of its class."""
    assert MalformedError("said").info == ErrorInfo("malformed", "said")
    assert TruncatedError("said").info == ErrorInfo("truncated", "said", retryable=True)


def test_error_info_with_changes() -> None:
    """A copy with some fields replaced; the original stays."""
    info = error_info("server", "said")
    assert info.with_(status=502, retryable=False) == ErrorInfo("server", "said", status=502)
    assert info == ErrorInfo("server", "said", retryable=True)


# --- responses


def block(response: Response, kind: str, *fragments: str, choice: int = 0, complete: bool = True) -> Block:
    """Add a closed block, as the aggregator does."""
    made = Block(kind, sum(len(each.blocks) for each in response.choices), choice)  # type: ignore[arg-type]  # given as text
    made.fragments += fragments
    made.closed, made.complete = True, complete
    response.choice(choice).blocks.append(made)
    return made


def call(response: Response, id: str, *fragments: str, complete: bool = True) -> Block:
    """Add a closed tool call."""
    made = block(response, "tool_call", *fragments, complete=complete)
    made.id, made.name = id, "f"
    return made


def test_response_before_anything() -> None:
    """An empty response answers every question without a special case."""
    response = Response()
    assert (response.text, response.reasoning, response.refusal, response.tool_calls, response.blocks) == ("", "", None, [], [])
    assert (response.finish_reason, response.raw_finish_reason, response.usage, response.error, response.ok) == (None, None, None, None, False)
    assert len(response.choices) == 1
    assert response.to_exception() is None


def test_response_fields_are_those_of_choice_0() -> None:
    """Blocks are joined per channel in their order; other choices are apart."""
    response = Response()
    block(response, "reasoning", "th", "ink")
    block(response, "text", "A", "B")
    call(response, "t1", '{"n"', ":1}")
    block(response, "text", "C")
    block(response, "refusal", "no")
    block(response, "text", "other", choice=2)
    assert (response.text, response.reasoning, response.refusal) == ("ABC", "think", "no")
    assert [(made.id, made.name, made.arguments, made.input) for made in response.tool_calls] == [("t1", "f", '{"n":1}', {"n": 1})]
    assert [choice.text for choice in response.choices] == ["ABC", "", "other"]
    assert [made.kind for made in response.blocks] == ["reasoning", "text", "tool_call", "text", "refusal"]


def test_fragments_are_joined_once() -> None:
    """Asking again joins nothing again, and pieces that come later are appended to what was joined."""
    response = Response()
    made = block(response, "text", *"abcdef")
    held = made.fragments
    assert response.text == "abcdef"
    assert made.fragments == ["abcdef"]
    assert made.fragments is held  # the aggregator holds this very list
    first = made.text
    assert made.text is first
    held.append("g")
    assert response.text == "abcdefg"
    assert made.fragments == ["abcdefg"]


@pytest.mark.parametrize(
    ("fragments", "complete", "arguments"),
    [((), True, "{}"), ((" \n",), True, "{}"), ((), False, ""), (('{"a',), False, '{"a'), (('{"a":1}',), True, '{"a":1}')],
)
def test_arguments(fragments: tuple[str, ...], complete: bool, arguments: str) -> None:
    """Empty arguments of a whole call are an empty object; those of a cut call stay what they are."""
    response = Response()
    call(response, "t1", *fragments, complete=complete)
    assert (response.tool_calls[0].arguments, response.tool_calls[0].complete) == (arguments, complete)


def test_input_is_strict() -> None:
    """Arguments that are no JSON are an error that names the call; a custom tool's text is no JSON at all."""
    response = Response()
    cut = call(response, "t1", '{"a', complete=False)
    with pytest.raises(MalformedError, match=r"the arguments of call t1 \(f\) are not JSON"):
        _ = response.tool_calls[0].input
    cut.arguments_kind = "custom"
    assert response.tool_calls[0].input == '{"a'


@pytest.mark.parametrize(
    ("reason", "ok"),
    [
        ("stop", True),
        ("tool_calls", True),
        ("pause", True),
        ("length", False),
        ("content_filter", False),
        ("refusal", False),
        ("error", False),
        ("unknown", False),
    ],
)
def test_ok(reason: str, ok: bool) -> None:
    """An answer is ok when it ended as it should, and never after a failure."""
    response = Response()
    response.choice(0).finish_reason = reason  # type: ignore[assignment]  # given as text
    assert response.ok is ok
    response.error = ErrorInfo("truncated", "cut")
    assert response.ok is False


def test_raise_for_error() -> None:
    """The typed error carries what was received; a finish reason `error` counts as the provider's failure."""
    response = Response()
    response.raise_for_error()
    response.choice(0).finish_reason = "error"
    response.choice(0).raw_finish_reason = "gave_up"
    with pytest.raises(ServerError, match="the provider ended the answer with an error: gave_up") as caught:
        response.raise_for_error()
    assert caught.value.response is response
    assert isinstance(caught.value, ProviderError)
    response.error = ErrorInfo("truncated", "cut", retryable=True)
    with pytest.raises(TruncatedError, match="cut") as truncated:
        response.raise_for_error()
    assert truncated.value.response is response


def test_message_of_a_response() -> None:
    """The answer as a turn of the conversation: in order, opaque parts byte-exact, cut calls and empty text left out."""
    response = Response()
    response.provider, response.protocol, response.model = "p", "openai-chat", "m"
    thought = block(response, "reasoning", "hm")
    thought.signature = "sig"
    hidden = block(response, "reasoning")
    hidden.redacted, hidden.data, hidden.meta = True, "QUJD", msgspec.Raw(b'{"a": 1}')
    block(response, "text", "Hi").citations.append(Citation(2, url="http://x"))
    block(response, "text")
    call(response, "t1")
    call(response, "t2", '{"a', complete=False)
    searched = block(response, "opaque")
    searched.opaque_kind, searched.raw = "search", b'{"type": "search"}'
    assert response.message() == Message(
        "assistant",
        (
            ReasoningPart("hm", "sig"),
            ReasoningPart("", None, True, "QUJD", msgspec.Raw(b'{"a": 1}')),
            TextPart("Hi"),
            ToolCallPart("t1", "f", "{}"),
            OpaquePart("search", b'{"type": "search"}'),
        ),
        origin=Origin("p", "openai-chat", "m"),
    )


def test_errors_survive_copying() -> None:
    """An error and its info can be copied and pickled: they cross worker processes."""
    error = ServerError(error_info("server", "boom", status=500))
    for made in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert (type(made), made.info, str(made)) == (ServerError, error.info, "boom")
    assert isinstance(error, HeadwaterError)
