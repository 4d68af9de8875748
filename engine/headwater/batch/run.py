"""Run rows through an engine, so many at a time, and hand over each result as soon as it is there.

    rows --feeder--> zero-depth channel --worker x concurrency--> bounded channel --> whoever iterates

One feeder reads the rows when a worker is free, so a source of any length costs O(concurrency) tasks and memory; a slow row delays nothing
but itself. A reader that falls behind stops the workers, not the streams in flight. Nothing here decides what a row or a record is.

Every row that was started ends in exactly one result: an answer, a failure with what had come, or, after `stop`, an aborted one. Rows that
were not started give none.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import Protocol, Self

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from msgspec import Struct

from headwater.batch.rows import Row
from headwater.batch.statistics import Statistics
from headwater.groups import open_task_group
from headwater_codecs.neutral import ConfigurationError, ErrorInfo, Event, HeadwaterError, Request, Response, Timeouts, error_info

DEFAULT_CONCURRENCY = 8
# A batch has nobody who waits and watches, so a stuck request has to be found: tighter than the engine's own deadlines. In seconds.
BATCH_TIMEOUTS = Timeouts(connect=10, first_content=120, idle=60, total=900)


class EventStream(Protocol):
    """What is used of `headwater.Stream`."""

    response: Response

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> object: ...

    async def next_batch(self) -> Sequence[Event] | None: ...


class Streams(Protocol):
    """What is used of `headwater.Engine`."""

    def stream(self, request: Request) -> EventStream: ...


class Result(Struct, frozen=True):
    """How a row ended. `error` is set for every failure; `response` holds what was received, None when nothing was asked.

    `started` is the wall clock at the start, in seconds of the epoch, for records; durations are in `response.timing`.
    """

    row: Row
    response: Response | None = None
    error: ErrorInfo | None = None
    started: int = 0

    @property
    def ok(self) -> bool:
        """Whether the row was answered. An answer cut by its length limit counts: its finish reason tells."""
        return self.error is None


class Results:
    """The results of a batch, in the order in which rows end, with the statistics of those taken so far."""

    def __init__(self, inbox: MemoryObjectReceiveStream[Result], stop: Callable[[str], None]) -> None:
        self.statistics = Statistics()
        self._inbox = inbox
        self._stop = stop

    def stop(self, why: str = "the batch was stopped") -> None:
        """Start no further row and abort those in flight; their results still come, as aborted, with what they had received."""
        self._stop(why)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Result:
        try:
            result = await self._inbox.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None
        self.statistics.add(result)
        return result


@asynccontextmanager
async def process(
    engine: Streams, rows: Iterable[Row] | AsyncIterable[Row], *, concurrency: int = DEFAULT_CONCURRENCY, fail_fast: bool = False
) -> AsyncGenerator[Results]:
    """Open a batch over the rows: `async with process(engine, rows) as results: async for result in results: ...`.

    With `fail_fast` the first failure stops the batch. Leaving the block cancels whatever still runs.
    Raises ConfigurationError for a concurrency below 1, and whatever reading the rows raises.
    """
    check_concurrency(concurrency)
    pool = _Pool(engine, fail_fast)
    to_workers, from_feeder = anyio.create_memory_object_stream[Row](0)
    to_reader, inbox = anyio.create_memory_object_stream[Result](concurrency)
    async with open_task_group() as group:
        with inbox:
            with to_reader, from_feeder:
                group.start_soon(pool.feed, rows, to_workers, name="headwater batch: feeder")
                for number in range(concurrency):
                    group.start_soon(pool.work, from_feeder.clone(), to_reader.clone(), name=f"headwater batch: worker {number}")
            try:
                yield Results(inbox, pool.stop)
            finally:
                group.cancel_scope.cancel()


async def run(
    engine: Streams,
    rows: Iterable[Row] | AsyncIterable[Row],
    on_result: Callable[[Result], None],
    *,
    concurrency: int = DEFAULT_CONCURRENCY,
    fail_fast: bool = False,
) -> Statistics:
    """Run all rows as `process` does, call `on_result` with each result, and return the statistics."""
    async with process(engine, rows, concurrency=concurrency, fail_fast=fail_fast) as results:
        async for result in results:
            on_result(result)
        return results.statistics


def check_concurrency(concurrency: int) -> None:
    """Raise ConfigurationError for a number of rows at once that could never run."""
    if concurrency < 1:
        raise ConfigurationError(f"concurrency is {concurrency}: give 1 or more")


class _Pool:
    """The feeder and the workers of one batch. Each owns, and closes, the channel ends it was given."""

    def __init__(self, engine: Streams, fail_fast: bool) -> None:
        self._engine = engine
        self._fail_fast = fail_fast
        self._stopped: str | None = None
        self._feeding = anyio.CancelScope()
        self._in_flight: set[anyio.CancelScope] = set()

    def stop(self, why: str) -> None:
        """Synchronous, so that no row starts between the decision and the cancelling."""
        if self._stopped is None:
            self._stopped = why
            self._feeding.cancel()
            for scope in self._in_flight:
                scope.cancel()

    async def feed(self, rows: Iterable[Row] | AsyncIterable[Row], outbox: MemoryObjectSendStream[Row]) -> None:
        with suppress(anyio.BrokenResourceError), outbox, self._feeding:
            if isinstance(rows, AsyncIterable):
                async for row in rows:
                    await outbox.send(row)
            else:
                for row in rows:
                    await outbox.send(row)

    async def work(self, inbox: MemoryObjectReceiveStream[Row], outbox: MemoryObjectSendStream[Result]) -> None:
        with suppress(anyio.BrokenResourceError), inbox, outbox:
            async for row in inbox:
                if self._stopped is not None:
                    return
                result = await self._answer(row)
                if self._fail_fast and not result.ok:
                    self.stop(f"stopped because line {row.line} failed")  # here and now, so that no row starts before somebody reads the result
                await outbox.send(result)

    async def _answer(self, row: Row) -> Result:
        if row.request is None:
            return Result(row, error=row.error, started=int(time.time()))
        started, response, error = int(time.time()), None, None
        with anyio.CancelScope() as scope:
            self._in_flight.add(scope)
            try:
                stream = self._engine.stream(row.request)
                response = stream.response
                async with stream:
                    while await stream.next_batch() is not None:
                        pass
            except HeadwaterError as raised:
                error = raised.info
            except Exception as bug:  # one row must not take the others with it; the record says that it is our fault
                error = error_info("internal", f"{type(bug).__name__}: {bug}")
            finally:
                self._in_flight.discard(scope)
        if scope.cancelled_caught:
            error = error_info("aborted", self._stopped or "the batch was stopped")
        return Result(row, response, error or _error_of(response), started)


def _error_of(response: Response | None) -> ErrorInfo | None:
    failed = None if response is None else response.to_exception()
    return None if failed is None else failed.info
