"""The table: every protocol with everything that the simulator can do well, through the engine, over real sockets, on both loops.

What it can do badly is the business of `faults`.
"""

from __future__ import annotations

import anyio
import pytest

import headwater as hw
from headwater.sim import Script, Simulator
from headwater.sim.speech import BY_PROTOCOL
from headwater_codecs.neutral import user

pytestmark = pytest.mark.anyio
TEXT = "token0 token1 token2 "
TWO = "token0 token1 "
WEATHER = hw.Tool("weather", "The weather.", {"type": "object", "properties": {"city": {"type": "string"}}})
SCRIPTS = {"calls": Script(call="weather", args='{"city":"Oslo"}', calls=2)}
NO_TOOLS = {"openai-text"}
NO_REASONING = {"openai-text", "openai-assistants"}

# What is asked for, and what comes of it: how it ended, its text. All but `huge` has three pieces of text.
WELL = {
    "text": "sim/tokens?n=3",
    "slow drip": "sim/tokens?n=3&split=40&drip_ms=0.1",
    "in one write": "sim/tokens?n=3&merge=99",
    "gzip by a proxy": "sim/tokens?n=3&gzip=1",
    "keep-alives between": "sim/tokens?n=3&gap_ms=3&ping_ms=1",
    "a fault behind the end": "sim/fault?kind=cut&late=1&n=3",
}


def impatient() -> hw.Engine:
    """An engine that tries once."""
    return hw.Engine(transport="socket", retry=hw.Retry(attempts=0))


def outcome(answer: hw.Response) -> tuple[str | None, str]:
    """How it ended, and its text."""
    return (answer.finish_reason if answer.error is None else answer.error.kind), answer.text


@pytest.mark.parametrize("protocol", BY_PROTOCOL)
async def test_what_goes_well(protocol: str) -> None:
    """However the bytes come, the answer is the same; its counts are those of the script."""
    found: dict[str, hw.Response] = {}

    async def ask(name: str, script: str, engine: hw.Engine, sim: Simulator) -> None:
        found[name] = await engine.generate(hw.Request(model=sim.model(protocol, script), messages=[user("hi")]), raise_on_error=False)

    with anyio.fail_after(20):
        async with Simulator(strict=True) as sim, impatient() as engine, anyio.create_task_group() as group:
            for name, script in WELL.items():
                group.start_soon(ask, name, script, engine, sim)
    assert {name: outcome(answer) for name, answer in found.items()} == dict.fromkeys(WELL, ("stop", TEXT))
    usages = [answer.usage and (answer.usage.input_tokens, answer.usage.output_tokens) for name, answer in found.items() if "fault" not in WELL[name]]
    assert usages == [(10, 3)] * 5


@pytest.mark.parametrize("protocol", BY_PROTOCOL)
async def test_what_is_said_beside_text(protocol: str) -> None:
    """Calls, reasoning with its signature where there is a place for it, a refusal, the end by length, no counts."""
    async with Simulator(strict=True, scripts=SCRIPTS) as sim, impatient() as engine:

        async def ask(script: str, *tools: hw.Tool) -> hw.Response:
            return await engine.generate(hw.Request(model=sim.model(protocol, script), messages=[user("hi")], tools=tools))

        if protocol not in NO_TOOLS:
            called = await ask("calls", WEATHER)
            calls = [(call.name, call.input, call.complete) for call in called.tool_calls]
            assert (called.finish_reason, calls) == ("tool_calls", [("weather", {"city": "Oslo"}, True)] * 2)
        thought = await ask("sim/tokens?n=3&reasoning=2")
        assert (thought.text, thought.reasoning) == (TEXT, "" if protocol in NO_REASONING else "thought0 thought1 ")
        cut = await ask("sim/tokens?n=3&finish=length")
        assert outcome(cut) == ("length", TEXT)
        uncounted = (await ask("sim/tokens?n=3&usage=0")).usage
        assert uncounted is None or not uncounted.output_tokens


@pytest.mark.parametrize("protocol", BY_PROTOCOL)
async def test_an_oversized_frame(protocol: str) -> None:
    """The reader's limit ends it long before it has all come, and what came before is kept."""
    async with Simulator() as sim, impatient() as engine:
        request = hw.Request(model=sim.model(protocol, f"sim/fault?kind=huge&after=2&n=3&size={64 << 20}"), messages=[user("hi")])
        assert outcome(await engine.generate(request, raise_on_error=False)) == ("malformed", TWO)
