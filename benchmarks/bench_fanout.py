"""What does one more listener cost, per event?

    python benchmarks/bench_fanout.py [--listeners 1000] [--events 800] [--json]

One stream whose reads bring 8 events each, and so many listeners that read every event with `async for`, by policy, on asyncio and on trio. The time
is the whole program's CPU per listener and event: publishing, waking and the listener's own loop.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence

import anyio
import anyio.lowlevel

import headwater as hw
from harness import Row, arguments, in_process, medians, report, versions
from headwater.transport import Trace
from headwater_providers.adapter import HttpRequest
from loopback import reads

PER_READ = 8


class Given:
    """A transport whose one answer comes in given reads, a turn of the event loop for each."""

    status = 200
    headers = {"content-type": "text/event-stream"}  # noqa: RUF012  # a response's headers are its own

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self._pieces = iter(pieces)

    async def open(self, request: HttpRequest, trace: Trace) -> Given:
        trace.got_connection(reused=False)
        trace.got_headers()
        return self

    async def receive(self) -> bytes | None:
        await anyio.lowlevel.checkpoint()
        return next(self._pieces, None)

    def close_nowait(self) -> bool:
        return True

    async def abort(self) -> None:
        pass

    async def aclose(self, *, drain: bool = False) -> None:
        pass


async def child(listeners: int, events: int, policy: str) -> None:
    """Measure, and print the row."""
    model = hw.Model("bench-1", provider="openai", base_url="http://127.0.0.1:1/v1", api_key="none")
    seen = 0

    async def listen(subscription: hw.Subscription) -> None:
        nonlocal seen
        count = 0
        async for event in subscription:
            count += type(event) is hw.TextDelta
        seen += count

    async with (
        hw.Engine(transport=Given(reads(events, PER_READ))) as engine,
        engine.stream(hw.Request(model=model, messages=[hw.user("hi")])) as stream,
    ):
        subscriptions = [stream.subscribe(policy) for _ in range(listeners)]  # type: ignore[arg-type]
        started = time.process_time()
        async with anyio.create_task_group() as group:
            for subscription in subscriptions:
                group.start_soon(listen, subscription)
        spent = time.process_time() - started
    print(json.dumps({"listeners": listeners, "us/listener/event": spent / listeners / events * 1e6, "wrong": listeners * events - seen}))


def main() -> None:
    args = arguments(__doc__ or "", listeners=(int, 1000, "of one stream"), events=(int, 800, "text events of the stream"))
    if args.child:
        listeners, events, policy, backend = args.child
        anyio.run(child, int(listeners), int(events), policy, backend=backend)
        return
    rows: list[Row] = []
    for policy in ("block", "coalesce", "disconnect"):
        for backend in ("asyncio", "trio"):
            runs = [run for _ in range(args.repeat) if (run := in_process(__file__, str(args.listeners), str(args.events), policy, backend))]
            if runs:
                rows.append({"policy": policy, "loop": backend, **medians(runs)})
    report(versions("headwater", "anyio", "trio"), rows, ["policy", "loop", "listeners", "us/listener/event", "wrong"], args.json)


if __name__ == "__main__":
    main()
