"""ollama-chat, cohere-chat, openai-text, openai-assistants and gemini-interactions: literal streams, and what they tell."""

from __future__ import annotations

import json

import pytest

from told import lines, sse, told, without_made_up

NDJSON = "application/x-ndjson"


def line(done: bool = False, **message: object) -> dict[str, object]:
    """A line of Ollama's."""
    return {"model": "m", "created_at": "t", "message": {"role": "assistant", "content": "", **message}, "done": done}


LAST = {**line(done=True), "done_reason": "stop", "prompt_eval_count": 5, "eval_count": 7, "total_duration": 1}
OLLAMA: dict[str, tuple[bytes, list[object]]] = {
    "text": (lines(line(content="Hel"), line(content="lo é"), LAST), [("text", "Hello é"), ("stop", "stop"), (5, 7, None, None, None)]),
    "thinking": (
        lines(line(thinking="pl"), line(thinking="an"), line(content="Hi"), LAST),
        [("reasoning", "plan"), ("text", "Hi"), ("stop", "stop"), (5, 7, None, None, None)],
    ),
    "calls without ids": (
        lines(line(tool_calls=[{"function": {"name": "f", "arguments": {"a": 1}}}, {"function": {"index": 1, "name": "f", "arguments": {}}}]), LAST),
        [("call", "*", "f", '{"a":1}'), ("call", "*", "f", "{}"), ("tool_calls", "stop"), (5, 7, None, None, None)],
    ),
    "length": (lines(line(content="a"), {**LAST, "done_reason": "length"}), [("text", "a"), ("length", "length"), (5, 7, None, None, None)]),
    "the older generate": (
        lines({"model": "m", "response": "a", "done": False}, {"response": "", "done": True, "done_reason": "stop"}),
        [("text", "a"), ("stop", "stop")],
    ),
    "an error line": (lines(line(content="par"), {"error": "model runner has crashed"}), [("text", "par"), ("server", None)]),
    "cut between lines": (lines(line(content="par")), [("text", "par"), ("truncated", None)]),
    "cut in a line": (lines(line(content="par")) + b'{"mess', [("text", "par"), ("truncated", None)]),
    "no JSON": (lines(line(content="par")) + b"oops\n" + lines(LAST), [("text", "par"), ("malformed", None)]),
    "blank lines, CRLF and a byte order mark": (
        b"\xef\xbb\xbf\r\n" + lines(line(content="a"), LAST).replace(b"\n", b"\r\n\r\n"),
        [("text", "a"), ("stop", "stop"), (5, 7, None, None, None)],
    ),
}


@pytest.mark.parametrize("name", OLLAMA)
def test_ollama(name: str) -> None:
    """The lines tell this, wherever they are cut."""
    data, expected = OLLAMA[name]
    assert without_made_up(told("ollama-chat", data, NDJSON)) == expected


def cohere(kind: str, index: int = 0, **message: object) -> dict[str, object]:
    """An event of Cohere's."""
    return {"type": kind, "index": index, "delta": {"message": message}}


def cohere_end(reason: str, **more: object) -> dict[str, object]:
    """The end of the message."""
    usage = {"billed_units": {"input_tokens": 1, "output_tokens": 2}, "tokens": {"input_tokens": 9, "output_tokens": 4}, "cached_tokens": 3}
    return {"type": "message-end", "delta": {"finish_reason": reason, "usage": usage, **more}}


COHERE_START = {"type": "message-start", "id": "r1", "delta": {"message": {"role": "assistant", "content": []}}}
COHERE: dict[str, tuple[list[object], list[object]]] = {
    "text": (
        [
            COHERE_START,
            cohere("content-start", content={"type": "text", "text": ""}),
            cohere("content-delta", content={"text": "Hel"}),
            cohere("content-delta", content={"text": "lo"}),
            cohere("content-end"),
            cohere_end("COMPLETE"),
            "[DONE]",
        ],
        [("text", "Hello"), ("stop", "COMPLETE"), (9, 4, 3, None, None)],
    ),
    "thinking": (
        [
            COHERE_START,
            cohere("content-delta", content={"thinking": "plan"}),
            cohere("content-end"),
            cohere("content-delta", 1, content={"text": "Hi"}),
            cohere_end("COMPLETE"),
        ],
        [("reasoning", "plan"), ("text", "Hi"), ("stop", "COMPLETE"), (9, 4, 3, None, None)],
    ),
    "a plan and a call": (
        [
            COHERE_START,
            cohere("tool-plan-delta", tool_plan="I "),
            cohere("tool-plan-delta", tool_plan="will"),
            cohere("tool-call-start", tool_calls={"id": "c1", "type": "function", "function": {"name": "f", "arguments": ""}}),
            cohere("tool-call-delta", tool_calls={"function": {"arguments": '{"a":'}}),
            cohere("tool-call-delta", tool_calls={"function": {"arguments": "1}"}}),
            cohere("tool-call-end"),
            cohere_end("TOOL_CALL"),
        ],
        [("opaque", "tool_plan", '"I will"'), ("call", "c1", "f", '{"a":1}'), ("tool_calls", "TOOL_CALL"), (9, 4, 3, None, None)],
    ),
    "a source": (
        [
            COHERE_START,
            cohere("content-delta", content={"text": "a"}),
            cohere(
                "citation-start",
                citations={"start": 0, "end": 1, "text": "a", "sources": [{"type": "document", "id": "d", "document": {"title": "T", "url": "u"}}]},
            ),
            cohere("citation-end"),
            cohere_end("COMPLETE"),
        ],
        [("text", "a"), ("cited", "document", "u", "T", "a"), ("stop", "COMPLETE"), (9, 4, 3, None, None)],
    ),
    "length": (
        [COHERE_START, cohere("content-delta", content={"text": "a"}), cohere_end("MAX_TOKENS")],
        [("text", "a"), ("length", "MAX_TOKENS"), (9, 4, 3, None, None)],
    ),
    "an error at the end": (
        [COHERE_START, cohere("content-delta", content={"text": "a"}), cohere_end("ERROR", error="broke", error_type="INTERNAL")],
        [("text", "a"), ("server", "ERROR"), (9, 4, 3, None, None)],
    ),
    "no end": ([COHERE_START, cohere("content-delta", content={"text": "a"})], [("text", "a"), ("truncated", None)]),
}


@pytest.mark.parametrize("name", COHERE)
def test_cohere(name: str) -> None:
    """The stream tells this, wherever it is cut."""
    frames, expected = COHERE[name]
    assert told("cohere-chat", sse(*frames)) == expected


def test_cohere_whole() -> None:
    """An answer that was not streamed."""
    body = {
        "id": "r1",
        "message": {
            "role": "assistant",
            "tool_plan": "p",
            "content": [{"type": "text", "text": "a"}],
            "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}],
        },
        "finish_reason": "TOOL_CALL",
    }
    assert told("cohere-chat", json.dumps(body).encode(), "application/json") == [
        ("opaque", "tool_plan", '"p"'),
        ("text", "a"),
        ("call", "c", "f", "{}"),
        ("tool_calls", "TOOL_CALL"),
    ]


def piece(text: str, index: int = 0, finish: str | None = None) -> dict[str, object]:
    """A chunk of a completion."""
    return {
        "id": "r1",
        "object": "text_completion",
        "model": "m",
        "choices": [{"text": text, "index": index, "logprobs": None, "finish_reason": finish}],
        "usage": None,
    }


TEXT_USAGE = {"id": "r1", "choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}}
TEXTS: dict[str, tuple[list[object], list[object]]] = {
    "text": (
        [piece("Hel"), piece("lo"), piece("", finish="stop"), TEXT_USAGE, "[DONE]"],
        [("text", "Hello"), ("stop", "stop"), (3, 2, None, None, None)],
    ),
    "two answers": (
        [piece("a"), piece("b", 1), piece("", 1, "length"), piece("c", 0, "stop"), "[DONE]"],
        [("text", "ac"), (1, "text", "b"), ("stop", "stop")],
    ),
    "only the end marker": ([piece("a"), "[DONE]"], [("text", "a"), ("unknown", None)]),
    "only the reason": ([piece("a", finish="length")], [("text", "a"), ("length", "length")]),
    "neither": ([piece("a")], [("text", "a"), ("truncated", None)]),
    "an error": ([piece("a"), {"error": {"message": "busy", "type": "server_error", "code": "overloaded"}}], [("text", "a"), ("overloaded", None)]),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text(name: str) -> None:
    """The stream tells this, wherever it is cut."""
    frames, expected = TEXTS[name]
    assert told("openai-text", sse(*frames)) == expected


def named(kind: str, value: object) -> bytes:
    """An event of an Assistants stream: its name stands in the `event:` line alone."""
    return f"event: {kind}\ndata: {value if isinstance(value, str) else json.dumps(value)}\n\n".encode()


def said(text: str) -> bytes:
    """A piece of a message."""
    return named(
        "thread.message.delta",
        {"id": "msg1", "object": "thread.message.delta", "delta": {"content": [{"index": 0, "type": "text", "text": {"value": text}}]}},
    )


def run(status: str, **more: object) -> bytes:
    """The run is in this state."""
    return named(f"thread.run.{status}", {"id": "run1", "object": "thread.run", "model": "m", "status": status, **more})


RUN = run("created") + run("in_progress") + named("thread.run.step.created", {"id": "step1", "step_details": {"type": "message_creation"}})
RUN_USAGE = {"usage": {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}}
FUNCTION = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
REQUIRED = run("requires_action", required_action={"type": "submit_tool_outputs", "submit_tool_outputs": {"tool_calls": [FUNCTION]}}, **RUN_USAGE)
CODE = {"index": 0, "id": "ci1", "type": "code_interpreter", "code_interpreter": {"input": "1+", "outputs": []}}
ASSISTANTS: dict[str, tuple[bytes, list[object]]] = {
    "text": (
        RUN + named("thread.message.created", {"id": "msg1"}) + said("Hel") + said("lo") + run("completed", **RUN_USAGE) + named("done", "[DONE]"),
        [("text", "Hello"), ("stop", "completed"), (9, 4, None, None, None)],
    ),
    "a message that came whole": (
        RUN
        + named("thread.message.completed", {"id": "msg1", "content": [{"type": "text", "text": {"value": "Hello", "annotations": []}}]})
        + run("completed"),
        [("text", "Hello"), ("stop", "completed")],
    ),
    "calls, told at the end": (RUN + REQUIRED, [("call", "c1", "f", '{"a":1}'), ("tool_calls", "requires_action"), (9, 4, None, None, None)]),
    "calls in pieces": (
        RUN
        + named(
            "thread.run.step.delta",
            {
                "id": "step2",
                "delta": {
                    "step_details": {
                        "type": "tool_calls",
                        "tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": ""}}],
                    }
                },
            },
        )
        + named(
            "thread.run.step.delta",
            {
                "id": "step2",
                "delta": {
                    "step_details": {"type": "tool_calls", "tool_calls": [{"index": 0, "type": "function", "function": {"arguments": '{"a":1}'}}]}
                },
            },
        )
        + REQUIRED,
        [("call", "c1", "f", '{"a":1}'), ("tool_calls", "requires_action"), (9, 4, None, None, None)],
    ),
    "the provider's own tool": (
        RUN
        + named("thread.run.step.delta", {"id": "step2", "delta": {"step_details": {"type": "tool_calls", "tool_calls": [CODE]}}})
        + named(
            "thread.run.step.delta",
            {
                "id": "step2",
                "delta": {
                    "step_details": {
                        "type": "tool_calls",
                        "tool_calls": [{"index": 0, "type": "code_interpreter", "code_interpreter": {"input": "1"}}],
                    }
                },
            },
        )
        + said("2")
        + run("completed"),
        [
            ("opaque", "code_interpreter", '{"index":0,"id":"ci1","type":"code_interpreter","code_interpreter":{"input":"1+1","outputs":[]}}'),
            ("text", "2"),
            ("stop", "completed"),
        ],
    ),
    "incomplete": (
        RUN + said("a") + run("incomplete", incomplete_details={"reason": "max_completion_tokens"}),
        [("text", "a"), ("length", "incomplete")],
    ),
    "failed": (
        RUN + said("a") + run("failed", last_error={"code": "rate_limit_exceeded", "message": "slow"}),
        [("text", "a"), ("rate_limit", "failed")],
    ),
    "expired": (RUN + run("expired"), [("timeout", "expired")]),
    "an error": (RUN + named("error", {"error": {"code": "server_error", "message": "broke"}}), [("server", None)]),
    "no end": (RUN + said("a") + named("done", "[DONE]"), [("text", "a"), ("truncated", None)]),
}


@pytest.mark.rows("WIRE-11", "WIRE-55")
@pytest.mark.parametrize("name", ASSISTANTS)
def test_assistants(name: str) -> None:
    """The stream tells this, wherever it is cut."""
    data, expected = ASSISTANTS[name]
    assert told("openai-assistants", data) == expected


def step(kind: str, index: int, **more: object) -> dict[str, object]:
    """An event about a step."""
    return {"event_type": f"step.{kind}", "index": index, **more}


CREATED = {"event_type": "interaction.created", "interaction": {"id": "i1", "model": "m", "status": "in_progress"}}


def interaction(status: str, **more: object) -> dict[str, object]:
    """The end."""
    usage = {"total_input_tokens": 9, "total_output_tokens": 4, "total_thought_tokens": 2, "total_cached_tokens": 1}
    return {"event_type": "interaction.completed", "interaction": {"id": "i1", "status": status, "usage": usage, **more}}


COUNTED = (9, 6, 1, None, 2)
INTERACTIONS: dict[str, tuple[list[object], list[object]]] = {
    "thought and text": (
        [
            CREATED,
            step("start", 0, step={"type": "thought"}),
            step("delta", 0, delta={"type": "thought_summary", "content": {"type": "text", "text": "plan"}}),
            step("delta", 0, delta={"type": "thought_signature", "signature": "SIG"}),
            step("stop", 0),
            step("start", 1, step={"type": "model_output"}),
            step("delta", 1, delta={"type": "text", "text": "Hi"}),
            step("stop", 1),
            interaction("completed"),
            "[DONE]",
        ],
        [("reasoning", "plan", "SIG"), ("text", "Hi"), ("stop", "completed"), COUNTED],
    ),
    "a call": (
        [
            CREATED,
            step("start", 0, step={"type": "function_call", "id": "c1", "name": "f", "signature": "", "arguments": {}}),
            step("delta", 0, delta={"type": "arguments_delta", "arguments": '{"a":1}'}),
            step("stop", 0),
            interaction("requires_action"),
        ],
        [("call", "c1", "f", '{"a":1}'), ("tool_calls", "requires_action"), COUNTED],
    ),
    "a call that came whole": (
        [
            CREATED,
            step("start", 0, step={"type": "function_call", "id": "c1", "name": "f", "arguments": {"a": 1}}),
            step("stop", 0),
            interaction("requires_action"),
        ],
        [("call", "c1", "f", '{"a":1}'), ("tool_calls", "requires_action"), COUNTED],
    ),
    "a search of the provider's": (
        [
            CREATED,
            step("start", 0, step={"type": "google_search_call", "id": "g1"}),
            step("delta", 0, delta={"type": "x", "arguments": {"queries": ["q"]}}),
            step("stop", 0),
            interaction("completed"),
        ],
        [("opaque", "google_search_call", '{"type":"google_search_call","id":"g1","arguments":{"queries":["q"]}}'), ("stop", "completed"), COUNTED],
    ),
    "failed": (
        [CREATED, {"event_type": "interaction.failed", "interaction": {"status": "failed", "error": {"code": "unavailable", "message": "busy"}}}],
        [("overloaded", None)],
    ),
    "an error": ([CREATED, {"event_type": "error", "error": {"code": "internal_error", "message": "broke"}}], [("server", None)]),
    "no end": (
        [CREATED, step("start", 0, step={"type": "model_output"}), step("delta", 0, delta={"type": "text", "text": "par"})],
        [("text", "par"), ("truncated", None)],
    ),
}


@pytest.mark.parametrize("name", INTERACTIONS)
def test_interactions(name: str) -> None:
    """The stream tells this, wherever it is cut."""
    frames, expected = INTERACTIONS[name]
    assert told("gemini-interactions", sse(*frames, event="event_type")) == expected
