"""The simulator's connections: clients that leave, faults that end or keep a connection, faults in whole bodies, TLS."""

from __future__ import annotations

import signal
import ssl
import sys

import anyio
import httpx
import pytest
import trustme
from anyio.streams.text import TextReceiveStream

import headwater as hw
from headwater.sim import Script, Simulator
from headwater.sim.script import steps
from headwater.sim.speech import BY_PROTOCOL
from headwater_codecs.neutral import ToolCallDelta, user

pytestmark = pytest.mark.anyio


def asked(name: str) -> dict[str, object]:
    """A body that asks for one whole answer."""
    return {"model": name, "messages": [{"role": "user", "content": "hi"}]}


async def hung_up(sim: Simulator, count: int) -> None:
    """Returns when so many clients have hung up and nobody is served."""
    with anyio.fail_after(2):
        while sim.stats.hang_ups < count or sim.stats.active:
            await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize("script", ["sim/fault?kind=stall", "sim/fault?kind=pings&ping_ms=1", "sim/tokens?first_ms=60000", "sim/tokens?gap_ms=60000"])
async def test_a_client_that_leaves_while_the_simulator_waits(script: str) -> None:
    """It is noticed at once, is counted as a hang-up, and the next client is served."""
    async with Simulator(max_concurrent=1) as sim, hw.Engine(transport="socket", retry=hw.Retry(attempts=0)) as engine:
        for count in (1, 2):
            async with anyio.create_task_group() as group:
                group.start_soon(engine.generate, hw.Request(model=sim.model("openai-chat", script), messages=[user("hi")]))
                with anyio.fail_after(5):
                    while not sim.stats.active:
                        await anyio.lowlevel.checkpoint()
                group.cancel_scope.cancel()
            await hung_up(sim, count)
        answer = await engine.generate(hw.Request(model=sim.model("openai-chat", "sim/tokens?n=1"), messages=[user("hi")]))
        assert answer.text == "token0 "
    assert (sim.stats.completed, sim.stats.refused) == (1, 0)


async def test_a_connection_is_kept_and_then_closed() -> None:
    """After `idle_close` the kept connection is dead, and the next request still gets its answer."""
    async with Simulator() as sim, hw.Engine(transport="socket", retry=hw.Retry(attempts=0)) as engine:
        for _ in range(3):
            answer = await engine.generate(hw.Request(model=sim.model("openai-chat", "sim/fault?kind=idle_close&n=1"), messages=[user("hi")]))
            assert (answer.error, answer.text) == (None, "token0 ")
    assert sim.stats.completed == 3


async def test_a_port_that_is_taken() -> None:
    """It cannot be listened on: that is said, and the one who has it serves on."""
    async with Simulator() as sim:
        with pytest.raises(OSError, match="in use"):
            await Simulator(port=int(sim.address.rpartition(":")[2])).__aenter__()
        async with hw.Engine(transport="socket") as engine:
            assert (await engine.generate(hw.Request(model=sim.model("openai-chat", "sim/tokens?n=1"), messages=[user("hi")]))).text == "token0 "


async def test_leaving_the_block() -> None:
    """An exception leaves as itself, and a deadline of the caller's ends it, with clients that are being answered."""
    with pytest.raises(ZeroDivisionError):
        async with Simulator():
            raise ZeroDivisionError
    with anyio.move_on_after(0.1) as scope:
        async with Simulator() as sim, hw.Engine(transport="socket") as engine:
            await engine.generate(hw.Request(model=sim.model("openai-chat", "sim/tokens?first_ms=60000"), messages=[user("hi")]))
    assert scope.cancelled_caught


async def test_refused_after_the_end() -> None:
    """Where the simulator was, nobody listens any more."""
    async with Simulator() as sim:
        to = sim.model("openai-chat")
    async with hw.Engine(transport="socket", retry=hw.Retry(attempts=0)) as engine:
        answer = await engine.generate(hw.Request(model=to, messages=[user("hi")]), raise_on_error=False)
    assert answer.error is not None
    assert (answer.error.kind, answer.error.phase) == ("network", "connect")


@pytest.mark.parametrize("fault", ["cut", "reset_body", "length"])
async def test_a_whole_body_that_breaks_off(fault: str) -> None:
    """One body that breaks off is an error of the connection."""
    async with Simulator() as sim, httpx.AsyncClient(trust_env=False) as client:
        with pytest.raises(httpx.TransportError):
            await client.post(f"{sim.base_url('openai-chat')}/chat/completions", json=asked(f"sim/fault?kind={fault}"))


async def test_whole_bodies_with_faults() -> None:
    """Half a body is no JSON; an error has the status of its kind; keep-alives stay out of a whole body."""
    async with Simulator() as sim, httpx.AsyncClient(trust_env=False) as client:
        at = f"{sim.base_url('openai-chat')}/chat/completions"
        half = await client.post(at, json=asked("sim/fault?kind=truncate"))
        assert half.status_code == 200
        assert half.text.startswith('{"id":"sim1"')
        assert not half.text.endswith("}")
        failed = await client.post(at, json=asked("sim/fault?kind=error&error_kind=overloaded"))
        assert (failed.status_code, list(failed.json())) == (503, ["error"])
        whole = await client.post(at, json=asked("sim/tokens?n=2&ping_ms=1&gap_ms=4"))
        assert whole.json()["choices"][0]["message"]["content"] == "token0 token1 "


async def test_gemini_as_an_array() -> None:
    """Without alt=sse Gemini's answer is one JSON array."""
    async with Simulator(scripts={"m": Script(n=2)}) as sim, httpx.AsyncClient(trust_env=False) as client:
        answer = await client.post(f"{sim.base_url('gemini')}/models/m:streamGenerateContent", json={"contents": []})
        assert answer.headers["content-type"] == "application/json"
        assert [chunk["candidates"][0].get("content", {}).get("parts") for chunk in answer.json()] == [
            [{"text": "token0 "}],
            [{"text": "token1 "}],
            None,
        ]


def test_calls_take_turns() -> None:
    """The arguments of several calls come in turn, piece by piece."""
    events = [event for _, event in steps(Script(call="weather", args='{"city":"Oslo"}', calls=2), "m", "id")]
    pieces = [(event.index, event.arguments) for event in events if isinstance(event, ToolCallDelta)]
    assert pieces == [(0, '{"city":'), (1, '{"city":'), (0, '"Oslo"}'), (1, '"Oslo"}')]


@pytest.mark.parametrize("protocol", ["openai-chat", "anthropic-messages"])
async def test_calls_that_take_turns_are_read(protocol: str) -> None:
    """Each call arrives with its own arguments."""
    async with Simulator(scripts={"m": Script(call="weather", args='{"city":"Oslo"}', calls=3)}) as sim, hw.Engine(transport="socket") as engine:
        answer = await engine.generate(hw.Request(model=sim.model(protocol, "m"), messages=[user("hi")]))
        assert [call.input for call in answer.tool_calls] == [{"city": "Oslo"}] * 3


@pytest.mark.parametrize("protocol", BY_PROTOCOL)
async def test_faults_in_the_framing_of_every_protocol(protocol: str) -> None:
    """What is no frame, what ends inside of one, and an error in the stream are read as such, after what came before."""
    outcomes = {"garbage": "malformed", "cut_utf8": "truncated", "error": "server", "length": "truncated", "html": "malformed"}
    async with Simulator() as sim, hw.Engine(transport="socket", retry=hw.Retry(attempts=0)) as engine:
        found = {}
        for fault in outcomes:
            to = sim.model(protocol, f"sim/fault?kind={fault}&after=2")
            answer = await engine.generate(hw.Request(model=to, messages=[user("hi")]), raise_on_error=False)
            assert answer.error is not None
            assert answer.text == ("" if fault == "html" else "token0 token1 ")
            found[fault] = answer.error.kind
    assert found == outcomes


async def test_tls() -> None:
    """With a certificate it serves TLS; clients that do not trust it, or speak no TLS or no HTTP, disturb nobody."""
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    async with Simulator(ssl_context=context) as sim:
        assert sim.address.startswith("https://127.0.0.1:")
        async with hw.Engine(transport="socket", retry=hw.Retry(attempts=0)) as engine:
            answer = await engine.generate(hw.Request(model=sim.model("openai-chat"), messages=[user("hi")]), raise_on_error=False)
            assert answer.error is not None
            assert answer.error.kind == "network"
        async with await anyio.connect_tcp("127.0.0.1", int(sim.address.rpartition(":")[2])) as plain:
            await plain.send(b"this is neither TLS nor HTTP\r\n\r\n")
        async with hw.Engine(transport="socket", ssl_context=trusting) as engine:
            for script in ("sim/tokens?n=1", "sim/tokens?n=1&first_ms=1&ping_ms=1"):
                assert (await engine.generate(hw.Request(model=sim.model("openai-chat", script), messages=[user("hi")]))).text == "token0 "


async def test_the_command(anyio_backend_name: str) -> None:
    """`headwater sim` prints its addresses, serves, and ends well at Ctrl-C."""
    command = [sys.executable, "-m", "headwater", "sim", "--strict", "--rpm", "1", "--backend", anyio_backend_name]
    with anyio.fail_after(20):
        async with await anyio.open_process(command) as process:
            assert process.stdout is not None
            printed = ""
            async for piece in TextReceiveStream(process.stdout):
                printed += piece
                if "ollama-chat" in printed and printed.endswith("\n"):
                    break
            title, *lines = printed.splitlines()
            addresses = dict(line.split() for line in lines)
            assert sorted(addresses) == sorted(BY_PROTOCOL)
            async with httpx.AsyncClient(trust_env=False) as client:
                with pytest.raises(httpx.ConnectError):
                    await client.get(title.partition("connections to ")[2].split()[0])
                at = f"{addresses['openai-chat']}/chat/completions"
                answers = [await client.post(at, json=asked("sim/tokens?n=1")) for _ in range(2)]
            process.send_signal(signal.SIGINT)
            assert await process.wait() == 0
    assert [answer.status_code for answer in answers] == [200, 429]
