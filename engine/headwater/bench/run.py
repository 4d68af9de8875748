"""Send the same request so often, so many at a time, and take a `Sample` of each; the only part of the benchmark that awaits."""

from __future__ import annotations

import time
from collections.abc import Callable

import anyio
from msgspec.structs import replace

from headwater.batch.run import Streams, check_concurrency
from headwater.bench.metrics import Sample, Summary, summarize
from headwater.groups import open_task_group
from headwater_codecs.neutral import ConfigurationError, HeadwaterError, Message, Request

DEFAULT_REQUESTS = 20
DEFAULT_CONCURRENCY = 1
DEFAULT_WARM_UP = 1
LAG_STEP = 0.02  # seconds between two looks at how late the event loop is

Clock = Callable[[], float]


async def bench(
    engine: Streams,
    request: Request,
    *,
    requests: int = DEFAULT_REQUESTS,
    concurrency: int = DEFAULT_CONCURRENCY,
    warm_up: int = DEFAULT_WARM_UP,
    unique: bool = False,
    clock: Clock = time.perf_counter,
    on_sample: Callable[[Sample], None] | None = None,
) -> Summary:
    """Measure `requests` calls after `warm_up` unmeasured ones. With `unique` every prompt starts with its own number.

    Raises ConfigurationError for what is wrong without the network; a failing provider is part of the result.
    """
    check_concurrency(concurrency)
    if requests < 1 or warm_up < 0:
        raise ConfigurationError(f"{requests} requests after {warm_up} warm-up ones: give at least one request, and no negative warm-up")
    asked = [_numbered(request, number) if unique else request for number in range(warm_up + requests)]
    await _measure(engine, asked[:warm_up], concurrency, clock, None)
    async with open_task_group() as group:
        lags: list[float] = []
        group.start_soon(_watch_lag, lags, clock)
        began = clock()
        samples = await _measure(engine, asked[warm_up:], concurrency, clock, on_sample)
        seconds = clock() - began
        group.cancel_scope.cancel()
    return summarize(samples, seconds=seconds, warm_up=warm_up, concurrency=concurrency, loop_lag=lags)


async def _measure(engine: Streams, asked: list[Request], concurrency: int, clock: Clock, on_sample: Callable[[Sample], None] | None) -> list[Sample]:
    samples: list[Sample] = []
    waiting = iter(asked)

    async def work() -> None:
        for request in waiting:  # shared: every request is taken by one worker
            sample = await _take(engine, request, clock)
            samples.append(sample)
            if on_sample is not None:
                on_sample(sample)

    async with open_task_group() as group:
        for _ in range(min(concurrency, len(asked))):
            group.start_soon(work)
    return samples


async def _take(engine: Streams, request: Request, clock: Clock) -> Sample:
    sample = Sample(clock())
    try:
        async with engine.stream(request) as stream:
            while (batch := await stream.next_batch()) is not None:
                sample.read(batch, clock())
        failed = stream.response.to_exception()
        sample.finish(stream.response, None if failed is None else failed.info, clock())
    except ConfigurationError:
        raise
    except HeadwaterError as error:
        sample.finish(error.response, error.info, clock())
    return sample


async def _watch_lag(lags: list[float], clock: Clock) -> None:
    """How late a timer fires: what the event loop adds to every figure."""
    while True:
        before = clock()
        await anyio.sleep(LAG_STEP)
        lags.append(max(0.0, clock() - before - LAG_STEP))


def _numbered(request: Request, number: int) -> Request:
    """The request with its number before the last message's text, so that no prefix of it is cached."""
    *earlier, last = request.messages
    content = f"({number}) {last.content}" if isinstance(last.content, str) else last.content
    return replace(request, messages=(*earlier, Message(last.role, content)))
