"""Where a fault happens and how it is said: before the protocol's end, behind it, in every protocol's own framing, with every way to ask for time."""

from __future__ import annotations

import anyio
import httpx
import pytest

import headwater as hw
from headwater.sim import Script, Simulator
from headwater.sim.script import steps
from headwater.sim.speech import BY_PROTOCOL
from headwater_codecs.neutral import TextDelta, TextEnd, TextStart, user

pytestmark = pytest.mark.anyio
WHOLE = "token0 token1 token2 "


async def ask(to: hw.Model, engine: hw.Engine, *, idle: float = 5) -> hw.Response:
    """One answer."""
    return await engine.generate(hw.Request(model=to, messages=[user("hi")], timeouts=hw.Timeouts(idle=idle)), raise_on_error=False)


def outcome(answer: hw.Response) -> tuple[str | None, str]:
    """What the answer came to, and its text."""
    return (answer.finish_reason if answer.error is None else answer.error.kind), answer.text


BEFORE_THE_END = {
    "truncate": "truncated",
    "cut": "truncated",
    "length": "truncated",
    "cut_utf8": "truncated",
    "garbage": "malformed",
    "bad_chunk": "malformed",
    "error": "server",
}


@pytest.mark.parametrize("protocol", BY_PROTOCOL)
async def test_a_fault_comes_before_the_end(protocol: str) -> None:
    """However many pieces it waits for, it is in front of the protocol's end: an answer with a fault is never a good one."""
    async with Simulator() as sim, hw.Engine(transport="socket", retry=hw.Retry(attempts=0)) as engine:
        found = {fault: await ask(sim.model(protocol, f"sim/fault?kind={fault}&after=99&n=3"), engine) for fault in BEFORE_THE_END}
    assert {fault: outcome(answer) for fault, answer in found.items()} == {fault: (kind, WHOLE) for fault, kind in BEFORE_THE_END.items()}


LATE = ["truncate", "cut", "length", "reset_body", "stall", "pings", "garbage", "bad_chunk"]


@pytest.mark.parametrize("protocol", ["openai-chat", "openai-responses", "anthropic-messages", "cohere-chat", "ollama-chat"])
async def test_a_late_fault(protocol: str) -> None:
    """Behind the protocol's end it hurts nobody: the answer is whole."""
    with anyio.fail_after(10):
        async with Simulator() as sim, hw.Engine(transport="socket", retry=hw.Retry(attempts=0)) as engine:
            found = {fault: await ask(sim.model(protocol, f"sim/fault?kind={fault}&late=1&n=3"), engine) for fault in LATE}
    assert {fault: outcome(answer) for fault, answer in found.items()} == dict.fromkeys(LATE, ("stop", WHOLE))


@pytest.mark.parametrize("protocol", BY_PROTOCOL)
async def test_keep_alives_of_every_protocol(protocol: str) -> None:
    """They stand between the pieces and are no progress: a stream of nothing else is given up, with what came before."""
    async with Simulator() as sim, hw.Engine(transport="socket", retry=hw.Retry(attempts=0)) as engine:
        assert outcome(await ask(sim.model(protocol, "sim/tokens?n=3&gap_ms=9&ping_ms=2"), engine)) == ("stop", WHOLE)
        assert outcome(await ask(sim.model(protocol, "sim/fault?kind=pings&after=1&ping_ms=20"), engine, idle=0.2)) == ("timeout", "token0 ")


@pytest.mark.parametrize("protocol", ["bedrock-converse", "gemini", "ollama-chat"])
async def test_a_frame_without_an_end(protocol: str) -> None:
    """In binary messages and lines too it is the reader's limit that ends it."""
    async with Simulator() as sim, hw.Engine(transport="socket", retry=hw.Retry(attempts=0)) as engine:
        answer = await ask(sim.model(protocol, f"sim/fault?kind=huge&after=1&size={34 << 20}"), engine)
    assert outcome(answer) == ("malformed", "token0 ")
    assert answer.error is not None
    assert "limit" in answer.error.message or "allowed" in answer.error.message


async def test_ways_to_ask_for_time() -> None:
    """Seconds, milliseconds, a date: each is understood."""
    async with Simulator() as sim, hw.Engine(transport="socket", retry=hw.Retry(attempts=0)) as engine:
        for options, wait in (("retry_after=1.5", 1.5), ("retry_after=0.25&retry_as=ms", 0.25), ("retry_after=3&retry_as=date", 3.0)):
            answer = await ask(sim.model("openai-chat", f"sim/fault?kind=status&{options}"), engine)
            assert answer.error is not None
            assert (answer.error.kind, answer.error.retry_after) == ("rate_limit", wait)


async def test_an_error_whose_body_does_not_end() -> None:
    """The status and half of the body come, and then nothing."""
    async with Simulator() as sim, httpx.AsyncClient(trust_env=False, timeout=0.2) as client:
        body = {"model": "sim/fault?kind=status_stall&status=500", "messages": [], "stream": True}
        async with client.stream("POST", f"{sim.base_url('openai-chat')}/chat/completions", json=body) as response:
            assert response.status_code == 500
            came = b""
            pieces = response.aiter_bytes()
            while len(came) < int(response.headers["content-length"]) // 2:
                came += await anext(pieces)
            with pytest.raises(httpx.ReadTimeout):
                await anext(pieces)
    assert came.startswith(b'{"error":{')
    assert not came.endswith(b"}")


async def test_headers_that_come_late() -> None:
    """A deadline that passes before the headers says so."""
    async with Simulator() as sim, hw.Engine(transport="socket", retry=hw.Retry(attempts=0), timeouts=hw.Timeouts(first_content=0.1)) as engine:
        request = hw.Request(model=sim.model("openai-chat", "sim/tokens?headers_ms=60000"), messages=[user("hi")])
        answer = await engine.generate(request, raise_on_error=False)
    assert answer.error is not None
    assert (answer.error.kind, answer.error.deadline, answer.error.phase) == ("timeout", "first_content", "headers")
    assert sim.stats.hang_ups == 1


async def test_reset_before_content_and_then_well() -> None:
    """A first attempt that breaks after the role alone is made again, and nobody sees two starts."""
    async with Simulator() as sim, hw.Engine(transport="socket", retry=hw.Retry(attempts=1, base=0)) as engine:
        to = sim.model("openai-chat", "sim/fault?kind=cut&times=1&n=1")
        async with engine.stream(hw.Request(model=to, messages=[user("hi")])) as stream:
            kinds = [type(event).__name__ async for event in stream]
    assert [kind for kind in kinds if kind != "UsageUpdate"] == ["StreamStart", "TextStart", "TextDelta", "TextEnd", "ChoiceEnd", "Finish"]
    assert sim.stats.requests == 2


def test_choices_take_turns() -> None:
    """The choices' blocks are open at the same time, numbered in the order in which they open."""
    events = [event for _, event in steps(Script(n=2, choices=2), "m", "id")]
    assert events[1:9] == [
        TextStart(0, 0),
        TextStart(1, 1),
        TextDelta(0, "token0 "),
        TextDelta(1, "token0 "),
        TextDelta(0, "token1 "),
        TextDelta(1, "token1 "),
        TextEnd(0),
        TextEnd(1),
    ]


@pytest.mark.parametrize("protocol", BY_PROTOCOL)
async def test_several_choices(protocol: str) -> None:
    """Where the wire has several choices they all arrive; elsewhere the first one does, and nothing of the others."""
    several = protocol in ("openai-chat", "openai-text", "gemini")
    async with Simulator() as sim, hw.Engine(transport="socket", retry=hw.Retry(attempts=0)) as engine:
        answer = await ask(sim.model(protocol, "sim/tokens?n=3&choices=3"), engine)
    assert [choice.text for choice in answer.choices] == [WHOLE] * (3 if several else 1)
