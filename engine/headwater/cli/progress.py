"""How far a batch is: a bar on a terminal, a line now and then elsewhere. Both show rows, failures and tokens/s, on standard error.

A view reads the statistics when it is drawn; a row costs it nothing. Retries are no rows.
"""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Protocol

import anyio

from headwater.batch.statistics import Statistics
from headwater.cli.console import say
from headwater.groups import open_task_group

if TYPE_CHECKING:
    from rich.progress import Progress

BAR_EVERY = 0.1  # seconds between two drawings of the bar
LINE_EVERY = 10.0  # seconds between two lines where there is no terminal


class View(Protocol):
    """Something that shows the statistics every `every` seconds."""

    every: float

    def draw(self, statistics: Statistics, seconds: float) -> None:
        """Show how far it is now."""

    def close(self) -> None:
        """Leave the screen as it is."""


class Lines:
    """One plain line per interval, without control codes."""

    def __init__(self, total: int | None, every: float = LINE_EVERY) -> None:
        self.every = every
        self._total = total

    def draw(self, statistics: Statistics, seconds: float) -> None:
        """Print a line."""
        say(progress_line(statistics, self._total, seconds))

    def close(self) -> None:
        """Nothing: the summary follows."""


class Bar:
    """A progress bar. Lines written to standard error meanwhile come above it."""

    def __init__(self, total: int | None) -> None:
        self.every = BAR_EVERY
        self._bar = _rich_bar()
        self._task = self._bar.add_task("", total=total, failed=0, rate="")
        self._bar.start()

    def draw(self, statistics: Statistics, seconds: float) -> None:
        """Draw the bar anew."""
        self._bar.update(self._task, completed=statistics.rows, failed=statistics.failed, rate=_rate(statistics, seconds))
        self._bar.refresh()

    def close(self) -> None:
        """Stop drawing; the last state stays."""
        self._bar.stop()


@asynccontextmanager
async def shown(statistics: Statistics, total: int | None) -> AsyncGenerator[None]:
    """Show the statistics while the block runs, and their last state at its end."""
    view: View = Bar(total) if sys.stderr.isatty() else Lines(total)
    began = time.monotonic()
    try:
        async with open_task_group() as group:
            group.start_soon(_keep_drawing, view, statistics, began)
            yield
            group.cancel_scope.cancel()
    finally:
        if isinstance(view, Bar):
            view.draw(statistics, time.monotonic() - began)
        view.close()


async def _keep_drawing(view: View, statistics: Statistics, began: float) -> None:
    while True:
        await anyio.sleep(view.every)
        view.draw(statistics, time.monotonic() - began)


def progress_line(statistics: Statistics, total: int | None, seconds: float) -> str:
    """How far it is, in one line."""
    of = "" if total is None else f"/{total}"
    rate = _rate(statistics, seconds)
    return f"{statistics.rows}{of} rows, {statistics.failed} failed" + (f", {rate}" if rate else "") + f", {seconds:.0f} s"


def _rate(statistics: Statistics, seconds: float) -> str:
    return f"{statistics.output_tokens / seconds:.1f} tokens/s" if statistics.counted and seconds > 0 else ""


def _rich_bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        MofNCompleteColumn(),
        TextColumn("rows"),
        BarColumn(),
        TextColumn("{task.fields[failed]} failed"),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=Console(stderr=True), auto_refresh=False)
