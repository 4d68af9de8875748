"""`headwater bench`: how fast a model streams."""

from __future__ import annotations

import sys
from functools import partial

import anyio

from headwater.batch.run import BATCH_TIMEOUTS
from headwater.bench import Summary, as_dict, definitions, headline, table_rows
from headwater.bench import bench as measure
from headwater.cli.calls import PromptOptions, check_model
from headwater.cli.console import DONE, FAILED, Interrupt, run_async, say
from headwater.plain import json_line
from headwater_codecs.neutral import Request

_WIDTH = 110  # columns where there is no terminal to ask


class Options(PromptOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The options of this command."""

    prompt: str
    requests: int
    concurrency: int
    warmup: int
    unique: bool = False
    as_json: bool = False


def bench(model: str, options: Options) -> int:
    """Measure and report; the exit code."""
    check_model(options.model(model))
    request = options.request(model, options.prompt)
    summary, stopped = run_async(partial(_measure, request, options), options.backend)
    if summary is None:
        say("stopped: nothing is reported of a run that was cut")
        return stopped or FAILED
    if options.as_json:
        sys.stdout.buffer.write(json_line(as_dict(summary, model)))
        sys.stdout.buffer.flush()
    else:
        _show(summary, model)
    return FAILED if summary.failures else DONE


async def _measure(request: Request, options: Options) -> tuple[Summary | None, int | None]:
    interrupt = Interrupt()
    summary: Summary | None = None
    async with interrupt.watch(), options.engine(BATCH_TIMEOUTS) as engine:
        with anyio.CancelScope() as scope:
            interrupt.on_first = lambda why: scope.cancel()
            summary = await measure(
                engine,
                request,
                requests=options.requests,
                concurrency=options.concurrency,
                warm_up=options.warmup,
                unique=options.unique,
            )
    return summary, interrupt.exit_code


def _show(summary: Summary, model: str) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else _WIDTH, highlight=False)
    table = Table(title=model, title_justify="left")
    for name in ("measure", "unit"):
        table.add_column(name)
    for name in ("p50", "p90", "p99", "n"):
        table.add_column(name, justify="right")
    for row in table_rows(summary):
        table.add_row(*row)
    console.print(table)
    console.print(headline(summary), markup=False)
    for note in summary.notes:
        console.print(f"note: {note}", markup=False)
    for name, text in definitions():
        console.print(f"{name}: {text}", markup=False, style="dim")
