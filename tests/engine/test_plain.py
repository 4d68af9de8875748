"""Answers and errors as plain values, and lines of JSON."""

from __future__ import annotations

import json

import pytest
from msgspec import Raw

from headwater.decode import decode
from headwater.plain import error_as_dict, json_line, response_as_dict
from headwater_codecs.neutral import Block, Citation, Response, Secret, error_info

CHAT = (
    b'data: {"id":"r1","model":"m","choices":[{"index":0,"delta":{"reasoning_content":"hm"}}]}\n\n'
    b'data: {"choices":[{"index":0,"delta":{"content":"hi"}}]}\n\n'
    b'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f","arguments":"{}"}}]}}]}\n\n'
    b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\n'
)


def test_response() -> None:
    """Text, reasoning, calls and blocks, once for the response and once per choice."""
    plain = response_as_dict(decode("openai-chat", [CHAT]))
    call = {"id": "c1", "name": "f", "arguments": "{}", "complete": True, "kind": "function"}
    choice = {
        "text": "hi",
        "reasoning": "hm",
        "refusal": None,
        "tool_calls": [call],
        "finish_reason": "tool_calls",
        "raw_finish_reason": "tool_calls",
        "blocks": [
            {"kind": "reasoning", "index": 0, "complete": True, "text": "hm", "redacted": False, "data": None},
            {"kind": "text", "index": 1, "complete": True, "text": "hi"},
            {"kind": "tool_call", "index": 2, "complete": True, "id": "c1", "name": "f", "arguments": "{}", "call_kind": "function"},
        ],
    }
    assert plain["choices"] == [{"index": 0, **choice}]
    assert {name: plain[name] for name in choice} == choice
    assert (plain["ok"], plain["model"], plain["response_id"], plain["error"], plain["usage"]) == (True, "m", "r1", None, None)
    assert json.loads(json_line(plain)) == plain


def test_opaque_parts_and_citations() -> None:
    """What the provider's bytes hold is parsed where it is JSON, and kept as text where it is not."""
    response = Response()
    opaque = Block("opaque", 0, 0, "item-1")
    opaque.name, opaque.raw = "search", b'{"q":1}'
    text = Block("text", 1, 0)
    text.fragments.append("x")
    text.signature, text.meta = "sig", Raw(b"{broken")
    text.citations.append(Citation(1, url="http://a", raw=Raw(b'{"a":[1]}')))
    response.choice(0).blocks.extend([opaque, text])
    assert response_as_dict(response)["blocks"] == [
        {"kind": "opaque", "index": 0, "complete": False, "item_id": "item-1", "name": "search", "raw": '{"q":1}'},
        {
            "kind": "text",
            "index": 1,
            "complete": False,
            "text": "x",
            "signature": "sig",
            "meta": "{broken",
            "citations": [{"kind": "url", "url": "http://a", "title": None, "cited_text": None, "raw": {"a": [1]}}],
        },
    ]


def test_error() -> None:
    """Kind and message always; of the rest what is known."""
    assert error_as_dict(error_info("timeout", "late", deadline="idle")) == {
        "kind": "timeout",
        "message": "late",
        "deadline": "idle",
        "retryable": True,
    }


def test_lines_have_one_end() -> None:
    """Whatever a reader takes for a line end is escaped; a lone surrogate is kept."""
    value = {"a": "x\u2028y\u2029z\x85\r\n\ud800"}
    for text in (value, {"a": "x\u2028y\u2029z\x85\r\n"}):
        line = json_line(text)
        assert len(line.decode().splitlines()) == 1
        assert json.loads(line) == text


def test_secrets_are_refused() -> None:
    """A key that strays into a value is no line."""
    with pytest.raises(TypeError):
        json_line({"key": Secret("sk-1")})
