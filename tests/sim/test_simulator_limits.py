"""The simulator's limits, counts and strictness: refusals in each vendor's own form, and none of what vendors take."""

from __future__ import annotations

import re

import httpx
import pytest

import headwater as hw
from headwater.sim import Simulator
from headwater.sim.limit_headers import openai_limits, retry_after
from headwater.sim.limits import Limits
from headwater.sim.speech import BY_PROTOCOL, understand
from headwater.sim.strict import objection
from headwater_codecs.neutral import Message, ToolCallPart, tool_result, user

pytestmark = pytest.mark.anyio
WEATHER = hw.Tool("weather", "The weather.", {"type": "object", "properties": {"city": {"type": "string"}}})
Json = dict[str, object]


async def ask(to: hw.Model, *messages: Message, tools: tuple[hw.Tool, ...] = ()) -> hw.Response:
    """One answer, without retries."""
    async with hw.Engine(transport="socket", retry=hw.Retry(attempts=0)) as engine:
        return await engine.generate(hw.Request(model=to, messages=list(messages) or [user("hi")], tools=tools), raise_on_error=False)


NO_HINT = {"bedrock-converse", "bedrock-invoke"}  # Amazon says nothing of the time to wait
MARKS = {
    "openai-chat": "x-ratelimit-",
    "openai-responses": "x-ratelimit-",
    "openai-text": "x-ratelimit-",
    "openai-assistants": "x-ratelimit-",
    "anthropic-messages": "anthropic-ratelimit-",
}


@pytest.mark.parametrize("protocol", BY_PROTOCOL)
async def test_requests_per_minute(protocol: str) -> None:
    """Beyond the limit there is a refusal of the right kind, with the vendor's own headers and its way to ask for time."""
    async with Simulator(rpm=1) as sim:
        first, second = [await ask(sim.model(protocol, "sim/tokens?n=1")) for _ in range(2)]
        stats = sim.stats
    assert first.error is None
    assert second.error is not None
    assert (second.error.kind, second.error.status) == ("rate_limit", 429)
    for answer in (first, second):
        marked = sorted(name for name in answer.headers if "ratelimit" in name)
        prefix = MARKS.get(protocol)
        requests = [f"{prefix}limit-requests", f"{prefix}remaining-requests", f"{prefix}reset-requests"]
        if protocol == "anthropic-messages":
            requests = [f"{prefix}requests-limit", f"{prefix}requests-remaining", f"{prefix}requests-reset"]
        assert marked == (requests if prefix else [])
    if protocol in NO_HINT:
        assert second.error.retry_after is None
    else:
        assert second.error.retry_after is not None
        assert 50 < second.error.retry_after <= 61
    assert (stats.requests, stats.completed, stats.refused, stats.active, stats.peak) == (2, 1, 1, 0, 1)


async def test_tokens_per_minute() -> None:
    """More tokens in a minute than allowed are refused, and the headers say what is left; a scrape of the counts is no request."""
    async with Simulator(tpm=30) as sim, httpx.AsyncClient(trust_env=False) as client:
        at, body = f"{sim.base_url('openai-chat')}/chat/completions", {"model": "sim/tokens?n=1", "messages": [{"role": "user", "content": "hi"}]}
        answers = [await client.post(at, json=body) for _ in range(2)]
        stats = (await client.get(f"{sim.address}/_sim/stats")).json()
    assert [answer.status_code for answer in answers] == [200, 429]
    assert answers[1].headers["x-ratelimit-limit-tokens"] == "30"
    assert 0 <= int(answers[1].headers["x-ratelimit-remaining-tokens"]) < 30
    assert re.fullmatch(r"1m0s|5\d(\.\d+)?s", answers[1].headers["x-ratelimit-reset-tokens"])
    assert stats == {"requests": 2, "active": 0, "peak": 1, "refused": 1, "hang_ups": 0, "completed": 1}


def test_limits_over_time() -> None:
    """What is older than a minute counts no more; a place that was left is free again."""
    now = 100.0
    limits = Limits(max_concurrent=1, rpm=2, tpm=50, clock=lambda: now)
    assert limits.per_minute == {"requests": (2, 2, 0.0), "tokens": (50, 50, 0.0)}
    assert limits.enter(10) is None
    assert limits.enter(10) == 1.0  # one at once
    limits.leave(True)
    now = 110.0
    assert limits.enter(41) == 50.0  # tokens, for 50 seconds more
    assert limits.enter(40) is None
    limits.leave(False)
    assert limits.enter(0) == 50.0  # requests
    assert limits.per_minute == {"requests": (2, 0, 50.0), "tokens": (50, 0, 50.0)}
    now = 160.0
    assert limits.per_minute == {"requests": (2, 1, 10.0), "tokens": (50, 10, 10.0)}
    stats = limits.stats
    assert (stats.requests, stats.refused, stats.completed, stats.hang_ups, stats.peak, stats.active) == (5, 3, 1, 1, 1, 0)


def test_forms_of_time() -> None:
    """Durations as OpenAI writes them; a wait as the headers that ask for it."""
    waits = {0.12: "120ms", 1.5: "1.5s", 59.0: "59s", 60.0: "1m0s", 61.25: "1m1.25s"}
    assert {wait: openai_limits("requests", 1, 0, wait)["x-ratelimit-reset-requests"] for wait in waits} == waits
    assert retry_after(2, "seconds") == {"retry-after": "2"}
    assert retry_after(0.25, "ms") == {"retry-after-ms": "250"}
    assert sorted(retry_after(2, "date")) == ["date", "retry-after"]


@pytest.mark.parametrize("protocol", [name for name in BY_PROTOCOL if name not in ("openai-text", "openai-assistants")])
async def test_strict_takes_what_is_right(protocol: str) -> None:
    """A conversation with a call and its result, as our own adapters write it, is nobody's to refuse."""
    turns = (user("Oslo?"), Message("assistant", (ToolCallPart("call_1", "weather", '{"city":"Oslo"}'),)), tool_result("call_1", "Rain."))
    async with Simulator(strict=True) as sim:
        answer = await ask(sim.model(protocol, "sim/tokens?n=1"), *turns, tools=(WEATHER,))
        assert (answer.error, answer.text) == (None, "token0 ")
        plain = await ask(sim.model(protocol, "sim/tokens?n=1"))
        assert plain.error is None


@pytest.mark.parametrize("protocol", ["openai-text", "openai-assistants"])
async def test_strict_takes_a_prompt(protocol: str) -> None:
    """So is a prompt where there are no calls."""
    async with Simulator(strict=True) as sim:
        assert (await ask(sim.model(protocol, "sim/tokens?n=1"))).error is None


async def test_strict_refuses_in_the_vendors_form() -> None:
    """The refusal is an error of the request, it names the field, and without `strict` there is none."""
    for strict, kind in ((True, "invalid_request"), (False, None)):
        async with Simulator(strict=strict) as sim, hw.Engine(transport="socket") as engine:
            for protocol in ("openai-chat", "openai-responses", "anthropic-messages", "gemini", "cohere-chat"):
                request = hw.Request(model=sim.model(protocol, "sim/tokens?n=1"), messages=[user("hi")], extra_body={"sparkle": 1})
                answer = await engine.generate(request, raise_on_error=False)
                assert (answer.error and answer.error.kind) == kind
                assert answer.error is None or "sparkle" in answer.error.message


CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
GEMINI, CONVERSE, INVOKE = "/v1beta/models/m:streamGenerateContent", "/model/m/converse-stream", "/model/m/invoke-with-response-stream"
HI: Json = {"role": "user", "content": "hi"}
CHAT_CALL: Json = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
}
USE: Json = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "f", "input": {}}]}
RESULT: Json = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "ok"}]}
G_HI: Json = {"role": "user", "parts": [{"text": "hi"}]}
G_CALL: Json = {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]}
G_RESULT: Json = {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]}
C_HI: Json = {"role": "user", "content": [{"text": "hi"}]}
C_USE: Json = {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "f", "input": {}}}]}
C_RESULT: Json = {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "ok"}]}}]}
TOOLS: Json = {"toolConfig": {"tools": []}, "system": []}
R_CALL: Json = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
LONG = "c" * 65
REFUSED: list[tuple[str, Json, str]] = [
    (CHAT, {"messages": []}, "at least one"),
    (CHAT, {"messages": [HI, CHAT_CALL, HI]}, "c1 have no result"),
    (CHAT, {"messages": [HI, CHAT_CALL]}, "c1 have no result"),
    (CHAT, {"messages": [HI, {"role": "tool", "tool_call_id": "c9", "content": "ok"}]}, "'c9' is none"),
    (CHAT, {"messages": [HI, {"role": "assistant", "content": ""}]}, "neither content nor tool calls"),
    (CHAT, {"messages": [{"role": "robot", "content": "hi"}]}, "no role 'robot'"),
    (CHAT, {"messages": [HI, {"role": "assistant", "tool_calls": [{"id": LONG}]}]}, "at most 64"),
    (CHAT, {"messages": [HI], "sparkle": 1, "glitter": 2}, "unknown field: glitter, sparkle"),
    ("/v2/chat", {"messages": [HI, CHAT_CALL, HI]}, "c1 have no result"),
    ("/v1/completions", {"prompt": "hi", "messages": []}, "unknown field: messages"),
    ("/v1/threads/runs", {"assistant_id": "asst_1", "sparkle": 1}, "unknown field: sparkle"),
    (RESPONSES, {"input": [R_CALL]}, "no tool output found for the calls c1"),
    (RESPONSES, {"input": [{"type": "function_call_output", "call_id": "c9", "output": "ok"}]}, "'c9'"),
    (RESPONSES, {"input": [{**R_CALL, "id": "call_1"}]}, "must begin with 'fc'"),
    (RESPONSES, {"input": [{"type": "reasoning", "id": "rs_" + LONG, "summary": []}]}, "must begin with 'rs'"),
    (RESPONSES, {"input": [{**R_CALL, "call_id": LONG}]}, "at most 64"),
    (MESSAGES, {"messages": [HI]}, "max_tokens"),
    (MESSAGES, {"max_tokens": 1, "messages": []}, "at least one message"),
    (MESSAGES, {"max_tokens": 1, "messages": [{"role": "assistant", "content": "hi"}]}, "first message"),
    (MESSAGES, {"max_tokens": 1, "messages": [{"role": "system", "content": "hi"}]}, "'system' is not allowed"),
    (MESSAGES, {"max_tokens": 1, "messages": [HI, USE]}, "without tool_result blocks: c1"),
    (MESSAGES, {"max_tokens": 1, "messages": [HI, USE, HI]}, "without tool_result blocks: c1"),
    (MESSAGES, {"max_tokens": 1, "messages": [HI, RESULT]}, "unexpected tool_use_id"),
    (MESSAGES, {"max_tokens": 1, "messages": [{"role": "user", "content": [{"type": "text", "text": " \n"}]}]}, "non-whitespace"),
    (MESSAGES, {"max_tokens": 1, "messages": [HI, {"role": "assistant", "content": [{"type": "tool_use", "id": "a.b"}]}]}, "'a.b' does not match"),
    (INVOKE, {"max_tokens": 1, "messages": [HI]}, "anthropic_version"),
    (INVOKE, {"anthropic_version": "v", "max_tokens": 1, "messages": [HI], "model": "m"}, "unknown field: model"),
    (GEMINI, {"contents": []}, "contents is not specified"),
    (GEMINI, {"contents": [{"role": "user", "parts": []}]}, "must not be empty"),
    (GEMINI, {"contents": [{"role": "assistant", "parts": [{"text": "hi"}]}]}, "valid roles"),
    (GEMINI, {"contents": [G_HI, G_CALL, G_HI]}, "must equal the number of function call parts"),
    (GEMINI, {"contents": [G_HI, G_RESULT]}, "must equal the number of function call parts"),
    (GEMINI, {"contents": [G_HI, G_CALL]}, "without function responses"),
    (GEMINI, {"contents": [G_CALL, G_RESULT]}, "immediately after a user turn"),
    (GEMINI, {"contents": [G_HI], "sparkle": 1}, "unknown field: sparkle"),
    (CONVERSE, {"messages": [C_USE]}, "start with a user message"),
    (CONVERSE, {"messages": [C_HI, C_HI]}, "alternate"),
    (CONVERSE, {"messages": [{"role": "user", "content": [{"text": " "}]}]}, "blank"),
    (CONVERSE, {"messages": [C_HI, C_USE], **TOOLS}, "following ids: c1"),
    (CONVERSE, {"messages": [C_HI, C_USE, C_HI], **TOOLS}, "following ids: c1"),
    (CONVERSE, {"messages": [C_RESULT], **TOOLS}, "exceeds the number of toolUse blocks"),
    (CONVERSE, {"messages": [C_HI, C_USE, C_RESULT]}, "toolConfig"),
    (CONVERSE, {"messages": [C_HI, {"role": "assistant", "content": [{"toolUse": {"toolUseId": LONG}}]}], **TOOLS}, "longer than 64"),
]


@pytest.mark.parametrize(("path", "body", "words"), REFUSED)
def test_strict_refuses(path: str, body: Json, words: str) -> None:
    """Each of the vendors' rules, with the words that tell which one it is."""
    asked = understand(path, "", body)
    assert asked is not None
    refusal = objection(asked)
    assert refusal is not None
    assert words in refusal


ACCEPTED: list[tuple[str, Json]] = [
    (CHAT, {"messages": [HI, CHAT_CALL, {"role": "tool", "tool_call_id": "c1", "content": "ok"}, HI]}),
    (RESPONSES, {"input": "hi"}),
    (RESPONSES, {"input": [HI, {**R_CALL, "id": "fc_1"}, {"type": "function_call_output", "call_id": "c1", "output": "ok"}]}),
    (MESSAGES, {"max_tokens": 1, "messages": [HI, HI, USE, RESULT]}),
    (INVOKE, {"anthropic_version": "v", "max_tokens": 1, "messages": [HI]}),
    (GEMINI, {"contents": [{"parts": [{"text": "hi"}]}, G_CALL, G_RESULT, G_CALL, G_RESULT, {"role": "model", "parts": [{"text": "ok"}]}, G_HI]}),
    (CONVERSE, {"messages": [C_HI, C_USE, C_RESULT], **TOOLS}),
    ("/api/chat", {"messages": [], "sparkle": 1}),
]


@pytest.mark.parametrize(("path", "body"), ACCEPTED)
def test_strict_accepts(path: str, body: Json) -> None:
    """What is in order has nothing against it."""
    asked = understand(path, "", body)
    assert asked is not None
    assert objection(asked) is None
