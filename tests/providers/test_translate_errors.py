"""Errors inside a stream that began well, however the server wraps them, and what only looks like one."""

from __future__ import annotations

import pytest

from chat_frames import DONE, STOP, delta, frame, translated
from headwater_codecs.neutral import ChoiceEnd, Citation, Event, Finish, StreamFailed, TextDelta, TextEnd, TextStart, UsageUpdate
from headwater_codecs.sse import Frame
from headwater_providers.bare_error import is_bare_error, says_error

Json = dict[str, object]
HI: list[Event] = [TextStart(0), TextDelta(0, "Hi"), TextEnd(0)]
BROKEN: list[Event] = [TextStart(0), TextDelta(0, "Hi"), TextEnd(0, complete=False)]
STOPPED: list[Event] = [ChoiceEnd(0, "stop", "stop"), Finish("stop", "stop")]


@pytest.mark.rows("WIRE-12")
@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        ({"error": {"message": "m", "type": "server_error", "code": 500}}, "server", "m"),
        ({"error": {"message": "m", "code": "rate_limit_exceeded"}}, "rate_limit", "m"),
        ({"error": {"message": "m", "type": "invalid_request_error", "code": "tool_use_failed", "status_code": 400}}, "invalid_request", "m"),
        ({"error": {"code": 503}}, "overloaded", "the provider gave an error without a message (no code)"),
        ({"error": "m"}, "server", "m"),
        ({"error": ["m"]}, "server", "m"),
        ({"error": True, "message": "m", "code": 429}, "rate_limit", "m"),
        ({"error": 500, "message": "m"}, "server", "m"),
        ({"error": {"message": "m"}, "choices": []}, "server", "m"),
        ({"error": {"message": "m"}, "choices": None}, "server", "m"),
        ({"error": {"message": "m"}, "choices": "odd"}, "server", "m"),
        ({"error": {"message": "m", "code": 502}, "choices": [{"delta": {"content": ""}, "finish_reason": "error"}]}, "server", "m"),
        ({"choices": [{"delta": {}, "error": {"message": "m", "code": 401}}]}, "auth", "m"),
        ({"choices": [], "x_groq": {"error": "m"}}, "server", "m"),
        ({"type": "error", "error": {"type": "overloaded_error", "message": "m"}}, "overloaded", "m"),
        ([{"error": {"message": "m", "code": 503, "status": "UNAVAILABLE"}}], "overloaded", "m"),
        # without the key `error`
        ({"object": "error", "message": "m", "code": 50001}, "server", "m"),
        ({"object": "error", "message": "m", "type": "BadRequestError", "param": None, "code": 400}, "invalid_request", "m"),
        ({"type": "error", "message": "m"}, "server", "m"),
        ({"message": "m", "type": "server_error", "param": None, "code": None}, "server", "m"),
        ({"code": "InvalidParameter", "message": "m", "request_id": "r"}, "invalid_request", "m"),
        ({"code": 500, "msg": "m", "success": False}, "server", "m"),
        ({"error_code": 336100, "error_message": "m"}, "server", "m"),
        ({"detail": "m"}, "server", "m"),
        ({"detail": [{"loc": ["body", "n"], "msg": "m"}]}, "server", "body.n: m"),
        ({"errors": [{"message": "m"}]}, "server", "m"),
        ({"message": "m"}, "server", "m"),
        ({"status": 500, "message": "m"}, "server", "m"),
        ({"choices": None, "base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}, "quota", "insufficient balance"),
    ],
)
def test_errors_in_band(value: object, kind: str, message: str) -> None:
    """What the server says becomes the error, of the kind that its own words give; what came before stays."""
    events = translated(delta(content="Hi"), frame(value), STOP)
    assert events[:-1] == BROKEN
    assert isinstance(events[-1], StreamFailed)
    assert (events[-1].error.kind, events[-1].error.message, events[-1].error.phase) == (kind, message, "stream")


@pytest.mark.rows("WIRE-12", "AMB-61")
@pytest.mark.parametrize(
    "value",
    [
        {"error": None},
        {"error": {}},
        {"error": ""},
        {"error": False},
        {"error": []},
        {"error": {"message": "", "code": None, "type": "", "param": {}}},
        {"error": {"message": None, "code": 0}},
        {"choices": [{"delta": {}, "error": None}]},
        {"choices": [{"delta": {}, "error": {"message": ""}}]},
        {"x_groq": {"id": "r", "error": None}},
        {"x_groq": {"error": ""}},
        {"code": 0, "message": "success", "data": {}},
        {"code": "200", "message": "ok"},
        {"base_resp": {"status_code": 0, "status_msg": ""}},
        {"object": "chat.completion.chunk", "message": ""},
        {"type": "status", "status": "", "message": "queued", "position": 3},
        {"detail": None, "errors": []},
        {"choices": [], "usage": {"prompt_tokens": 0}, "code": 500, "message": "m"},
    ],
)
def test_no_errors(value: Json) -> None:
    """Nulls, nothings and good tidings are no errors."""
    events = translated(delta(content="Hi"), frame(value), STOP)
    assert [event for event in events if type(event) is not UsageUpdate][:-1] == [*HI, STOPPED[0]]
    assert isinstance(events[-1], Finish)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"message":"m","code":"502"}', "m"),
        (b'{"error":{"message":"m"}}', "m"),
        (b'{"error":"m"}', "m"),
        (b"m", "m"),
        (b'"m"', "m"),
        (b'{"choices":[{"delta":{"content":"x"}}],"message":"m"}', "m"),
    ],
)
@pytest.mark.parametrize("event", ["error", "Error", " error"])
def test_errors_by_event_name(data: bytes, message: str, event: str) -> None:
    """A frame that is called an error is one, whatever it holds."""
    events = translated(delta(content="Hi"), Frame(data, event), STOP)
    assert events[:-1] == BROKEN
    assert isinstance(events[-1], StreamFailed)
    assert events[-1].error.message == message


def test_what_came_with_an_error_is_kept() -> None:
    """Text, usage, sources and the finish reason of the same frame are read before it ends the stream, and nothing is sent behind."""
    value = {
        "choices": [{"delta": {"content": "Hi"}, "finish_reason": "error"}],
        "usage": {"prompt_tokens": 1},
        "citations": ["u"],
        "x_groq": {"error": "first"},
        "error": {"message": "second"},
    }
    events = translated(frame(value), DONE)
    assert [type(event) for event in events] == [TextStart, TextDelta, UsageUpdate, Citation, TextEnd, StreamFailed]
    assert isinstance(events[-1], StreamFailed)
    assert (events[-1].error.message, events[-1].raw_finish_reason) == ("second", "error")
    assert events[-1].usage is not None
    assert events[-1].usage.input_tokens == 1


def test_a_finish_reason_that_is_an_error() -> None:
    """Without an error beside it, it is a reason like any other: no exception."""
    events = translated(delta(content="Hi"), delta(finish="error"))
    assert events == [*HI, ChoiceEnd(0, "error", "error"), Finish("error", "error")]


@pytest.mark.rows("WIRE-17")
def test_an_error_as_the_whole_body() -> None:
    """A JSON document that is an error, where a stream was asked for."""
    events = translated(frame({"error": {"message": "m", "type": "invalid_request_error"}}, terminated=False))
    assert isinstance(events[-1], StreamFailed)
    assert (events[-1].error.kind, events[-1].error.retryable) == ("invalid_request", False)


def test_error_text_can_be_encoded() -> None:
    """Half a surrogate pair in a message does not break whoever writes it down."""
    for odd in (frame({"error": {"message": "m\ud83d"}}), frame({"message": "m\ud83d"}, "error"), frame({"message": "m\ud83d", "code": 500})):
        events = translated(odd)
        assert isinstance(events[-1], StreamFailed)
        assert events[-1].error.message == "m\ufffd"


def test_says_error() -> None:
    """An object of nothings says nothing, an unusual value something."""
    assert [says_error(value) for value in (None, 0, {"a": [], "b": {}}, {"a": 1}, "x", [{}], 5, {"code": False})] == [
        False,
        False,
        False,
        True,
        True,
        True,
        True,
        False,
    ]


def test_bare_errors_with_odd_values() -> None:
    """Values of any type are looked at, none raises."""
    odd: list[object] = [None, True, 1.5, [], {}, "x", [1], {"a": 1}]
    for name in ("message", "code", "object", "type", "status", "success", "base_resp", "errors", "detail"):
        for value in odd:
            assert is_bare_error({"other": 1, name: value}) in (True, False)
