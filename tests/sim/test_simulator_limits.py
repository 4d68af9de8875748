"""The simulator's limits and counts: refusals in each vendor's own form."""

from __future__ import annotations

import re

import httpx
import pytest

import headwater as hw
from headwater.sim import Simulator
from headwater.sim.limit_headers import openai_limits, retry_after
from headwater.sim.limits import Limits
from headwater.sim.speech import BY_PROTOCOL
from headwater_codecs.neutral import user

pytestmark = pytest.mark.anyio


async def ask(to: hw.Model) -> hw.Response:
    """One answer, without retries."""
    async with hw.Engine(transport="socket", retry=hw.Retry(attempts=0)) as engine:
        return await engine.generate(hw.Request(model=to, messages=[user("hi")]), raise_on_error=False)


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
