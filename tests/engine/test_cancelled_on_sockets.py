"""Given up over real sockets: at every moment, in every manner, on every topology and both transports. The provider sees it at once."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

import headwater
from engine.transport.scripted_server import no_leak
from engine.upstream import TOPOLOGIES, Reader, delta, failure, model, settle
from headwater.stream import Topology
from headwater_codecs.neutral import Request, TextDelta, user
from loopback import Asked, Loopback, Reply, loopback

MOMENTS = ("connecting", "headers", "content", "body", "back-off")
MANNERS = ("scope", "deadline", "sibling", "close", "engine", "drain")
ACTORS = {"headwater.parser", "headwater.translator", "headwater.aggregator", "headwater.fan-out", "headwater.hedge", "headwater.watchdog"}


async def script(asked: Asked, reply: Reply) -> None:
    """Goes as far as the prompt says, then no further."""
    if asked.prompt == "back-off":
        await reply.whole(429, b"{}", retry_after="30")
        return
    if asked.prompt != "headers":
        await reply.begin()
        await reply.send(delta("a") if asked.prompt == "body" else delta(""))
    await anyio.sleep_forever()


@asynccontextmanager
async def deaf(moment: str, server: Loopback) -> AsyncIterator[str]:
    """The server's address; for the moment of connecting that of one that accepts nothing more."""
    if moment != "connecting":
        yield server.base_url
        return
    async with await anyio.create_tcp_listener(local_host="127.0.0.1", backlog=1) as listener:
        port = listener.extra(SocketAttribute.local_port)
        held: list[SocketStream] = []
        with anyio.move_on_after(0.1):  # fill the backlog, so that the next connection waits
            while True:
                held.append(await anyio.connect_tcp("127.0.0.1", port))
        yield f"http://127.0.0.1:{port}/v1"
        for connection in held:
            await connection.aclose()


class Reached:
    """Knows when the moment has come: it is the engine's logger, its hook, and looks at the events."""

    def __init__(self, moment: str) -> None:
        self._moment = moment
        self._event = anyio.Event()

    def debug(self, event: str, **fields: object) -> None:
        pass

    def warning(self, event: str, **fields: object) -> None:
        pass

    def info(self, event: str, **fields: object) -> None:
        if event == "headwater.stream.retried":
            self._event.set()

    def answered(self, status: int, headers: object) -> None:
        if self._moment == "content":
            self._event.set()

    def read(self, event: headwater.Event) -> None:
        if type(event) is TextDelta:
            self._event.set()

    async def wait(self, server: Loopback) -> None:
        """Until it has come, and whoever waits does wait."""
        if self._moment == "headers":
            await server.busy(1)
        elif self._moment != "connecting":
            await self._event.wait()
        await settle()


class Use:
    """An engine and a stream of it, read by a task, and by listeners outside of it where the topology has a pump."""

    def __init__(self, reached: Reached, transport: str, topology: Topology, asked: Request) -> None:
        self.engine = headwater.Engine(
            transport=transport, topology=topology, log=reached, on_response=reached.answered, retry=headwater.Retry(base=0)
        )
        self.stream: headwater.Stream | None = None
        self.listeners: list[Reader] = []
        self.cancelled = False
        self._reached = reached
        self._listening = topology != "fused"
        self._asked = asked

    async def read(self, outside: anyio.abc.TaskGroup) -> None:
        """Read until it is over."""
        try:
            self.stream = self.engine.stream(self._asked)
            async with self.stream as stream:
                if self._listening:
                    self.listeners = [Reader(stream.subscribe()), Reader(stream.subscribe("coalesce"))]
                    for listener in self.listeners:
                        outside.start_soon(listener)
                async for event in stream:
                    self._reached.read(event)
        except BaseException:  # trio's own connecting gives a group of cancellations
            self.cancelled = True
            raise


async def given_up(use: Use, manner: str, reached: Reached, server: Loopback) -> None:
    """Read, and at the moment stop in this manner."""
    async with anyio.create_task_group() as outside, use.engine:
        if manner in ("scope", "deadline"):
            async with anyio.create_task_group() as group:
                group.start_soon(use.read, outside)
                await reached.wait(server)
                if manner == "scope":
                    group.cancel_scope.cancel()
                else:  # one of the caller's own, which passes now
                    group.cancel_scope.deadline = anyio.current_time()
        elif manner == "sibling":
            with pytest.RaisesGroup(ZeroDivisionError):
                async with anyio.create_task_group() as group:
                    group.start_soon(use.read, outside)
                    await reached.wait(server)
                    raise ZeroDivisionError
        else:
            outside.start_soon(use.read, outside)
            await reached.wait(server)
            assert use.stream is not None
            if manner == "close":
                await use.stream.aclose()
            elif manner == "drain":
                assert await use.engine.drain(0) == headwater.Drained(0, 1)


@pytest.mark.anyio
@pytest.mark.parametrize("transport", ["socket", "httpx"])
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("manner", MANNERS)
async def test_given_up(anyio_backend: str, topology: Topology, transport: str, moment: str, manner: str) -> None:
    """One request, one hang-up within two seconds, no task, no descriptor, no further attempt; the listeners are told, and nobody is told an end."""
    headwater.Engine(transport=transport)  # what is made once is made before descriptors are counted
    reached = Reached(moment)
    with anyio.fail_after(5):
        async with no_leak(), loopback(script) as server, deaf(moment, server) as url:
            use = Use(reached, transport, topology, Request(model=model(url), messages=[user(moment)]))
            await given_up(use, manner, reached, server)
            assert not {task.name for task in anyio.get_running_tasks()} & ACTORS
            with anyio.fail_after(2):
                for asked in server.asked:
                    if moment != "back-off":
                        await asked.hung_up.wait()
    assert len(server.asked) == (moment != "connecting")
    assert use.cancelled == (manner in ("scope", "deadline", "sibling"))
    assert use.stream is not None
    response = use.stream.response
    assert response.error is not None
    assert (response.error.kind, response.text, response.attempts) == ("aborted", "a" if moment == "body" else "", 1)
    assert [failure(listener.events).kind for listener in use.listeners] == ["aborted"] * len(use.listeners)
    assert len(use.listeners) == (0 if topology == "fused" else 2)


@pytest.mark.anyio
@pytest.mark.parametrize("moment", ["headers", "body"])
async def test_a_hedged_stream_hangs_up_both(anyio_backend: str, topology: Topology, moment: str) -> None:
    """Both requests are seen to end: where nobody has won, and where one has."""

    async def hold(asked: Asked, reply: Reply) -> None:
        if moment == "body":
            await server.busy(2)
            await reply.begin()
            await reply.send(delta("a"))
        await anyio.sleep_forever()

    with anyio.fail_after(5):
        async with no_leak(), loopback(hold) as server, headwater.Engine(topology=topology) as engine, anyio.create_task_group() as group:
            async with engine.stream(Request(model=model(server.base_url), messages=[user("x")]), hedge=0.01) as stream:
                reader = Reader(stream)
                group.start_soon(reader)
                await server.busy(2)
                while moment == "body" and not reader.text:
                    await settle()
            for asked in server.asked:
                await asked.hung_up.wait()
    assert (len(server.asked), reader.text) == (2, "a" if moment == "body" else "")


PROGRAM = """
import sys, anyio, headwater
from headwater_codecs.neutral import TextDelta

async def main(url, topology, transport):
    model = headwater.Model("m", provider="custom", base_url=url, api_key="k")
    asked = headwater.Request(model=model, messages=[headwater.user("body")])
    async with headwater.Engine(topology=topology, transport=transport) as engine, engine.stream(asked) as stream:
        try:
            async for event in stream:
                if type(event) is TextDelta:
                    print("reading", flush=True)
        finally:
            print("left", flush=True)

try:
    anyio.run(main, *sys.argv[2:], backend=sys.argv[1])
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.anyio
@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("transport", ["socket", "httpx"])
async def test_ctrl_c(anyio_backend_name: str, topology: Topology, transport: str) -> None:
    """An interrupt leaves through the blocks: the provider sees the hang-up, KeyboardInterrupt arrives, nothing is warned of."""
    with anyio.fail_after(20):
        async with loopback(script) as server:
            command = [sys.executable, "-W", "error", "-c", PROGRAM, anyio_backend_name, server.base_url, topology, transport]
            async with await anyio.open_process(command, stderr=subprocess.PIPE) as process:
                assert process.stdout is not None
                assert process.stderr is not None
                output = BufferedByteReceiveStream(process.stdout)
                assert await output.receive_until(b"\n", 100) == b"reading"
                process.send_signal(signal.SIGINT)
                await server.asked[0].hung_up.wait()
                said = b"".join([part async for part in output])
                warned = b"".join([part async for part in process.stderr])
    assert (said, warned, process.returncode) == (b"left\ninterrupted\n", b"", 0)
