"""The simulator, read by the real engine over real sockets: every protocol, every fault, timing, scripts."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import anyio
import httpx
import pytest

import headwater as hw
from headwater.sim import Script, Simulator, read_script, read_scripts
from headwater.sim.speech import BY_PROTOCOL
from headwater_codecs.neutral import ConfigurationError, Message, user

pytestmark = pytest.mark.anyio
PROTOCOLS = list(BY_PROTOCOL)
CALLING = [protocol for protocol in PROTOCOLS if protocol != "openai-text"]
WEATHER = hw.Tool("weather", "The weather.", {"type": "object", "properties": {"city": {"type": "string"}}})


@pytest.fixture
async def sim() -> AsyncIterator[Simulator]:
    """A simulator as a fixture."""
    async with Simulator(scripts={"weather": Script(call="weather", args='{"city":"Oslo"}')}) as simulator:
        yield simulator


async def test_as_a_fixture(sim: Simulator) -> None:
    """A fixture may hold it, as docs/sim.md shows."""
    answer = await ask(sim.model("anthropic-messages", "weather"))
    assert [call.input for call in answer.tool_calls] == [{"city": "Oslo"}]
    assert sim.stats.requests == 1


SCRIPTS = {"calls": Script(call="weather", args='{"city":"Oslo"}')}


async def ask(to: hw.Model, *messages: Message, **fields: object) -> hw.Response:
    """One answer, without retries."""
    tools = fields.pop("tools", ())
    timeouts = fields.pop("timeouts", None)
    async with hw.Engine(transport="socket", retry=hw.Retry(attempts=0), timeouts=timeouts) as engine:  # type: ignore[arg-type]
        request = hw.Request(model=to, messages=list(messages) or [user("hi")], tools=tools)  # type: ignore[arg-type]
        return await engine.generate(request, raise_on_error=False)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_every_protocol(protocol: str) -> None:
    """Text, a tool call, and an answer that breaks off, which is never taken for a whole one."""
    async with Simulator(scripts=SCRIPTS) as sim:
        answer = await ask(sim.model(protocol, "sim/tokens?n=3"))
        assert (answer.error, answer.text, answer.finish_reason) == (None, "token0 token1 token2 ", "stop")
        assert answer.usage is not None
        assert (answer.usage.input_tokens, answer.usage.output_tokens) == (10, 3)
        cut = await ask(sim.model(protocol, "sim/fault?n=9&kind=truncate&after=2"))
        assert cut.error is not None
        assert (cut.error.kind, cut.text) == ("truncated", "token0 token1 ")
        if protocol in CALLING:
            called = await ask(sim.model(protocol, "calls"), tools=[WEATHER])
            assert (called.finish_reason, [(call.name, call.input) for call in called.tool_calls]) == ("tool_calls", [("weather", {"city": "Oslo"})])


FAULTS: dict[str, tuple[str, str]] = {
    "kind=refuse": ("network", ""),
    "kind=close": ("network", ""),
    "kind=reset": ("network", ""),
    "kind=status&status=500": ("server", ""),
    "kind=status&status=429&retry_after=7": ("rate_limit", ""),
    "kind=no_http": ("malformed", ""),
    "kind=html": ("malformed", ""),
    "kind=json_error": ("server", ""),
    "kind=error&after=2": ("server", "token0 token1 "),
    "kind=error&after=2&error_kind=overloaded": ("overloaded", "token0 token1 "),
    "kind=truncate&after=2": ("truncated", "token0 token1 "),
    "kind=cut&after=2": ("truncated", "token0 token1 "),
    "kind=reset_body&after=2": ("truncated", ""),
    "kind=garbage&after=2": ("malformed", "token0 token1 "),
    "kind=bad_chunk&after=2": ("malformed", "token0 token1 "),
    "kind=huge&after=2": ("malformed", "token0 token1 "),
    "kind=cut_utf8&after=2": ("truncated", "token0 token1 "),
    "kind=length&after=2": ("truncated", "token0 token1 "),
    "kind=stall&after=2": ("timeout", "token0 token1 "),
    "kind=pings&after=2&ping_ms=20": ("timeout", "token0 token1 "),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("protocol", ["openai-chat", "anthropic-messages"])
async def test_every_fault(protocol: str, fault: str) -> None:
    """Each fault has its outcome, and what came before it is kept."""
    kind, text = FAULTS[fault]
    async with Simulator() as sim:
        answer = await ask(sim.model(protocol, f"sim/fault?{fault}"), timeouts=hw.Timeouts(idle=0.3, first_content=1))
    assert answer.error is not None
    assert answer.error.kind == kind
    assert answer.text.startswith(text)
    if "retry_after" in fault:
        assert answer.error.retry_after == 7


async def test_a_fault_some_times() -> None:
    """After that many times all is well, so a retry gets through."""
    async with Simulator() as sim, hw.Engine(transport="socket", retry=hw.Retry(attempts=3, base=0)) as engine:
        to = sim.model("openai-chat", "sim/fault?kind=status&status=503&times=2&n=2")
        answer = await engine.generate(hw.Request(model=to, messages=[user("hi")]))
        assert (answer.text, answer.attempts) == ("token0 token1 ", 3)


async def test_timing_and_writes() -> None:
    """Pieces come at their times; a write may hold many events, or one byte, or one byte at a time."""
    async with Simulator() as sim:
        for options in ("split=1", "merge=16", "split=200&drip_ms=1", "headers_ms=20", "first_ms=20&gap_ms=5&ping_ms=4"):
            answer = await ask(sim.model("openai-chat", f"sim/tokens?n=4&{options}"))
            assert (answer.error, answer.text) == (None, "token0 token1 token2 token3 ")
        assert answer.timing.first_content is not None
        assert answer.timing.first_content >= 0.02


async def test_concurrency_and_hang_ups() -> None:
    """One more than allowed at once is refused; a client that leaves is counted."""
    async with Simulator(max_concurrent=1) as sim, hw.Engine(transport="socket", retry=hw.Retry(attempts=0)) as engine:
        slow = hw.Request(model=sim.model("openai-chat", "sim/tokens?n=1000&gap_ms=50"), messages=[user("hi")])
        async with engine.stream(slow) as stream:
            await stream.next_batch()
            refused = await engine.generate(slow, raise_on_error=False)
            assert refused.error is not None
            assert refused.error.kind == "rate_limit"
        with anyio.fail_after(2):
            while sim.stats.hang_ups < 1:
                await anyio.lowlevel.checkpoint()
        assert (sim.stats.peak, sim.stats.refused, sim.stats.active) == (1, 1, 0)


async def test_not_streamed() -> None:
    """A client that asks for one body gets one."""
    async with Simulator() as sim, httpx.AsyncClient(trust_env=False) as client:
        body = {"model": "sim/tokens?n=2", "messages": [{"role": "user", "content": "hi"}]}
        answer = (await client.post(f"{sim.base_url('openai-chat')}/chat/completions", json=body)).json()
        assert answer["choices"][0]["message"]["content"] == "token0 token1 "
        assert (await client.get(f"{sim.address}/nowhere")).status_code == 404
        assert (await client.post(f"{sim.address}/v1/messages", content=b"oops")).status_code == 400
        assert (await client.get(f"{sim.address}/v1/messages")).status_code == 405


def test_scripts() -> None:
    """Scripts in names and in files; what cannot be read says why."""
    assert read_script("gpt-4o") == Script()
    assert read_script("sim/tokens?n=3&gap_ms=2.5") == Script(n=3, gap_ms=2.5)
    assert read_script("sim%2Ftokens%3Fn%3D3") == Script(n=3)
    assert read_scripts(json.dumps({"m": {"text": "a b", "finish": "length"}}).encode()) == {"m": Script(text="a b", finish="length")}
    for name in ("sim/sparkle", "sim/tokens?n=x", "sim/tokens?sparkle=1", "sim/fault", "sim/fault?kind=sparkle"):
        with pytest.raises(ConfigurationError):
            read_script(name)
    with pytest.raises(ConfigurationError):
        read_scripts(b"[]")
