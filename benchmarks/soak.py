"""Does anything leak, hang or end twice, when hundreds of streams fail and are cancelled at random for minutes?

    python benchmarks/soak.py [--minutes 10] [--streams 500] [--loop asyncio] [--seed 1] [--json]

A simulator in a process of its own answers; this process reads. Each stream has a random protocol, topology and script (half of them a fault) and
a random reader: one reads to the end, one leaves the block early, one is cancelled, one has two listeners. Every stream must end in one of the ways
that its script allows, with one terminal event, the last. At the end the sockets and tasks must be those of the beginning, and the memory within
5 % of what it was after the first minute (or the first third, in a shorter run). Exit code 1 when anything is off.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import random
import sys
import time
from collections import Counter

import anyio
import anyio.lowlevel

import headwater as hw
from harness import memory
from headwater.sim import Simulator
from headwater.sim.speech import BY_PROTOCOL
from headwater_codecs.neutral import TERMINALS
from simulated import simulator

WARM = 60.0  # seconds after which the memory is taken
MOST_GROWTH = 0.05  # of the memory after that
WELL = {"sim/tokens?n=30&gap_ms=20": {"stop"}, "sim/tokens?n=200&merge=8": {"stop"}, "sim/tokens?n=20&split=60&drip_ms=1": {"stop"}}
BADLY = {
    "refuse": {"network"},
    "close": {"network"},
    "reset": {"network"},
    "no_http": {"malformed"},
    "status": {"rate_limit"},
    "html": {"malformed"},
    "json_error": {"server"},
    "error&after=5": {"server"},
    "truncate&after=5": {"truncated"},
    "cut&after=5": {"truncated"},
    "length&after=5": {"truncated"},
    "reset_body&after=5": {"truncated", "network"},
    "stall&after=5": {"timeout"},
    "pings&after=5": {"timeout"},
    "garbage&after=5": {"malformed"},
    "bad_chunk&after=5": {"malformed"},
    "cut_utf8&after=5": {"truncated"},
    "idle_close": {"stop"},
}
SCRIPTS = {**WELL, **{f"sim/fault?kind={kind}&n=10&gap_ms=5": ends for kind, ends in BADLY.items()}}
READERS = ("reads", "leaves", "is cancelled", "listens twice")
TOPOLOGIES = ("fused", "fused", "fan-out", "staged")


class Soak:
    """One run: what is asked, and what came of it."""

    def __init__(self, sim: Simulator, engine: hw.Engine, seed: int) -> None:
        self.endings: Counter[str] = Counter()
        self.wrong: list[str] = []
        self._sim = sim
        self._engine = engine
        self._random = random.Random(seed)

    async def worker(self, until: float) -> None:
        """One stream after the other."""
        while time.monotonic() < until:
            await self.one()

    async def one(self) -> None:
        """One stream with one reader."""
        chosen = self._random
        protocol, topology = chosen.choice(list(BY_PROTOCOL)), chosen.choice(TOPOLOGIES)
        script = chosen.choice(list(WELL if chosen.random() < 0.5 else SCRIPTS))
        how, pieces, seconds = chosen.choice(READERS), chosen.randrange(1, 20), chosen.random()
        request = hw.Request(model=self._sim.model(protocol, script), messages=[hw.user("hi")])
        stream = self._engine.stream(request, topology=topology)  # type: ignore[arg-type]
        with anyio.move_on_after(seconds if how == "is cancelled" else None):
            async with stream:
                if how == "listens twice":
                    first, second = stream.subscribe(), stream.subscribe("coalesce", buffer=4)
                    async with anyio.create_task_group() as group:
                        group.start_soon(self._read, first, 0)
                        group.start_soon(self._read, second, 0)
                else:
                    await self._read(stream, pieces if how == "leaves" else 0)
        error = stream.response.error
        end = error.kind if error is not None else str(stream.response.finish_reason)
        allowed = SCRIPTS[script] | ({"aborted"} if how in ("leaves", "is cancelled") else set())
        if end not in allowed:
            self.wrong.append(f"{protocol} {topology} {script} {how}: {end}: {error.message if error else ''}")
        self.endings[end] += 1

    async def _read(self, source: hw.Stream | hw.Subscription, pieces: int) -> None:
        """Read to the end, or so many events."""
        count, last, terminals = 0, None, 0
        async for event in source:
            count, last = count + 1, event
            terminals += type(event) in TERMINALS
            if count == pieces:
                return
        if terminals != 1 or type(last) not in TERMINALS:
            self.wrong.append(f"{terminals} terminals, the last event is {type(last).__name__}")


def sockets() -> int:
    """Open sockets."""
    found = 0
    for entry in pathlib.Path("/proc/self/fd").iterdir():
        try:
            found += str(entry.readlink()).startswith("socket:")
        except OSError:
            continue  # the folder's own
    return found


async def run(args: argparse.Namespace, sim: Simulator) -> dict[str, object]:
    """The whole soak."""
    seconds = args.minutes * 60
    before_sockets, before_tasks = sockets(), len(anyio.get_running_tasks())
    started = time.monotonic()
    until, warm = started + seconds, 0.0
    timeouts = hw.Timeouts(connect=30, first_content=30, idle=5)
    async with hw.Engine(transport="socket", retry=hw.Retry(attempts=1, base=0.05), timeouts=timeouts) as engine:
        soak = Soak(sim, engine, args.seed)
        async with anyio.create_task_group() as group:
            for _ in range(args.streams):
                group.start_soon(soak.worker, until)
            await anyio.sleep(min(WARM, seconds / 3))
            warm = memory()
    del engine
    for _ in range(100):  # what was closed leaves the loop's hands
        await anyio.lowlevel.checkpoint()
    after = memory()
    return {
        "streams": sum(soak.endings.values()),
        "seconds": round(time.monotonic() - started, 1),
        "endings": dict(soak.endings.most_common()),
        "wrong": soak.wrong,
        "sockets left": sockets() - before_sockets,
        "tasks left": len(anyio.get_running_tasks()) - before_tasks,
        "MB after the first minute": round(warm, 1),
        "MB at the end": round(after, 1),
    }


def faults_of(found: dict[str, object]) -> list[str]:
    """What is off, in words."""
    off = [f"{name}: {found[name]}" for name in ("sockets left", "tasks left") if found[name] != 0]
    warm, after = float(str(found["MB after the first minute"])), float(str(found["MB at the end"]))
    if after > warm * (1 + MOST_GROWTH):
        off.append(f"memory grew from {warm} to {after} MB")
    wrong = found["wrong"]
    assert isinstance(wrong, list)
    return off + [f"{times} x {words}" for words, times in Counter(wrong).most_common(20)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--streams", type=int, default=500, help="at once (default 500)")
    parser.add_argument("--loop", choices=["asyncio", "trio"], default="asyncio")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    args = parser.parse_args()
    with simulator() as (sim, _):
        found = anyio.run(run, args, sim, backend=args.loop)
    off = faults_of(found)
    if args.json:
        print(json.dumps({**found, "off": off}, indent=1))
    else:
        for name, value in found.items():
            if name != "wrong":
                print(f"{name:<26} {value}")
        print("\n".join(f"OFF: {words}" for words in off) or "all is well")
    sys.exit(bool(off))


if __name__ == "__main__":
    main()
