"""openai-responses as relays and gateways write it: items numbered or named alike, stubs, other types, ends that contradict themselves."""

from __future__ import annotations

import json

import pytest

import headwater
from helpers import with_rows
from told import sse, told

P = "openai-responses"
CREATED = {"type": "response.created", "response": {"id": "r1", "model": "m", "status": "in_progress", "output": []}}
COUNTS = (3, 2, None, None, None)
CUT = {"incomplete_details": {"reason": "max_output_tokens"}}
Json = dict[str, object]


def end(*output: object, type: str = "completed", **more: object) -> Json:
    """A terminal event."""
    usage = {"input_tokens": 3, "output_tokens": 2}
    return {"type": f"response.{type}", "response": {"id": "r1", "status": type, "output": list(output), "usage": usage, **more}}


def added(index: int | None, **item: object) -> Json:
    """An item is announced."""
    return {"type": "response.output_item.added", **({} if index is None else {"output_index": index}), "item": item}


def done(index: int | None, **item: object) -> Json:
    """An item has ended."""
    return {"type": "response.output_item.done", **({} if index is None else {"output_index": index}), "item": item}


def event(kind: str, index: int, id: str, **more: object) -> Json:
    """An event about an item."""
    return {"type": f"response.{kind}", "output_index": index, "item_id": id, **more}


def text(index: int, id: str, delta: str) -> Json:
    """A piece of text."""
    return event("output_text.delta", index, id, content_index=0, delta=delta)


def message(id: str, *texts: str) -> Json:
    """A message with these parts; a text that begins with `!` is a refusal."""
    parts = [{"type": "refusal", "refusal": t[1:]} if t.startswith("!") else {"type": "output_text", "text": t, "annotations": []} for t in texts]
    return {"id": id, "type": "message", "role": "assistant", "status": "completed", "content": parts}


def call(id: str, call_id: str, name: str, arguments: object, **more: object) -> Json:
    """A function call."""
    return {"id": id, "type": "function_call", "call_id": call_id, "name": name, "arguments": arguments, **more}


def shell(text: str, **more: object) -> Json:
    """A call of a custom tool."""
    return {"id": "ct1", "type": "custom_tool_call", "call_id": "c1", "name": "sh", "input": text, **more}


SEARCH = {"id": "ws1", "type": "web_search_call", "status": "in_progress"}
STOP: list[object] = [("stop", "completed"), COUNTS]
CALLED: list[object] = [("tool_calls", "completed"), COUNTS]
LENGTH: list[object] = [("length", "max_output_tokens"), COUNTS]
CASES: dict[str, tuple[list[object], list[object]]] = {
    # arguments
    "arguments as an object in the item": ([done(0, **call("fc1", "c1", "f", {"a": 1})), end()], [("call", "c1", "f", '{"a":1}'), *CALLED]),
    "arguments as an object in their own event": (
        [added(0, **call("fc1", "c1", "f", None)), event("function_call_arguments.done", 0, "fc1", arguments={"a": 1}), end()],
        [("call", "c1", "f", '{"a":1}'), *CALLED],
    ),
    "a cut call of a custom tool is not run": (
        [
            added(0, **shell("")),
            event("custom_tool_call_input.delta", 0, "ct1", delta="rm -rf /tmp"),
            end(type="incomplete", **CUT),
        ],
        [("call", "c1", "sh", "rm -rf /tmp", "cut", "custom"), *LENGTH],
    ),
    "nor one that its item calls incomplete": (
        [done(0, **shell("rm -rf /tmp", status="incomplete")), end(type="incomplete", **CUT)],
        [("call", "c1", "sh", "rm -rf /tmp", "cut", "custom"), *LENGTH],
    ),
    "one that was whole before the cut is": (
        [done(0, **shell("ls", status="completed")), end(type="incomplete", **CUT)],
        [("call", "c1", "sh", "ls", "custom"), *LENGTH],
    ),
    "a whole custom call in a cut list": (
        [end(shell("ls", status="completed"), type="incomplete", **CUT)],
        [("call", "c1", "sh", "ls", "custom"), *LENGTH],
    ),
    "arguments that parse in an item that is incomplete": (
        [done(0, **call("fc1", "c1", "f", "{}", status="incomplete")), end(type="incomplete", **CUT)],
        [("call", "c1", "f", "{}", "cut"), *LENGTH],
    ),
    # which item is meant
    "one number for all items": (
        [
            added(0, **call("a", "c1", "f", "")),
            added(0, **call("b", "c2", "g", "")),
            event("function_call_arguments.delta", 0, "a", delta='{"a":1}'),
            event("function_call_arguments.delta", 0, "b", delta='{"b":1}'),
            end(),
        ],
        [("call", "c1", "f", '{"a":1}'), ("call", "c2", "g", '{"b":1}'), *CALLED],
    ),
    "one number for all items, which come whole": (
        [done(0, **call("a", "c1", "f", "{}")), done(0, **call("b", "c2", "g", "{}")), end()],
        [("call", "c1", "f", "{}"), ("call", "c2", "g", "{}"), *CALLED],
    ),
    "one id for all items": (
        [
            added(0, id="x", type="message", content=[]),
            text(0, "x", "Hi"),
            done(0, **message("x", "Hi")),
            added(1, **call("x", "c1", "f", "")),
            event("function_call_arguments.delta", 1, "x", delta='{"a":1}'),
            done(1, **call("x", "c1", "f", '{"a":1}')),
            added(2, **call("x", "c2", "f", "")),
            event("function_call_arguments.delta", 2, "x", delta='{"a":2}'),
            done(2, **call("x", "c2", "f", '{"a":2}')),
            end(),
        ],
        [("text", "Hi"), ("call", "c1", "f", '{"a":1}'), ("call", "c2", "f", '{"a":2}'), *CALLED],
    ),
    "calls with neither ids nor numbers of their items": (
        [
            {"type": "response.output_item.added", "item": {"type": "function_call", "call_id": "c1", "name": "f"}},
            {"type": "response.output_item.added", "item": {"type": "function_call", "call_id": "c2", "name": "g"}},
            {"type": "response.output_item.done", "item": {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a":1}'}},
            {"type": "response.output_item.done", "item": {"type": "function_call", "call_id": "c2", "name": "g", "arguments": '{"b":1}'}},
            end(),
        ],
        [("call", "c1", "f", '{"a":1}'), ("call", "c2", "g", '{"b":1}'), *CALLED],
    ),
    # what the end restates
    "an empty item event, the text in the end": (
        [added(0, id="m1", type="message", content=[]), done(0, id="m1", type="message", content=[]), end(message("m1", "Hello"))],
        [("text", "Hello"), *STOP],
    ),
    "a part that only its own event has": (
        [
            added(0, id="m1", type="message", content=[]),
            event("content_part.done", 0, "m1", content_index=0, part={"type": "output_text", "text": "Hello"}),
            end(),
        ],
        [("text", "Hello"), *STOP],
    ),
    "several parts in one message": (
        [end(message("m1", "A", "!no", "B"))],
        [("text", "A"), ("refusal", "no"), ("text", "B"), ("refusal", "completed"), COUNTS],
    ),
    "parts counted from one": (
        [event("output_text.delta", 0, "m1", content_index=1, delta="Hel"), end(message("m1", "Hello"))],
        [("text", "Hello"), *STOP],
    ),
    "the end gives a call other ids": (
        [
            added(0, **call("fcA", "cA", "f", "")),
            event("function_call_arguments.done", 0, "fcA", arguments='{"a":1}'),
            end(call("fc1", "c1", "f", '{"a":1}')),
        ],
        [("call", "cA", "f", '{"a":1}'), *CALLED],
    ),
    "the end gives two calls other ids": (
        [
            done(0, **call("fcA", "cA", "f", '{"a":1}')),
            done(1, **call("fcB", "cB", "f", '{"a":2}')),
            end(call("fc1", "c1", "f", '{"a":1}'), call("fc2", "c2", "f", '{"a":2}')),
        ],
        [("call", "cA", "f", '{"a":1}'), ("call", "cB", "f", '{"a":2}'), *CALLED],
    ),
    "the end has a call of another tool as well": (
        [done(0, **call("fcA", "cA", "f", "{}")), end(call("fcA", "cA", "f", "{}"), call("fcB", "cB", "g", "{}"))],
        [("call", "cA", "f", "{}"), ("call", "cB", "g", "{}"), *CALLED],
    ),
    "the end leaves reasoning out and gives the message another id": (
        [
            done(0, id="rs1", type="reasoning", summary=[{"text": "plan"}]),
            text(1, "m1", "Hello"),
            done(1, **message("m1", "Hello")),
            end(message("m9", "Hello")),
        ],
        [("reasoning", "plan"), ("text", "Hello"), *STOP],
    ),
    # reasoning
    "reasoning and its summary": (
        [
            event("reasoning_text.delta", 0, "rs1", content_index=0, delta="plan"),
            event("reasoning_summary_text.delta", 0, "rs1", summary_index=0, delta="short"),
            event("reasoning_summary_text.done", 0, "rs1", summary_index=0, text="short"),
            done(0, id="rs1", type="reasoning", summary=[{"text": "short"}], content=[{"text": "plan"}]),
            end(),
        ],
        [("reasoning", "plan\n\nshort"), *STOP],
    ),
    "the same from the end": (
        [end({"id": "rs1", "type": "reasoning", "summary": [{"text": "short"}], "content": [{"text": "plan"}]})],
        [("reasoning", "plan\n\nshort"), *STOP],
    ),
    "streamed under one name and stated under the other": (
        [
            event("reasoning_text.delta", 0, "rs1", content_index=0, delta="plan"),
            end({"id": "rs1", "type": "reasoning", "summary": [{"text": "plan"}]}),
        ],
        [("reasoning", "plan"), *STOP],
    ),
    # items that are kept as they are
    "a search that never ended": (
        [added(0, **SEARCH), end()],
        [("opaque", "web_search_call", json.dumps(SEARCH, separators=(",", ":"))), *STOP],
    ),
    "a source after its message": (
        [
            done(0, **message("m1", "Hi")),
            event("output_text.annotation.added", 0, "m1", content_index=0, annotation={"type": "url_citation", "url": "u"}),
            end(),
        ],
        [("text", "Hi"), ("cited", "url_citation", "u"), *STOP],
    ),
    "an item that is null": ([{"type": "response.output_item.added", "output_index": 0, "item": None}, end(None)], STOP),
    # ends that contradict themselves
    "completed, but incomplete": ([text(0, "m1", "Hi"), end(**{**CUT, "status": "incomplete"})], [("text", "Hi"), *LENGTH]),
    "completed, but failed": (
        [text(0, "m1", "Hi"), end(status="failed", error={"code": "rate_limit_exceeded", "message": "slow"})],
        [("text", "Hi"), ("rate_limit", None), COUNTS],
    ),
    "incomplete, but completed": ([end(type="incomplete", **{**CUT, "status": "completed"})], LENGTH),
    "a reason in the words of other protocols": (
        [text(0, "m1", "Hi"), end(type="incomplete", incomplete_details={"reason": "max_tokens"})],
        [("text", "Hi"), ("length", "max_tokens"), COUNTS],
    ),
    "incomplete without a reason": ([end(type="incomplete")], [("unknown", "incomplete"), COUNTS]),
    "failed, the error beside the response": (
        [{"type": "response.failed", "error": {"code": "insufficient_quota", "message": "pay"}}],
        [("quota", None)],
    ),
    "failed, and nothing said": ([{"type": "response.failed"}], [("server", "failed")]),
    "an error of a gateway": ([{"error": {"type": "overloaded_error", "message": "busy"}}], [("overloaded", None)]),
    "an error that is null": ([{**text(0, "m1", "Hi"), "error": None}, end()], [("text", "Hi"), *STOP]),
}


ROWS = {
    "one number for all items": "OR-RSS-02",
    "one id for all items": "OR-RSS-02",
    "an empty item event, the text in the end": "OR-RSS-09",
    "a part that only its own event has": "OR-RSS-04",
    "the end gives a call other ids": "OR-RSS-13 AMB-33",
    "the end gives two calls other ids": "OR-RSS-13 AMB-33",
    "the end leaves reasoning out and gives the message another id": "OR-RSS-13 AMB-33",
    "a cut call of a custom tool is not run": "ISS-34 AMB-09",
    "nor one that its item calls incomplete": "ISS-34 AMB-09",
    "a search that never ended": "AMB-31",
    "failed, the error beside the response": "OR-RSS-11",
}


@pytest.mark.parametrize("name", with_rows({name: name for name in CASES}, ROWS))
def test_stream(name: str) -> None:
    """The stream tells this, wherever it is cut."""
    frames, expected = CASES[name]
    assert told(P, sse(CREATED, *frames)) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"status": "failed", "error": {"code": "server_error", "message": "x"}}, [("server", None)]),
        ({"error": {"code": "server_error", "message": "x"}}, [("server", None)]),
        ({"status": "failed"}, [("server", "failed")]),
        ({"status": "incomplete", **CUT}, [("length", "max_output_tokens")]),
        (CUT, [("length", "max_output_tokens")]),
        ({"status": "in_progress"}, [("truncated", None)]),
        ({"status": "completed", "error": None, "incomplete_details": None}, [("stop", "completed")]),
    ],
)
def test_whole_body(body: Json, expected: list[object]) -> None:
    """A response that was not streamed ends as it says, and as what it holds says."""
    assert told(P, json.dumps({"id": "r1", "object": "response", "output": [], **body}).encode(), "application/json") == expected


@pytest.mark.parametrize(("last", "complete"), [(end(), False), (done(0, **SEARCH), True)], ids=["never ended", "ended"])
def test_items_that_are_kept(last: Json, complete: bool) -> None:
    """An item that was only announced is kept, and does not count as whole."""
    answer = headwater.decode(P, [sse(CREATED, added(0, **SEARCH), last, end())])
    assert [(block.complete, json.loads(block.raw)) for block in answer.blocks] == [(complete, SEARCH)]


@pytest.mark.rows("OR-RSS-04")
def test_differing_texts_are_noted() -> None:
    """What is out stands; that it was restated otherwise is told."""
    answer = headwater.decode(P, [sse(CREATED, text(0, "m1", "Hello"), done(0, **message("m1", "Goodbye")), end())])
    assert (answer.text, [diagnostic.code for diagnostic in answer.diagnostics]) == ("Hello", ["text_differs"])


def test_half_characters() -> None:
    """The halves of a character in two deltas are joined, also where plain pieces came before."""
    frames = [json.dumps(text(0, "m1", piece)) for piece in ("a", "b\ud83d", "\ude00c", "d\ud83d")]
    assert told(P, sse(CREATED, *frames, end())) == [("text", "ab\U0001f600cd\ufffd"), *STOP]
