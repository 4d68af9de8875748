"""What does each topology cost, in CPU per event and in added latency?

    python benchmarks/bench_topologies.py [--workloads paced,dense] [--json]

The same streams, read as bytes only (the transport alone), fused, through a pump (fan-out), and staged as four actors; on asyncio and on
trio. Each run is a process of its own on one core, the provider has the other one.
"""

from __future__ import annotations

import json

import anyio

import headwater as hw
from harness import Row, arguments, delay_of, in_process, load, medians, provider, report, url, versions

KINDS = ("bytes only", "fused", "fan-out", "staged")


async def child(kind: str, workload: str, port: str) -> None:
    """Measure one kind and print the row."""
    delays: list[int] = []
    model = hw.Model("bench-1", provider="openai", base_url=url(port, workload), api_key="none")
    request = hw.Request(model=model, messages=[hw.user("hi")])
    async with hw.Engine(transport="socket", topology="fused" if kind == "bytes only" else kind) as engine:  # type: ignore[arg-type]

        async def one() -> int | None:
            count = 0
            async with engine.stream(request) as stream:
                async for event in stream:
                    if type(event) is hw.TextDelta:
                        count += 1
                        delay_of(event.text, delays)
            return count

        async def read() -> int | None:
            from headwater.transport import Trace
            from headwater_providers.adapter import HttpRequest

            http = HttpRequest("POST", f"{url(port, workload)}/chat/completions", [("content-type", "application/json")], b"{}")
            response = await transport.open(http, Trace(engine.clock))
            while await response.receive() is not None:
                pass
            await response.aclose()
            return None

        from headwater.transport import SocketTransport

        transport = SocketTransport()
        row = await load(read if kind == "bytes only" else one, workload, delays)
        await transport.aclose()
    print(json.dumps(row))


def main() -> None:
    args = arguments(__doc__ or "", workloads=(str, "paced,dense", "workloads, with commas between"))
    if args.child:
        kind, workload, port, backend = args.child
        anyio.run(child, kind, workload, port, backend=backend)
        return
    rows: list[Row] = []
    with provider() as port:
        for workload in args.workloads.split(","):
            for backend in ("asyncio", "trio"):
                for kind in KINDS:
                    runs = [run for _ in range(args.repeat) if (run := in_process(__file__, kind, workload, str(port), backend))]
                    if runs:
                        rows.append({"topology": kind, "loop": backend, **medians(runs)})
    report(versions("headwater", "anyio", "trio"), rows, ["topology", "loop", "workload", "cpu us/event", "streams/s", "p50 us", "p99 us"], args.json)


if __name__ == "__main__":
    main()
