"""Batches over real sockets: concurrency, order, failures as results, stopping; nothing outlives the block."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import anyio
import anyio.lowlevel
import pytest

import headwater
from headwater.batch import Defaults, Result, Row, process, read_rows, record, row_of, run
from headwater.retry import Retry
from headwater_codecs.neutral import ConfigurationError
from loopback import Asked, Loopback, Reply, delta, ending, loopback, refused_url

pytestmark = pytest.mark.anyio

PAGE = b"<html><body>Bad gateway</body></html>"


def rows(server: Loopback | str, *prompts: str) -> list[Row]:
    """Rows with these prompts for the server."""
    base_url = server if isinstance(server, str) else server.base_url
    return [row_of(prompt, index=index, defaults=Defaults(model="scripted", base_url=base_url)) for index, prompt in enumerate(prompts)]


def engine() -> headwater.Engine:
    """An engine that tries once."""
    return headwater.Engine(retry=Retry(attempts=0))


async def echo(asked: Asked, reply: Reply) -> None:
    """Answer with the prompt."""
    await reply.chat(asked.prompt)


async def test_every_row_is_answered(anyio_backend: str) -> None:
    """Each row has one result with its own answer, and all are counted."""
    prompts = [f"row {number}" for number in range(20)]
    results: list[Result] = []
    with anyio.fail_after(5):
        async with loopback(echo) as server, engine() as runner:
            statistics = await run(runner, rows(server, *prompts), results.append, concurrency=4)
    assert sorted((result.row.index, record(result)["text"]) for result in results) == list(enumerate(prompts))
    assert (statistics.rows, statistics.answered, statistics.output_tokens, statistics.failed) == (20, 20, 40, 0)


async def test_concurrency_is_bounded_and_used(anyio_backend: str) -> None:
    """So many requests are in flight at a time, no more and, while there are rows, no fewer."""
    full = anyio.Event()

    async def together(asked: Asked, reply: Reply) -> None:
        if server.active == 3:
            full.set()
        await full.wait()
        await reply.chat("x")

    with anyio.fail_after(5):
        async with loopback(together) as server, engine() as runner:
            statistics = await run(runner, rows(server, *"abcdefgh"), lambda result: None, concurrency=3)
    assert (statistics.answered, server.peak) == (8, 3)


async def test_rows_are_read_when_needed(anyio_backend: str) -> None:
    """An endless source is read one row beyond those in flight, whatever it holds."""
    read: list[int] = []

    def endless(defaults: Defaults) -> Iterator[Row]:
        while True:
            read.append(len(read))
            yield row_of("x", index=len(read) - 1, defaults=defaults)

    async def hang(asked: Asked, reply: Reply) -> None:
        await anyio.sleep_forever()

    with anyio.fail_after(5):
        async with loopback(hang) as server, engine() as runner:
            source = endless(Defaults(model="scripted", base_url=server.base_url))
            async with process(runner, source, concurrency=4):
                await server.busy(4)
                await anyio.wait_all_tasks_blocked()
                assert len(read) == 5


async def test_rows_that_arrive(anyio_backend: str) -> None:
    """Rows may come from an asynchronous source."""

    async def arriving(given: list[Row]) -> AsyncIterator[Row]:
        for row in given:
            await anyio.lowlevel.checkpoint()
            yield row

    with anyio.fail_after(5):
        async with loopback(echo) as server, engine() as runner:
            statistics = await run(runner, arriving(rows(server, *"abc")), lambda result: None, concurrency=2)
    assert statistics.answered == 3


async def test_slow_row_delays_only_itself(anyio_backend: str) -> None:
    """Results come as rows end, with the index of their row."""
    last = anyio.Event()

    async def slow_first(asked: Asked, reply: Reply) -> None:
        if asked.prompt == "slow":
            await last.wait()
        await reply.chat("x")

    order: list[int] = []
    with anyio.fail_after(5):
        async with loopback(slow_first) as server, engine() as runner, process(runner, rows(server, "slow", *"bcd"), concurrency=2) as results:
            async for result in results:
                order.append(result.row.index)
                if len(order) == 3:
                    last.set()
    assert order == [1, 2, 3, 0]


async def test_failures_are_results(anyio_backend: str) -> None:
    """Whatever a provider answers is a typed failure of that row; the others are answered."""
    answers: dict[str, Callable[[Reply], Awaitable[None]]] = {
        "401": lambda reply: reply.whole(401, b'{"error":{"message":"Incorrect API key","code":"invalid_api_key"}}'),
        "404": lambda reply: reply.whole(404, b'{"error":{"message":"no such model","code":"model_not_found"}}'),
        "429": lambda reply: reply.whole(429, b'{"error":{"message":"slow down"}}', retry_after="7"),
        "500": lambda reply: reply.whole(500, b""),
        "html": lambda reply: reply.whole(200, PAGE, "text/html"),
        "page": lambda reply: reply.whole(502, PAGE, "text/html"),
        "cut": lambda reply: _cut(reply),
        "good": lambda reply: reply.chat("fine"),
    }

    async def _cut(reply: Reply) -> None:
        await reply.begin()
        await reply.send(delta("half"))

    async def script(asked: Asked, reply: Reply) -> None:
        await answers[asked.prompt](reply)

    found: dict[str, tuple[object, ...]] = {}

    def keep(result: Result) -> None:
        assert result.row.request is not None
        content = result.row.request.messages[0].content
        error = result.error
        found[str(content)] = (
            (record(result)["text"], None) if error is None else (record(result)["text"], error.kind, error.status, error.retry_after)
        )

    with anyio.fail_after(5):
        async with loopback(script) as server, engine() as runner:
            statistics = await run(runner, rows(server, *answers), keep, concurrency=3)
    assert found == {
        "401": ("", "auth", 401, None),
        "404": ("", "not_found", 404, None),
        "429": ("", "rate_limit", 429, 7.0),
        "500": ("", "server", 500, None),
        "html": ("", "malformed", None, None),
        "page": ("", "server", 502, None),
        "cut": ("half", "truncated", None, None),
        "good": ("fine", None),
    }
    assert (statistics.answered, statistics.failed) == (1, 7)


async def test_refused_connection(anyio_backend: str) -> None:
    """Nobody listens: a failure of kind network."""
    results: list[Result] = []
    with anyio.fail_after(5):
        async with engine() as runner:
            await run(runner, rows(await refused_url(), "a"), results.append)
    assert [result.error.kind if result.error else None for result in results] == ["network"]


async def test_bad_rows_and_bad_models(anyio_backend: str) -> None:
    """A line that is no JSON, a model nobody knows and a field that is wrong are results; nothing was asked for them."""
    kinds: dict[int, str | None] = {}
    with anyio.fail_after(5):
        async with loopback(echo) as server, engine() as runner:
            here = Defaults(model="scripted", base_url=server.base_url)
            source = [
                *read_rows([b"{bad\n", b'{"prompt": "a", "model": "nobody/nothing"}\n']),
                row_of({"prompt": "b", "tool_choice": "required"}, index=2, defaults=here),
                row_of({"prompt": "c"}, index=3, defaults=here),
            ]
            await run(runner, source, lambda result: kinds.__setitem__(result.row.index, result.error.kind if result.error else None))
    assert (kinds, server.prompts) == ({0: "invalid_request", 1: "configuration", 2: "configuration", 3: None}, ["c"])


class Watched:
    """An engine that remembers its streams."""

    def __init__(self, engine: headwater.Engine) -> None:
        self.streams: list[headwater.Stream] = []
        self._engine = engine

    def stream(self, request: headwater.Request) -> headwater.Stream:
        """As the engine's own."""
        self.streams.append(self._engine.stream(request))
        return self.streams[-1]

    async def received(self, text: str, streams: int) -> None:
        """Wait until so many streams have this text."""
        while [stream.response.text for stream in self.streams] != [text] * streams:
            await anyio.lowlevel.checkpoint()


async def test_stop_aborts_what_is_in_flight(anyio_backend: str) -> None:
    """After stop no row starts; those in flight are results with the text they had, and their connections are closed."""

    async def endless(asked: Asked, reply: Reply) -> None:
        await reply.begin()
        await reply.send(delta("so far"))
        await anyio.sleep_forever()

    aborted = []
    with anyio.fail_after(5):
        async with loopback(endless) as server, engine() as runner:
            watched = Watched(runner)
            async with process(watched, rows(server, *"abcdef"), concurrency=2) as results:
                await watched.received("so far", 2)
                results.stop("enough")
                async for result in results:
                    assert result.error is not None
                    aborted.append((result.row.index, result.error.kind, result.error.message, record(result)["text"]))
            for asked in server.asked:
                await asked.hung_up.wait()
    assert sorted(aborted) == [(0, "aborted", "enough", "so far"), (1, "aborted", "enough", "so far")]
    assert len(server.asked) == 2


async def test_fail_fast(anyio_backend: str) -> None:
    """The first failure aborts the others and starts no further row."""

    async def script(asked: Asked, reply: Reply) -> None:
        if asked.prompt == "bad":
            await server.busy(3)
            await reply.whole(400, b'{"error":{"message":"no"}}')
        else:
            await anyio.sleep_forever()

    with anyio.fail_after(5):
        async with loopback(script) as server, engine() as runner:
            prompts = ["bad", *"abcdefg"]
            statistics = await run(runner, rows(server, *prompts), lambda result: None, concurrency=3, fail_fast=True)
    assert (dict(statistics.failures), len(server.asked)) == ({"invalid_request": 1, "aborted": 2}, 3)


async def test_leaving_the_block_cancels(anyio_backend: str) -> None:
    """Leaving early, also by an exception, closes every stream; the exception arrives as itself."""

    async def hang(asked: Asked, reply: Reply) -> None:
        await anyio.sleep_forever()

    async def leave(server: Loopback, runner: headwater.Engine) -> None:
        async with process(runner, rows(server, *"abc"), concurrency=2):
            await server.busy(2)
            raise ValueError("enough")

    with anyio.fail_after(5):
        async with loopback(hang) as server, engine() as runner:
            with pytest.raises(ValueError, match="enough"):
                await leave(server, runner)
            for asked in server.asked:
                await asked.hung_up.wait()


async def test_cancelling_from_outside(anyio_backend: str) -> None:
    """The caller's own cancel scope ends a batch, and is not mistaken for a stop."""

    async def hang(asked: Asked, reply: Reply) -> None:
        scope.cancel()
        await anyio.sleep_forever()

    seen: list[Result] = []
    with anyio.fail_after(5):
        async with loopback(hang) as server, engine() as runner:
            with anyio.CancelScope() as scope:
                await run(runner, rows(server, *"abc"), seen.append, concurrency=1)
            await server.asked[0].hung_up.wait()
    assert (scope.cancelled_caught, seen) == (True, [])


async def test_error_of_the_source(anyio_backend: str) -> None:
    """What reading the rows raises arrives as itself."""

    def broken() -> Iterator[Row]:
        yield row_of("", index=0)
        raise OSError("disk gone")

    with anyio.fail_after(5):
        async with engine() as runner:
            with pytest.raises(OSError, match="disk gone"):
                await run(runner, broken(), lambda result: None)


@pytest.mark.parametrize("concurrency", [0, -1])
async def test_no_concurrency(anyio_backend: str, concurrency: int) -> None:
    """A batch that could never run is refused at once."""
    async with engine() as runner:
        with pytest.raises(ConfigurationError, match=f"concurrency is {concurrency}: give 1 or more"):
            await run(runner, [], lambda result: None, concurrency=concurrency)


async def test_retries_are_no_rows(anyio_backend: str) -> None:
    """A row that needed two attempts is one row; the record says how many attempts there were."""

    async def second_time(asked: Asked, reply: Reply) -> None:
        if len(server.asked) == 1:
            await reply.whole(503, b"", retry_after_ms="1")
        else:
            await reply.chat("x")

    records = []
    with anyio.fail_after(5):
        async with loopback(second_time) as server, headwater.Engine() as runner:
            statistics = await run(runner, rows(server, "a"), lambda result: records.append(record(result)))
    assert (statistics.rows, statistics.retries, [found["attempts"] for found in records]) == (1, 1, [2])


async def test_answer_cut_by_its_limit(anyio_backend: str) -> None:
    """An answer that ran into its limit is an answer; its finish reason tells."""

    async def script(asked: Asked, reply: Reply) -> None:
        await reply.begin()
        await reply.send(delta("a") + ending("length"))

    with anyio.fail_after(5):
        async with loopback(script) as server, engine() as runner:
            statistics = await run(runner, rows(server, "a"), lambda result: None)
    assert (statistics.answered, dict(statistics.finishes)) == (1, {"length": 1})
