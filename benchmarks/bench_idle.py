"""What does an open stream cost that waits, in memory?

    python benchmarks/bench_idle.py [--streams 1000] [--json]

So many streams have had their first content and wait for the next, each on its own connection, plain and over TLS, on asyncio and on trio. Counted
is what this process grew by, sockets included (their buffers in the kernel are not its memory), over what one open stream had made of it.
"""

from __future__ import annotations

import json
import resource

import anyio

import headwater as hw
from harness import Row, arguments, in_process, medians, memory, report, versions
from simulated import simulator

WAITS = "sim/fault?kind=stall&after=1&n=2"  # one piece of text, and then nothing


async def child(count: int, tls: bool) -> None:
    """Open them, and print the row."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 2 * count + 200)), hard))
    waiting = anyio.Semaphore(0)
    with simulator(tls=tls) as (sim, context):
        request = hw.Request(model=sim.model("openai-chat", WAITS), messages=[hw.user("hi")])
        async with hw.Engine(transport="socket", ssl_context=context) as engine:

            async def one() -> None:
                async with engine.stream(request) as stream:
                    async for event in stream:
                        if type(event) is hw.TextDelta:
                            waiting.release()

            async with anyio.create_task_group() as group:
                group.start_soon(one)
                await waiting.acquire()
                before = memory()
                for _ in range(count):
                    group.start_soon(one)
                for _ in range(count):
                    await waiting.acquire()
                grown = memory() - before
                group.cancel_scope.cancel()
    print(json.dumps({"streams": count, "KB/stream": grown * 1024 / count}))


def main() -> None:
    args = arguments(__doc__ or "", streams=(int, 1000, "open at once"))
    if args.child:
        count, tls, backend = args.child
        anyio.run(child, int(count), tls == "TLS", backend=backend)
        return
    rows: list[Row] = []
    for kind in ("plain", "TLS"):
        for backend in ("asyncio", "trio"):
            runs = [run for _ in range(args.repeat) if (run := in_process(__file__, str(args.streams), kind, backend))]
            if runs:
                rows.append({"connection": kind, "loop": backend, **medians(runs)})
    report(versions("headwater", "anyio", "trio"), rows, ["connection", "loop", "streams", "KB/stream"], args.json)


if __name__ == "__main__":
    main()
