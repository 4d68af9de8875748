"""gemini: literal streams, and what they tell; arguments by path."""

from __future__ import annotations

import json

import pytest

from headwater_providers.gemini.json_paths import put, steps
from told import sse, told

P = "gemini"
USAGE = {"promptTokenCount": 5, "candidatesTokenCount": 2, "thoughtsTokenCount": 3, "totalTokenCount": 10, "cachedContentTokenCount": 4}
COUNTS = (5, 5, 4, None, 3)


def chunk(*parts: object, finish: str | None = None, usage: object = None, index: int = 0, **more: object) -> dict[str, object]:
    """One chunk."""
    candidate: dict[str, object] = {"content": {"role": "model", "parts": list(parts)}, "index": index} if parts else {"index": index}
    if finish:
        candidate["finishReason"] = finish
    value: dict[str, object] = {"candidates": [{**candidate, **more}], "modelVersion": "m", "responseId": "r1"}
    return {**value, "usageMetadata": usage} if usage else value


END = chunk(finish="STOP", usage=USAGE)


def call(name: str | None = None, **more: object) -> dict[str, object]:
    """A part with a function call."""
    return {"functionCall": {**({"name": name} if name else {}), **more}}


CASES: dict[str, tuple[list[object], list[object]]] = {
    "text": ([chunk({"text": "Hel"}), chunk({"text": "lo"}, usage=USAGE), END], [("text", "Hello"), ("stop", "STOP"), COUNTS]),
    "thoughts, then text": (
        [chunk({"text": "pl", "thought": True}), chunk({"text": "an", "thought": True}, {"text": "Hi"}), END],
        [("reasoning", "plan"), ("text", "Hi"), ("stop", "STOP"), COUNTS],
    ),
    "signatures on their own part": (
        [chunk({"text": "a", "thoughtSignature": "S1"}), chunk({"text": "b", "thoughtSignature": "S2"}), END],
        [("text", "a", "S1"), ("text", "b", "S2"), ("stop", "STOP"), COUNTS],
    ),
    "a trailing signature": (
        [chunk({"text": "a"}), chunk({"text": "", "thoughtSignature": "S"}, finish="STOP")],
        [("text", "a", "S"), ("stop", "STOP")],
    ),
    "whole calls": (
        [chunk(call("f", args={"a": 1}, id="c1") | {"thoughtSignature": "S"}, call("g", id="c2")), END],
        [("call", "c1", "f", '{"a":1}', "S"), ("call", "c2", "g", "{}"), ("tool_calls", "STOP"), COUNTS],
    ),
    "a name, then its arguments": (
        [chunk(call("f", id="c1")), chunk(call(args={"a": 1})), END],
        [("call", "c1", "f", '{"a":1}'), ("tool_calls", "STOP"), COUNTS],
    ),
    "arguments by path": (
        [
            chunk(call("f", id="c1", willContinue=True)),
            chunk(call(partialArgs=[{"jsonPath": "$.city", "stringValue": "New "}], willContinue=True)),
            chunk(call(partialArgs=[{"jsonPath": "$.city", "stringValue": "York"}, {"jsonPath": "$.days[1]", "numberValue": 2}], willContinue=True)),
            chunk(call(partialArgs=[{"jsonPath": "$.now", "boolValue": True}, {"jsonPath": "$.then", "nullValue": "NULL_VALUE"}])),
            chunk(call()),
            END,
        ],
        [("call", "c1", "f", '{"city":"New York","days":[null,2],"now":true,"then":null}'), ("tool_calls", "STOP"), COUNTS],
    ),
    "a progressive call that never ended": (
        [
            chunk(call("f", id="c1", willContinue=True)),
            chunk(call(partialArgs=[{"jsonPath": "$.a", "numberValue": 1}], willContinue=True)),
            chunk(finish="MAX_TOKENS"),
        ],
        [("call", "c1", "f", '{"a":1}', "cut"), ("length", "MAX_TOKENS")],
    ),
    "code and its result": (
        [
            chunk(
                {"text": "a"},
                {"executableCode": {"language": "PYTHON", "code": "1"}},
                {"codeExecutionResult": {"outcome": "OUTCOME_OK"}},
                {"text": "b"},
            ),
            END,
        ],
        [
            ("text", "a"),
            ("opaque", "executableCode", '{"executableCode":{"language":"PYTHON","code":"1"}}'),
            ("opaque", "codeExecutionResult", '{"codeExecutionResult":{"outcome":"OUTCOME_OK"}}'),
            ("text", "b"),
            ("stop", "STOP"),
            COUNTS,
        ],
    ),
    "sources": (
        [chunk({"text": "a"}), chunk(finish="STOP", groundingMetadata={"groundingChunks": [{"web": {"uri": "u", "title": "t"}}]})],
        [("text", "a"), ("cited", "web", "u", "t"), ("stop", "STOP")],
    ),
    "two candidates": (
        [chunk({"text": "a"}), chunk({"text": "b"}, index=1), chunk({"text": "c"}, finish="STOP"), chunk(finish="MAX_TOKENS", index=1)],
        [("text", "ac"), (1, "text", "b"), ("stop", "STOP")],
    ),
    "a blocked prompt": (
        [{"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 4}}],
        [("content_filter", "SAFETY"), (4, None, None, None, None)],
    ),
    "a filter in mid-answer": ([chunk({"text": "par"}), chunk(finish="SAFETY")], [("text", "par"), ("content_filter", "SAFETY")]),
    "a call that went wrong": ([chunk(finish="MALFORMED_FUNCTION_CALL", finishMessage="bad")], [("error", "MALFORMED_FUNCTION_CALL")]),
    "metadata first": (
        [{"usageMetadata": {"promptTokenCount": 5}, "modelVersion": "m"}, chunk({"text": "a"}), END],
        [("text", "a"), ("stop", "STOP"), COUNTS],
    ),
    "thoughts that are inside": (
        [
            chunk(
                {"text": "a"}, finish="STOP", usage={"promptTokenCount": 5, "candidatesTokenCount": 7, "thoughtsTokenCount": 3, "totalTokenCount": 12}
            )
        ],
        [("text", "a"), ("stop", "STOP"), (5, 7, None, None, 3)],
    ),
    "an error in the stream": (
        [chunk({"text": "par"}), {"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}],
        [("text", "par"), ("overloaded", None)],
    ),
    "no finish reason": ([chunk({"text": "par"})], [("text", "par"), ("truncated", None)]),
}


@pytest.mark.parametrize("name", CASES)
def test_stream(name: str) -> None:
    """The stream tells this, wherever it is cut."""
    frames, expected = CASES[name]
    assert told(P, sse(*frames)) == expected


@pytest.mark.rows("WIRE-16")
@pytest.mark.parametrize("name", CASES)
def test_array(name: str) -> None:
    """The same chunks as one JSON array, which is read piece by piece."""
    frames, expected = CASES[name]
    assert told(P, json.dumps(frames, separators=(",", ":")).replace("},{", "},\n {").encode(), "application/json") == expected


@pytest.mark.rows("WIRE-16")
def test_one_object() -> None:
    """An answer that was not streamed."""
    assert told(P, json.dumps(chunk({"text": "a"}, finish="STOP")).encode(), "application/json") == [("text", "a"), ("stop", "STOP")]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("$.a", ["a"]),
        ("a.b", ["a", "b"]),
        ("$['a b'][0].c", ["a b", 0, "c"]),
        ('$["x\\"y"]', ['x"y']),
        ("$.a[10000]", ["a", 10000]),
        ("$.a[10001]", None),
        ("$.a[-1]", None),
        ("$.a[99999999999]", None),
        ("$", None),
        ("", None),
        ("$.a[", None),
    ],
)
def test_steps(path: str, expected: object) -> None:
    """A path as steps; None for one that cannot be read or would do harm."""
    assert steps(path) == expected


def test_what_does_not_fit_is_left_out() -> None:
    """A step that meets a value of another kind changes nothing."""
    root: dict[str, object] = {"a": 1, "b": [1]}
    assert [put(root, path, 2) for path in ("$.a.b", "$.b.c", "$[0]", "$.a[0]")] == [False, False, False, False]
    assert root == {"a": 1, "b": [1]}
