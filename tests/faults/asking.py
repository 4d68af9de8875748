"""Asks the simulator for every fault at once, and says what came of each."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from typing import NamedTuple

import anyio
import anyio.lowlevel
import trustme
from msgspec.structs import replace

import headwater as hw
from faults.table import FAULTS, MAX_FRAME, MORE_TEXT, TWO, Fault, Outcome, expected
from headwater.sim import Simulator
from headwater.stream import Topology
from headwater_codecs.neutral import Finish, StreamFailed, TextDelta, user

DEADLINE, LONG = 5.0, 1e6  # seconds: the deadline that a fault runs into, and those that it does not


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Place(NamedTuple):
    """Where faults are asked for: one simulator with HTTP, one with TLS."""

    engine: hw.Engine
    clock: Clock
    plain: Simulator
    tls: Simulator


@cache
def distrusted() -> ssl.SSLContext:
    """A server's context with a certificate of an authority that nobody knows."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    return context


@asynccontextmanager
async def place(transport: str, topology: Topology) -> AsyncIterator[Place]:
    """An engine that retries once and at once, and the simulators. At the end no connection may be left at the provider's."""
    clock = Clock()
    with anyio.fail_after(30):
        async with Simulator() as plain, Simulator(ssl_context=distrusted()) as tls:
            retry = hw.Retry(attempts=1, base=0)
            async with hw.Engine(transport=transport, topology=topology, retry=retry, max_frame=MAX_FRAME, clock=clock) as engine:
                yield Place(engine, clock, plain, tls)
            while plain.stats.active:  # a client that left is noticed at the next turn
                await anyio.lowlevel.checkpoint()


def timeouts(fault: Fault) -> hw.Timeouts:
    """Long deadlines, but for the one that the fault runs into."""
    return hw.Timeouts(**{"connect": LONG, "first_content": LONG, "idle": LONG, **dict.fromkeys(fault.waits, DEADLINE)})


class Asked:
    """One fault that is asked for, and what its reader has seen so far."""

    def __init__(self, where: Place, protocol: str, name: str) -> None:
        self.name = name
        self.fault = fault = FAULTS[name]
        sim = where.tls if fault.tls else where.plain
        self.over = False
        self._engine = where.engine
        self._request = hw.Request(model=sim.model(protocol, fault.script), messages=[user("hi")], timeouts=timeouts(fault))
        self._expected = expected(protocol)[name]
        self._stream: hw.Stream | None = None

    async def read(self) -> Outcome:
        """Read it to its end. The events' text is the response's text, and there is one terminal, the last event."""
        if self.fault.twice:
            await self._engine.generate(self._request)
        async with self._engine.stream(self._request) as stream:
            self._stream = stream
            events = [event async for event in stream]
        answer, self.over = stream.response, True
        assert [event for event in events if isinstance(event, Finish | StreamFailed)] == events[-1:]
        assert "".join(event.text for event in events if isinstance(event, TextDelta)) == answer.text
        error = answer.error
        if error is None:
            assert answer.finish_reason == "stop"
            return Outcome(attempts=answer.attempts, text=answer.text)
        return Outcome(error.kind, error.phase, error.deadline, answer.attempts, answer.text)

    @property
    def waits(self) -> bool:
        """Whether so much of the answer has come as will come before the deadline, and the wait that it ends has begun."""
        if self._stream is None:
            return False
        expected, answer, waits_for = self._expected, self._stream.response, self._stream.deadlines.waits_for
        if expected.phase == "headers":
            return waits_for == expected.deadline  # that the request is there is for the provider to say
        if expected.kind is None:  # the deadline is the refusal's, and what follows is whole
            return bool(answer.headers) and waits_for in self.fault.waits
        return bool(answer.headers) and answer.text.startswith(expected.text) and expected.deadline in ("total", waits_for)


async def ask(transport: str, topology: Topology, protocol: str) -> dict[str, Outcome]:
    """What each fault comes to: first those that tell themselves, then, all at once, those that run into a deadline."""
    found: dict[str, Outcome] = {}

    async def one(asked: Asked) -> None:
        found[asked.name] = told(asked.name, await asked.read())

    async with place(transport, topology) as where:
        asked = [Asked(where, protocol, name) for name in FAULTS]
        async with anyio.create_task_group() as group:
            for each in asked:
                if not each.fault.waits:
                    group.start_soon(one, each)
        waiting = [each for each in asked if each.fault.waits]
        async with anyio.create_task_group() as group:
            for each in waiting:
                group.start_soon(one, each)
            while where.plain.stats.active < len(waiting) or not all(each.waits for each in waiting):
                await anyio.lowlevel.checkpoint()
            assert not any(each.over for each in waiting)
            where.clock.now += DEADLINE
            where.engine.look(where.clock())
    return found


def told(name: str, found: Outcome) -> Outcome:
    """The outcome without what is left to chance: how much text comes through where the kernel or the clock decides."""
    fault = FAULTS[name]
    if name in MORE_TEXT and found.text.startswith(fault.outcome.text):
        return replace(found, text=fault.outcome.text)
    if fault.racy and TWO.startswith(found.text):
        allowed = {("truncated", "stream"), *([("network", "headers")] if not found.text else [])}
        if (found.kind, found.phase) in allowed and found.attempts == (1 if found.text else 2):
            return fault.outcome
    return found
