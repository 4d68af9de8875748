"""`headwater batch`: rows in, records out."""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncIterable, AsyncIterator, Iterable
from functools import partial
from itertools import islice

from headwater.batch import (
    BATCH_TIMEOUTS,
    DEFAULT_CONCURRENCY,
    Defaults,
    InputFile,
    OutputFile,
    Row,
    RowReader,
    Statistics,
    check_concurrency,
    process,
    read_rows,
    record_line,
)
from headwater.batch.files import STANDARD
from headwater.batch.rows import DEFAULT_MODEL
from headwater.cli.calls import PromptOptions, check_model
from headwater.cli.console import DONE, FAILED, Interrupt, run_async, say
from headwater.cli.progress import shown
from headwater.plain import json_line
from headwater_codecs.neutral import ConfigurationError


class Options(PromptOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The options of this command."""

    model_name: str | None = None
    concurrency: int = DEFAULT_CONCURRENCY
    limit: int | None = None
    fail_fast: bool = False
    overwrite: bool = False
    as_json: bool = False

    def defaults(self) -> Defaults:
        """What the rows leave open."""
        return Defaults(model=self.model_name, base_url=self.base_url, system=self.system, max_tokens=self.max_tokens, temperature=self.temperature)


def batch(input: str, output: str, options: Options) -> int:
    """Run the batch; the exit code. Raises ConfigurationError for what is wrong with the call itself, before anything runs or is written."""
    check_concurrency(options.concurrency)
    if options.as_json and output == STANDARD:
        raise ConfigurationError("--json prints the summary on standard output, where the records go: give a file to -o")
    with InputFile(input) as lines:
        if options.model_name is not None:
            check_model(options.model(options.model_name))
        elif lines.regular and _names_no_model(lines):
            check_model(DEFAULT_MODEL)
        with OutputFile(output, overwrite=options.overwrite, input=input) as records:
            return run_async(partial(answer_all, lines, records, options), options.backend)


async def answer_all(lines: InputFile, records: OutputFile, options: Options) -> int:
    """Answer every row, write each record as its row ends, and show how far it is."""
    interrupt = Interrupt()
    began = time.monotonic()
    statistics = Statistics()
    total = lines.count()
    if total is not None and options.limit is not None:
        total = min(total, options.limit)
    async with (
        interrupt.watch(),
        options.engine(BATCH_TIMEOUTS) as engine,
        process(engine, _rows(lines, options), concurrency=options.concurrency, fail_fast=options.fail_fast) as results,
    ):
        interrupt.on_first = results.stop
        statistics = results.statistics
        async with shown(statistics, total):
            async for result in results:
                records.write(record_line(result))
    _conclude(statistics, time.monotonic() - began, total, stopped=interrupt.why, as_json=options.as_json)
    if interrupt.exit_code is not None:
        return interrupt.exit_code
    return FAILED if statistics.failed else DONE


def _names_no_model(lines: InputFile) -> bool:
    """Whether the first row leaves the model to us; the file is at its start again afterwards."""
    first = next(read_rows(lines), None)
    lines.binary.seek(0)
    return first is not None and first.request is not None and first.request.model == DEFAULT_MODEL


def _rows(lines: InputFile, options: Options) -> Iterable[Row] | AsyncIterable[Row]:
    if lines.waits:
        return _arriving(lines, options)
    return islice(read_rows(lines, options.defaults()), options.limit)


async def _arriving(lines: InputFile, options: Options) -> AsyncIterator[Row]:
    reader, given = RowReader(options.defaults()), 0
    if options.limit == 0:
        return
    async for line in lines.arriving():
        if (row := reader.feed(line)) is not None:
            yield row
            given += 1
            if given == options.limit:
                return


def _conclude(statistics: Statistics, seconds: float, total: int | None, *, stopped: str, as_json: bool) -> None:
    for line in statistics.lines(seconds):
        say(line)
    if stopped:
        left = "" if total is None else f"; {total - statistics.rows} rows were not started"
        say(f"{stopped}: {statistics.failures['aborted']} rows in flight were aborted and written with what they had received{left}")
    if as_json:
        sys.stdout.buffer.write(json_line(statistics.summary(seconds)))
        sys.stdout.buffer.flush()
