"""Batches: many prompts from a file or a program, answered so many at a time, each result as soon as it is there.

    async with headwater.Engine(timeouts=batch.BATCH_TIMEOUTS) as engine:
        async with batch.process(engine, batch.read_rows(lines)) as results:
            async for result in results:
                output.write(batch.record_line(result))

`rows` says what a row is, `records` what comes out, `statistics` counts, `files` reads and writes, `run` is the only part that awaits.
"""

from headwater.batch.files import InputFile, OutputFile
from headwater.batch.records import openai_record, record, record_line
from headwater.batch.rows import Defaults, Row, RowReader, parse_row, read_rows, row_of
from headwater.batch.run import BATCH_TIMEOUTS, DEFAULT_CONCURRENCY, Result, Results, check_concurrency, process, run
from headwater.batch.statistics import Statistics

__all__ = [
    "BATCH_TIMEOUTS",
    "DEFAULT_CONCURRENCY",
    "Defaults",
    "InputFile",
    "OutputFile",
    "Result",
    "Results",
    "Row",
    "RowReader",
    "Statistics",
    "check_concurrency",
    "openai_record",
    "parse_row",
    "process",
    "read_rows",
    "record",
    "record_line",
    "row_of",
    "run",
]
