"""openai-responses: literal streams, and what they tell."""

from __future__ import annotations

import json

import pytest

import headwater
from helpers import with_rows
from told import sse, told

P = "openai-responses"
CREATED = {"type": "response.created", "sequence_number": 0, "response": {"id": "r1", "model": "m", "status": "in_progress", "output": []}}
USAGE = {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 2}}
COUNTS = (9, 5, 4, None, 2)


def completed(*output: object, status: str = "completed", **more: object) -> dict[str, object]:
    """The terminal event."""
    return {"type": f"response.{status}", "response": {"id": "r1", "model": "m", "status": status, "output": list(output), "usage": USAGE, **more}}


def added(index: int, **item: object) -> dict[str, object]:
    """An item is announced."""
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def done(index: int, **item: object) -> dict[str, object]:
    """An item has ended."""
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def event(kind: str, index: int, id: str, **more: object) -> dict[str, object]:
    """An event about an item."""
    return {"type": f"response.{kind}", "output_index": index, "item_id": id, **more}


MESSAGE = {
    "id": "m1",
    "type": "message",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Hello", "annotations": []}],
}
CALL = {"id": "fc1", "type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a":1}', "status": "completed"}
CASES: dict[str, tuple[list[object], list[object]]] = {
    "text in pieces, restated three times": (
        [
            CREATED,
            {"type": "response.in_progress", "response": {"id": "r1"}},
            added(0, id="m1", type="message", content=[]),
            event("content_part.added", 0, "m1", content_index=0, part={"type": "output_text", "text": ""}),
            event("output_text.delta", 0, "m1", content_index=0, delta="Hel"),
            event("output_text.delta", 0, "m1", content_index=0, delta="lo"),
            event("output_text.done", 0, "m1", content_index=0, text="Hello"),
            done(0, **MESSAGE),
            completed(MESSAGE),
        ],
        [("text", "Hello"), ("stop", "completed"), COUNTS],
    ),
    "nothing but the terminal": (
        [CREATED, completed(MESSAGE, CALL)],
        [("text", "Hello"), ("call", "c1", "f", '{"a":1}'), ("tool_calls", "completed"), COUNTS],
    ),
    "a done event completes what was missed": (
        [
            CREATED,
            event("output_text.delta", 0, "m1", content_index=0, delta="Hel"),
            event("output_text.done", 0, "m1", content_index=0, text="Hello"),
            completed(),
        ],
        [("text", "Hello"), ("stop", "completed"), COUNTS],
    ),
    "a call in fragments": (
        [
            CREATED,
            added(0, id="fc1", type="function_call", call_id="c1", name="f", arguments=""),
            event("function_call_arguments.delta", 0, "fc1", delta='{"a"'),
            event("function_call_arguments.delta", 0, "fc1", delta=":1}"),
            event("function_call_arguments.done", 0, "fc1", arguments='{"a":1}'),
            done(0, **CALL),
            completed(CALL),
        ],
        [("call", "c1", "f", '{"a":1}'), ("tool_calls", "completed"), COUNTS],
    ),
    "a custom tool": (
        [
            CREATED,
            added(0, id="ct1", type="custom_tool_call", call_id="c1", name="sh", input=""),
            event("custom_tool_call_input.delta", 0, "ct1", delta="ls"),
            event("custom_tool_call_input.done", 0, "ct1", input="ls -l"),
            completed(),
        ],
        [("call", "c1", "sh", "ls -l", "custom"), ("tool_calls", "completed"), COUNTS],
    ),
    "a summary in parts, encrypted": (
        [
            CREATED,
            added(0, id="rs1", type="reasoning", summary=[]),
            event("reasoning_summary_part.added", 0, "rs1", summary_index=0, part={"type": "summary_text", "text": ""}),
            event("reasoning_summary_text.delta", 0, "rs1", summary_index=0, delta="one"),
            event("reasoning_summary_text.done", 0, "rs1", summary_index=0, text="one"),
            event("reasoning_summary_text.delta", 0, "rs1", summary_index=1, delta="two"),
            done(0, id="rs1", type="reasoning", summary=[{"text": "one"}, {"text": "two"}], encrypted_content="ENC="),
            done(1, **MESSAGE),
            completed(),
        ],
        [("reasoning", "one\n\ntwo", "ENC="), ("text", "Hello"), ("stop", "completed"), COUNTS],
    ),
    "reasoning without words": (
        [CREATED, done(0, id="rs1", type="reasoning", summary=[], encrypted_content="ENC="), completed()],
        [("reasoning", "", "redacted", "ENC="), ("stop", "completed"), COUNTS],
    ),
    "reasoning text of open models": (
        [
            CREATED,
            event("reasoning_text.delta", 0, "rs1", content_index=0, delta="plan"),
            event("reasoning_text.done", 0, "rs1", content_index=0, text="plan"),
            completed(),
        ],
        [("reasoning", "plan"), ("stop", "completed"), COUNTS],
    ),
    "a refusal": (
        [
            CREATED,
            event("refusal.delta", 0, "m1", content_index=0, delta="No"),
            event("refusal.done", 0, "m1", content_index=0, refusal="No."),
            completed(),
        ],
        [("refusal", "No."), ("refusal", "completed"), COUNTS],
    ),
    "a source": (
        [
            CREATED,
            event("output_text.delta", 0, "m1", content_index=0, delta="A"),
            event(
                "output_text.annotation.added",
                0,
                "m1",
                content_index=0,
                annotation_index=0,
                annotation={"type": "url_citation", "url": "u", "title": "t"},
            ),
            completed(),
        ],
        [("text", "A"), ("cited", "url_citation", "u", "t"), ("stop", "completed"), COUNTS],
    ),
    "a search of the provider's": (
        [
            CREATED,
            added(0, id="ws1", type="web_search_call", status="in_progress"),
            event("web_search_call.searching", 0, "ws1"),
            event("web_search_call.completed", 0, "ws1"),
            done(0, id="ws1", type="web_search_call", status="completed", action={"query": "q"}),
            completed(),
        ],
        [
            ("opaque", "web_search_call", '{"id":"ws1","type":"web_search_call","status":"completed","action":{"query":"q"}}'),
            ("stop", "completed"),
            COUNTS,
        ],
    ),
    "neither ids nor indexes": (
        [
            CREATED,
            {"type": "response.output_item.added", "item": {"type": "message", "content": []}},
            {"type": "response.output_text.delta", "delta": "Hel"},
            {"type": "response.output_text.delta", "delta": "lo"},
            completed(),
        ],
        [("text", "Hello"), ("stop", "completed"), COUNTS],
    ),
    "ids that change from event to event": (
        [
            CREATED,
            event("output_text.delta", 0, "x1", content_index=0, delta="Hel"),
            event("output_text.delta", 0, "x2", content_index=0, delta="lo"),
            done(0, **{**MESSAGE, "id": "x3"}),
            completed({**MESSAGE, "id": "x4"}),
        ],
        [("text", "Hello"), ("stop", "completed"), COUNTS],
    ),
    "cut by length": (
        [
            CREATED,
            added(0, id="fc1", type="function_call", call_id="c1", name="f", arguments=""),
            event("function_call_arguments.delta", 0, "fc1", delta='{"a'),
            completed(status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
        ],
        [("call", "c1", "f", '{"a', "cut"), ("length", "max_output_tokens"), COUNTS],
    ),
    "cut by a filter": (
        [CREATED, completed(status="incomplete", incomplete_details={"reason": "content_filter"})],
        [("content_filter", "content_filter"), COUNTS],
    ),
    "failed": (
        [
            CREATED,
            {"type": "response.failed", "response": {"id": "r1", "status": "failed", "error": {"code": "rate_limit_exceeded", "message": "slow"}}},
        ],
        [("rate_limit", None)],
    ),
    "an error at the top": ([CREATED, {"type": "error", "code": "server_error", "message": "broke", "param": None}], [("server", None)]),
    "no terminal": ([CREATED, event("output_text.delta", 0, "m1", content_index=0, delta="par")], [("text", "par"), ("truncated", None)]),
    "a failure told by the first event": (
        [{"type": "response.created", "response": {"id": "r1", "status": "failed", "error": {"code": "server_error", "message": "broke"}}}],
        [("server", None)],
    ),
    "a terminal event without a response": (
        [CREATED, {"type": "response.completed"}, completed(MESSAGE)],
        [("text", "Hello"), ("stop", "completed"), COUNTS],
    ),
    "events that nobody knows": (
        [CREATED, {"type": "response.sparkle", "x": 1}, {"type": "keepalive"}, completed(MESSAGE)],
        [("text", "Hello"), ("stop", "completed"), COUNTS],
    ),
}


ROWS = {
    "text in pieces, restated three times": "OR-RSS-01 OR-RSS-03 OR-RSS-04 OR-RSS-07 OR-RSS-14",
    "nothing but the terminal": "OR-RSS-09 ISS-17",
    "a done event completes what was missed": "OR-RSS-04 OR-RSS-06 ISS-17",
    "a call in fragments": "OR-RSS-03 OR-RSS-06 OR-RSS-07",
    "a summary in parts, encrypted": "OR-RSS-05 OR-RSS-07 AMB-32",
    "reasoning without words": "OR-RSS-07 ISS-55",
    "reasoning text of open models": "OR-RSS-05",
    "a refusal": "OR-RSS-08 AMB-36",
    "a search of the provider's": "OR-RSS-03 AMB-31",
    "neither ids nor indexes": "OR-RSS-02",
    "ids that change from event to event": "OR-RSS-02",
    "cut by length": "OR-RSS-10",
    "cut by a filter": "OR-RSS-10",
    "failed": "OR-RSS-11",
    "a failure told by the first event": "OR-RSS-11",
    "events that nobody knows": "WIRE-51 AMB-72",
}


@pytest.mark.parametrize("name", with_rows({name: name for name in CASES}, ROWS))
def test_stream(name: str) -> None:
    """The stream tells this, wherever it is cut."""
    frames, expected = CASES[name]
    assert told(P, sse(*frames)) == expected


@pytest.mark.parametrize("name", CASES)
def test_without_event_lines(name: str) -> None:
    """The JSON's own type is enough."""
    frames, expected = CASES[name]
    assert told(P, sse(*frames, event="nothing")) == expected


def test_whole_body() -> None:
    """A response that was not streamed."""
    body = {"id": "r1", "object": "response", "status": "completed", "model": "m", "output": [MESSAGE, CALL], "usage": USAGE}
    assert told(P, json.dumps(body).encode(), "application/json") == [
        ("text", "Hello"),
        ("call", "c1", "f", '{"a":1}'),
        ("tool_calls", "completed"),
        COUNTS,
    ]


def test_replay() -> None:
    """What must go back is kept byte for byte: the reasoning item, the ids of message and call."""
    item = '{"id":"rs1", "type":"reasoning","summary":[],"encrypted_content":"ENC="}'
    data = sse(CREATED, f'{{"type":"response.output_item.done","output_index":0,"item":{item}}}', done(1, **MESSAGE), done(2, **CALL), completed())
    answer = headwater.decode(P, [data])
    metas = [bytes(block.meta) if block.meta is not None else None for block in answer.blocks]
    assert metas == [item.encode(), b'{"id":"m1"}', b'{"id":"fc1"}']
