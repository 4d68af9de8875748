"""What the benchmarks share: the provider as a process of its own, one client per process and core, medians, tables, `--json`."""

from __future__ import annotations

import argparse
import gc
import json
import os
import pathlib
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata

HERE = pathlib.Path(__file__).resolve().parent
SEED = 20260101
Row = dict[str, object]

WORKLOADS = {  # events, events per HTTP chunk, ms between events, streams, concurrent streams
    "paced": (150, 1, 20.0, 100, 100),
    "dense": (256, 1, 0.0, 128, 16),
    "packed": (256, 16, 0.0, 128, 16),
    "short": (4, 2, 0.0, 1000, 64),
}


def versions(*names: str) -> dict[str, str]:
    """Versions of the interpreter and of packages, for the record."""
    found = {"python": platform.python_version()}
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


@contextmanager
def provider() -> Iterator[int]:
    """The loopback provider on its own core; gives its port."""
    process = subprocess.Popen(pinned(1, [sys.executable, str(HERE / "loopback.py")]), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline())
    finally:
        process.communicate()


def pinned(core: int, command: list[str]) -> list[str]:
    """The command on one core, where that can be had."""
    if (os.cpu_count() or 1) > 1 and sys.platform == "linux":
        return ["taskset", "-c", str(core), *command]
    return command


def in_process(script: str, *arguments: str) -> Row | None:
    """Run a benchmark's child on the other core and read its one JSON line; None (and a word why) when it could not run."""
    done = subprocess.run(pinned(0, [sys.executable, script, "--child", *arguments]), capture_output=True, text=True, timeout=300)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        print(f"left out: {' '.join(arguments)}: {(done.stderr.strip().splitlines() or ['no output'])[-1][:160]}", file=sys.stderr)
        return None
    row: Row = json.loads(lines[-1])
    return row


def medians(rows: Sequence[Row]) -> Row:
    """The middle of each number."""
    first = rows[0]
    return {name: statistics.median(row[name] for row in rows) if isinstance(value, int | float) else value for name, value in first.items()}  # type: ignore[type-var]


def table(rows: Sequence[Row], columns: Sequence[str]) -> None:
    """Print rows with the columns that they have."""
    cells = [[_cell(row.get(name)) for name in columns] for row in rows]
    widths = [max(len(name), *(len(line[at]) for line in cells)) for at, name in enumerate(columns)]
    for line in [list(columns), *cells]:
        print("  ".join(text.rjust(width) if at else text.ljust(width) for at, (text, width) in enumerate(zip(line, widths, strict=True))))


def _cell(value: object) -> str:
    return "-" if value is None else f"{value:.2f}" if isinstance(value, float) else str(value)


def arguments(doc: str, **more: tuple[type, object, str]) -> argparse.Namespace:
    """The usual arguments, and `name=(type, default, help)`."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.add_argument("--repeat", type=int, default=3, help="runs of which the median is shown (default 3)")
    parser.add_argument("--child", nargs="*", help=argparse.SUPPRESS)
    for name, (kind, default, text) in more.items():
        parser.add_argument(f"--{name}", type=kind, default=default, help=f"{text} (default {default})")
    return parser.parse_args()


def report(found: dict[str, str], rows: Sequence[Row], columns: Sequence[str], as_json: bool) -> None:
    """Show the result."""
    if as_json:
        print(json.dumps({"versions": found, "rows": rows}, indent=1))
        return
    print("  ".join(f"{name} {version}" for name, version in found.items()))
    table(rows, columns)


async def load(one: Callable[[], Awaitable[int | None]], workload: str, delays: list[int]) -> Row:
    """Run one workload with `one` (a stream that returns how many text events it saw, None if it does not look) and measure it."""
    import anyio

    events, _, _, streams, concurrent = WORKLOADS[workload]
    await one()
    delays.clear()
    left, wrong = streams, 0

    async def worker() -> None:
        nonlocal left, wrong
        while left > 0:
            left -= 1
            wrong += await one() not in (None, events)

    before, started = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    async with anyio.create_task_group() as group:
        for _ in range(concurrent):
            group.start_soon(worker)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    delays.sort()
    return {
        "workload": workload,
        "cpu us/event": cpu / streams / events * 1e6,
        "streams/s": streams / wall,
        "p50 us": delays[len(delays) // 2] / 1e3 if delays else None,
        "p99 us": delays[int(len(delays) * 0.99)] / 1e3 if delays else None,
        "rss MB": after.ru_maxrss / 1024,
        "wrong": wrong,
    }


def memory() -> float:
    """MB that this process holds, garbage collected."""
    gc.collect()
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def url(port: int | str, workload: str) -> str:
    """The provider's base URL for a workload."""
    events, per_chunk, pause, _, _ = WORKLOADS[workload]
    return f"http://127.0.0.1:{port}/n={events}/k={per_chunk}/d={pause}/v1"


def delay_of(text: str, delays: list[int]) -> None:
    """Keep the latency of a paced event, whose text is the time at which it was written."""
    if (text := text.strip()).isdigit():
        delays.append(time.perf_counter_ns() - int(text))
