"""What does a streamed event cost a client, from the socket to the loop over its events?

    python -m pip install -r benchmarks/requirements.txt      the peers, optional
    python benchmarks/bench_end_to_end.py [--workloads paced,dense,packed,short] [--clients floor,headwater,headwater@trio,openai] [--json]

`floor` is aiohttp reading the bytes and looking at nothing; `x floor` is the ratio that matters, since all run on the same machine in the
same minute. Each client is a process of its own on one core; the provider has the other one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable

import anyio

from harness import Row, arguments, delay_of, in_process, load, medians, provider, report, url, versions

One = Callable[[], Awaitable[int | None]]


async def floor(base: str, delays: list[int]) -> One:
    """aiohttp, bytes only."""
    import aiohttp

    session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))

    async def one() -> int | None:
        async with session.post(f"{base}/chat/completions", json={"messages": []}) as response:
            async for _ in response.content.iter_any():
                pass
        return None

    return one


async def headwater(base: str, delays: list[int]) -> One:
    """Headwater, every event looked at."""
    import headwater as hw

    engine = await hw.Engine(transport="socket").__aenter__()
    request = hw.Request(model=hw.Model("bench-1", provider="openai", base_url=base, api_key="none"), messages=[hw.user("hi")])

    async def one() -> int | None:
        count = 0
        async with engine.stream(request) as stream:
            async for event in stream:
                if type(event) is hw.TextDelta:
                    count += 1
                    delay_of(event.text, delays)
        return count

    return one


async def openai(base: str, delays: list[int]) -> One:
    """The openai SDK, every chunk looked at."""
    import openai

    client = openai.AsyncOpenAI(api_key="none", base_url=base, max_retries=0)

    async def one() -> int | None:
        count = 0
        async for chunk in await client.chat.completions.create(model="bench-1", messages=[{"role": "user", "content": "hi"}], stream=True):
            if chunk.choices and chunk.choices[0].delta.content:
                count += 1
                delay_of(chunk.choices[0].delta.content, delays)
        return count

    return one


CLIENTS = {"floor": floor, "headwater": headwater, "openai": openai}


async def child(client: str, workload: str, port: str) -> None:
    """Measure one client and print the row."""
    delays: list[int] = []
    row = await load(await CLIENTS[client](url(port, workload), delays), workload, delays)
    print(json.dumps(row), flush=True)
    os._exit(0)  # peers leave sessions open: nothing to tidy in a measurement


def main() -> None:
    args = arguments(
        __doc__ or "",
        workloads=(str, "paced,dense,packed,short", "workloads, with commas between"),
        clients=(str, "floor,headwater,headwater@trio,openai", "clients, with commas between"),
    )
    if args.child:
        client, workload, port, backend = args.child
        anyio.run(child, client, workload, port, backend=backend)
        return
    rows: list[Row] = []
    with provider() as port:
        for workload in args.workloads.split(","):
            base = None
            for name in args.clients.split(","):
                client, _, backend = name.partition("@")
                runs = [run for _ in range(args.repeat) if (run := in_process(__file__, client, workload, str(port), backend or "asyncio"))]
                if not runs:
                    continue
                row = {"client": name, **medians(runs)}
                cost = row["cpu us/event"]
                assert isinstance(cost, float)
                base = cost if client == "floor" else base
                rows.append({**row, "x floor": cost / base if base else None})
    columns = ["client", "workload", "cpu us/event", "x floor", "streams/s", "p50 us", "p99 us", "rss MB", "wrong"]
    report(versions("headwater", "anyio", "trio", "aiohttp", "openai"), rows, columns, args.json)


if __name__ == "__main__":
    main()
