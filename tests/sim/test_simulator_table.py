"""The table: every protocol with everything that the simulator can do, and what comes of it through the engine, over real sockets, on both loops."""

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
BADLY = {
    "error before content": ("sim/fault?kind=error", "server", ""),
    "error after content": ("sim/fault?kind=error&after=2", "server", TWO),
    "truncate": ("sim/fault?kind=truncate&after=2", "truncated", TWO),
    "truncate, compressed": ("sim/fault?kind=truncate&after=2&gzip=1", "truncated", TWO),
    "cut": ("sim/fault?kind=cut&after=2", "truncated", TWO),
    "close": ("sim/fault?kind=close", "network", ""),
    "reset before the headers": ("sim/fault?kind=reset", "network", ""),
    "stall": ("sim/fault?kind=stall&after=2", "timeout", TWO),
    "pings": ("sim/fault?kind=pings&after=2&ping_ms=10", "timeout", TWO),
    "garbage": ("sim/fault?kind=garbage&after=2", "malformed", TWO),
    "HTML with 200": ("sim/fault?kind=html", "malformed", ""),
    "JSON error with 200": ("sim/fault?kind=json_error", "server", ""),
    "429": ("sim/fault?kind=status&retry_after=7", "rate_limit", ""),
    "cut UTF-8": ("sim/fault?kind=cut_utf8&after=2", "truncated", TWO),
    "no HTTP": ("sim/fault?kind=no_http", "malformed", ""),
    "broken chunks": ("sim/fault?kind=bad_chunk&after=2", "malformed", TWO),
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
async def test_what_goes_wrong(protocol: str) -> None:
    """Each fault has its kind of failure, and what came before it is kept. All at once, since some of them take their time."""
    found: dict[str, hw.Response] = {}

    async def ask(name: str, script: str, engine: hw.Engine, sim: Simulator) -> None:
        timeouts = hw.Timeouts(idle=0.3 if BADLY[name][1] == "timeout" else 15)
        request = hw.Request(model=sim.model(protocol, script), messages=[user("hi")], timeouts=timeouts)
        found[name] = await engine.generate(request, raise_on_error=False)

    with anyio.fail_after(20):
        async with Simulator() as sim, impatient() as engine, anyio.create_task_group() as group:
            for name, (script, _, _) in BADLY.items():
                group.start_soon(ask, name, f"{script}&n=3", engine, sim)
    assert {name: outcome(answer) for name, answer in found.items()} == {name: (kind, text) for name, (_, kind, text) in BADLY.items()}
    limited = found["429"].error
    assert limited is not None
    assert (limited.status, limited.retry_after, limited.retryable) == (429, 7, True)
    assert sim.stats.hang_ups == 2  # those that waited in vain
    assert sim.stats.active == 0


@pytest.mark.parametrize("protocol", BY_PROTOCOL)
async def test_a_reset_in_mid_body(protocol: str) -> None:
    """The kernel may throw away what came just before it, so that only the kind is sure: a good answer it never is."""
    async with Simulator() as sim, impatient() as engine:
        request = hw.Request(model=sim.model(protocol, "sim/fault?kind=reset_body&after=2&n=3"), messages=[user("hi")])
        kind, text = outcome(await engine.generate(request, raise_on_error=False))
    assert kind in ("truncated", "network")
    assert TWO.startswith(text)


@pytest.mark.parametrize("protocol", BY_PROTOCOL)
async def test_an_oversized_frame(protocol: str) -> None:
    """The reader's limit ends it long before it has all come, and what came before is kept."""
    async with Simulator() as sim, impatient() as engine:
        request = hw.Request(model=sim.model(protocol, f"sim/fault?kind=huge&after=2&n=3&size={64 << 20}"), messages=[user("hi")])
        assert outcome(await engine.generate(request, raise_on_error=False)) == ("malformed", TWO)
