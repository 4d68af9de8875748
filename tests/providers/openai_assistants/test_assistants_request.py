"""Requests of openai-assistants: which endpoint they go to, and what is submitted to a run that waits."""

from __future__ import annotations

import json

import pytest
from msgspec import Raw

from headwater_codecs.neutral import ConfigurationError, Message, Model, Origin, Request, ToolCallPart, assistant, tool_result, user
from headwater_providers.adapter import HttpRequest
from headwater_providers.builtin import new_registries

WAITS = Raw(b'{"thread_id":"thread_a","run_id":"run_a"}')
REGISTRIES = new_registries(plugins=False)
MODEL = Model("asst_a", provider="custom", protocol="openai-assistants", base_url="http://h/v1")


def built(*messages: Message, **fields: object) -> HttpRequest:
    """The request with these messages."""
    request = Request(model=MODEL, messages=list(messages), **fields)  # type: ignore[arg-type]
    target = REGISTRIES.resolve(MODEL)
    return REGISTRIES.adapter(target.protocol).build(request, target, None)


def calls(*ids: str, meta: Raw | None = WAITS, origin: Origin | None = None) -> Message:
    """An assistant's turn with these calls."""
    return Message("assistant", [ToolCallPart(id, "f", meta=meta) for id in ids], origin=origin)


def test_a_new_thread() -> None:
    """Without a thread one is made of the messages; the instructions are the system message."""
    request = built(Message("system", "Be brief."), user("hi"), assistant("ho"), user("why?"))
    assert request.url == "http://h/v1/threads/runs"
    assert json.loads(request.body) == {
        "stream": True,
        "assistant_id": "asst_a",
        "instructions": "Be brief.",
        "thread": {
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "hi"}]},
                {"role": "assistant", "content": [{"type": "text", "text": "ho"}]},
                {"role": "user", "content": [{"type": "text", "text": "why?"}]},
            ]
        },
    }


def test_a_thread_that_is_there() -> None:
    """The messages are added to it; none are needed, a thread may hold its own."""
    request = built(user("hi"), extra_body={"thread_id": "thread_a"})
    assert request.url == "http://h/v1/threads/thread_a/runs"
    assert json.loads(request.body) == {
        "stream": True,
        "assistant_id": "asst_a",
        "additional_messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
    }
    assert json.loads(built(extra_body={"thread_id": "thread_a"}).body) == {"stream": True, "assistant_id": "asst_a"}


@pytest.mark.parametrize(
    "origin", [None, Origin(provider="custom", protocol="openai-assistants", model="gpt-x")], ids=["of no origin", "of a response's origin"]
)
def test_results_go_to_the_run_that_waits(origin: Origin | None) -> None:
    """The calls say where: the conversation goes on as with any other protocol."""
    request = built(user("hi"), calls("c1", "c2", origin=origin), tool_result("c1", "one"), tool_result("c2", "two"))
    assert request.url == "http://h/v1/threads/thread_a/runs/run_a/submit_tool_outputs"
    assert json.loads(request.body) == {
        "tool_outputs": [{"tool_call_id": "c1", "output": "one"}, {"tool_call_id": "c2", "output": "two"}],
        "stream": True,
    }


def test_results_of_a_run_that_is_named() -> None:
    """`extra_body` says where."""
    request = built(tool_result("c1", "one"), extra_body={"thread_id": "thread_b", "run_id": "run_b"})
    assert request.url == "http://h/v1/threads/thread_b/runs/run_b/submit_tool_outputs"
    assert json.loads(request.body) == {"tool_outputs": [{"tool_call_id": "c1", "output": "one"}], "stream": True}


@pytest.mark.parametrize(
    ("messages", "fields", "message"),
    [
        ([calls("c1", "c2"), tool_result("c1", "one")], {}, "the run asked for the results of c1, c2, the messages have those of c1"),
        ([calls("c1"), tool_result("c1", "1"), tool_result("c1", "2")], {}, "asked for the results of c1, the messages have those of c1, c1"),
        ([calls("c1"), tool_result("c9", "1")], {}, "asked for the results of c1, the messages have those of c9"),
        ([user("hi"), calls("c1", meta=None), tool_result("c1", "1")], {}, "takes no tool message here"),
        ([user("hi"), calls("c1", meta=Raw(b'{"id":"fc_1"}')), tool_result("c1", "1")], {}, "takes no tool message here"),
        ([calls("c1"), tool_result("c1", "1"), user("and?")], {"extra_body": {"thread_id": "t"}}, "takes no tool message here"),
        ([user("hi")], {"extra_body": {"run_id": "run_a", "thread_id": "t"}}, "there are no tool results to submit"),
        ([tool_result("c1", "1")], {"extra_body": {"run_id": "run_a"}}, "tool results need extra_body={'thread_id': ..., 'run_id': ...}"),
        ([tool_result("c1", "1")], {"extra_body": {"run_id": "run/../x", "thread_id": "t"}}, "is no id of a thread or a run"),
        ([calls("c1", meta=Raw(b'{"thread_id":"a/b","run_id":"r"}')), tool_result("c1", "1")], {}, "is no id of a thread or a run"),
        ([], {}, "message"),
    ],
)
def test_what_cannot_be_submitted(messages: list[Message], fields: dict[str, object], message: str) -> None:
    """It is said before a byte is sent: results that nobody asked for, one that is missing, one twice."""
    with pytest.raises(ConfigurationError) as caught:
        built(*messages, **fields)
    assert message in str(caught.value)
