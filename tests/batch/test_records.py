"""What a row's record looks like, in Headwater's own form and in OpenAI's."""

from __future__ import annotations

import json

from headwater.batch import Result, Row, record_line
from headwater.decode import decode
from headwater_codecs.neutral import Request, Response, Timing, error_info, user
from loopback import delta, ending

NOTHING: dict[str, object] = dict.fromkeys(("pool", "connected", "headers", "first_byte", "first_content", "last_content", "end")) | {"consumer": 0.0}
USAGE = {
    "input_tokens": 3,
    "output_tokens": 2,
    "cached_input_tokens": None,
    "cache_write_tokens": None,
    "reasoning_tokens": None,
    "raw": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
}


def answered(data: bytes) -> Response:
    """A decoded answer, at times that are known."""
    response = decode("openai-chat", [data])
    response.timing = Timing(first_content=0.25, end=0.5)
    return response


def row(form: str = "prompt", id: object = "a") -> Row:
    """A row of line 5."""
    return Row(index=3, line=5, id=id, form=form, request=Request(model="m", messages=[user("hi")]))  # type: ignore[arg-type]


def read(result: Result) -> dict[str, object]:
    """The record's one line, read again."""
    line = record_line(result)
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    value = json.loads(line)
    assert isinstance(value, dict)
    return value


def test_answer() -> None:
    """An answer: text, reasons, usage, model, timing, attempts."""
    assert read(Result(row(), answered(delta("hel") + delta("lo") + ending()))) == {
        "id": "a",
        "index": 3,
        "line": 5,
        "text": "hello",
        "finish_reason": "stop",
        "raw_finish_reason": "stop",
        "usage": USAGE,
        "model": "scripted-1",
        "timing": NOTHING | {"first_content": 0.25, "end": 0.5},
        "attempts": 1,
    }


def test_failure_keeps_the_text() -> None:
    """A stream that broke off: the typed error, and what had come."""
    response = decode("openai-chat", [delta("hel")])
    record = read(Result(row(), response, response.error))
    error = record["error"]
    assert isinstance(error, dict)
    assert (record["text"], record["finish_reason"], error["kind"], error["retryable"]) == ("hel", None, "truncated", True)


def test_row_that_was_never_asked() -> None:
    """A bad row has a record too: no attempt was made."""
    bad = Row(index=0, line=2, error=error_info("invalid_request", "line 2: not JSON"))
    assert read(Result(bad, error=bad.error)) == {
        "id": None,
        "index": 0,
        "line": 2,
        "text": "",
        "finish_reason": None,
        "raw_finish_reason": None,
        "usage": None,
        "model": None,
        "timing": NOTHING,
        "attempts": 0,
        "error": {"kind": "invalid_request", "message": "line 2: not JSON"},
    }


def test_tool_calls_and_reasoning() -> None:
    """Calls and reasoning are there when the answer has them."""
    data = (
        b'data: {"choices":[{"index":0,"delta":{"reasoning_content":"hm"}}]}\n\n'
        b'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f","arguments":"{\\"a\\":1}"}}]}}]}\n\n'
    )
    record = read(Result(row(), answered(data + ending("tool_calls"))))
    assert (record["reasoning"], record["tool_calls"]) == (
        "hm",
        [{"id": "c1", "name": "f", "arguments": '{"a":1}', "complete": True, "kind": "function"}],
    )


def test_one_line_for_every_reader() -> None:
    """Characters that some readers take for line ends are escaped, and lone surrogates survive."""
    text = "a\u2028b\u2029c\x85d\r\n\x0be"
    line = record_line(Result(row(id="\ud800"), answered(delta(text) + ending())))
    assert len(line.decode().splitlines()) == 1
    record = json.loads(line)
    assert (record["text"], record["id"]) == (text, "\ud800")


def test_openai_answer() -> None:
    """A batch line is answered in the form of OpenAI's output file."""
    record = read(Result(row("openai"), answered(delta("hello") + ending()), started=1700000000))
    ours = record.pop("headwater")
    assert record == {
        "id": record["id"],
        "custom_id": "a",
        "response": {
            "status_code": 200,
            "request_id": None,
            "body": {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "created": 1700000000,
                "model": "scripted-1",
                "choices": [{"index": 0, "message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
            },
        },
        "error": None,
    }
    assert ours == {
        "index": 3,
        "line": 5,
        "finish_reason": "stop",
        "raw_finish_reason": "stop",
        "timing": NOTHING | {"first_content": 0.25, "end": 0.5},
        "attempts": 1,
    }


def test_openai_refusal() -> None:
    """What the provider refused is its answer, with its status."""
    error = error_info("rate_limit", "slow down", status=429, request_id="req-1")
    record = read(Result(row("openai"), Response(), error))
    assert (record["response"], record["error"]) == (
        {
            "status_code": 429,
            "request_id": "req-1",
            "body": {"error": {"message": "slow down", "type": "rate_limit_error", "param": None, "code": "rate_limit_exceeded"}},
        },
        None,
    )


def test_openai_failure() -> None:
    """What never was an answer is an error, with the partial text beside it."""
    response = decode("openai-chat", [delta("hel")])
    record = read(Result(row("openai"), response, response.error))
    ours, error = record["headwater"], record["error"]
    assert isinstance(ours, dict)
    assert isinstance(error, dict)
    assert (record["response"], error["code"], ours["text"], ours["error"]["kind"]) == (None, "truncated", "hel", "truncated")


def test_ids_of_lines_are_stable() -> None:
    """The same row has the same id in every run, another row another one."""
    one, again, other = (record_line(Result(row("openai", id), error=error_info("network", "x"))) for id in ("a", "a", "b"))
    assert (one == again, one == other) == (True, False)
