"""What is logged: nothing unless asked for, few lines, no content."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator

import anyio
import pytest
import structlog
from structlog.testing import LogCapture

import headwater
from engine.upstream import Answer, Clock, Reader, collect, delta, error_body, good, request, run, settle
from headwater.stream import Topology
from headwater.telemetry import StreamLog, find_logger
from headwater_codecs.neutral import NetworkError, Response

WHERE = {"provider": "custom", "model": "scripted-1"}
Lines = list[dict[str, object]]


@pytest.fixture
def unconfigured() -> Iterator[None]:
    """structlog as an application that never heard of it has it."""
    structlog.reset_defaults()
    yield
    structlog.reset_defaults()


class Logger:
    """Keeps what is logged."""

    def __init__(self) -> None:
        self.lines: Lines = []

    def debug(self, event: str, **fields: object) -> None:
        self.lines.append({"level": "debug", "event": event, **fields})

    def info(self, event: str, **fields: object) -> None:
        self.lines.append({"level": "info", "event": event, **fields})

    def warning(self, event: str, **fields: object) -> None:
        self.lines.append({"level": "warning", "event": event, **fields})


def test_find_logger(unconfigured: None) -> None:
    """The one given; else the application's if it configured structlog; else none."""
    given = Logger()
    assert find_logger(given) is given
    assert find_logger(None) is None
    capture = LogCapture()
    structlog.configure(processors=[capture])
    found = find_logger(None)
    assert found is not None
    found.info("headwater.test", a=1)
    assert capture.entries == [{"event": "headwater.test", "a": 1, "log_level": "info"}]


def test_without_a_logger_nothing_happens() -> None:
    """Every call is harmless."""
    log = StreamLog(None, "p", "m")
    log.started()
    log.retried(headwater.ErrorInfo("server", "x"), 1, 0.5)
    log.finished(Response(), 3)
    assert log.last_cause is None


@pytest.mark.anyio
async def test_a_good_stream(topology: Topology) -> None:
    """Two lines at debug level."""
    log, clock = Logger(), Clock()
    async with run(Answer(good("a", "b")), topology=topology, log=log, clock=clock) as (engine, _), engine.stream(request()) as stream:
        clock.now += 1.5
        events = await collect(stream)
    finished = {"reason": "stop", "events": len(events), "seconds": 1.5}
    assert log.lines == [
        {"level": "debug", "event": "headwater.stream.started", **WHERE},
        {"level": "debug", "event": "headwater.stream.finished", **WHERE, **finished},
    ]


@pytest.mark.anyio
async def test_retries_and_failures(topology: Topology) -> None:
    """A retry is information, a failure a warning; neither quotes what the provider said."""
    log = Logger()
    answers = [
        Answer(error_body("secret words"), status=503, headers={"retry-after": "0", "x-request-id": "r1"}),
        Answer(error_body("more of them"), status=400, headers={"x-request-id": "r2"}),
    ]
    async with run(*answers, topology=topology, log=log, retry=headwater.Retry()) as (engine, _):
        await engine.generate(request(), raise_on_error=False)
    assert log.lines[1:] == [
        {"level": "info", "event": "headwater.stream.retried", **WHERE, "attempt": 1, "wait": 0.0, "kind": "overloaded", "status": 503},
        {
            "level": "warning",
            "event": "headwater.stream.failed",
            **WHERE,
            "kind": "invalid_request",
            "status": 400,
            "deadline": None,
            "phase": "headers",
            "request_id": "r2",
        },
    ]


@pytest.mark.anyio
async def test_a_deadline(topology: Topology) -> None:
    """The failure names it."""
    log, clock = Logger(), Clock()
    answer, options = Answer(open=True), {"clock": clock, "log": log, "timeouts": headwater.Timeouts(first_content=2)}
    async with run(answer, topology=topology, **options) as (engine, _), engine.stream(request()) as stream:
        reader = Reader(stream)
        async with anyio.create_task_group() as group:
            group.start_soon(reader)
            await settle()
            clock.now += 2
            engine.look(clock())
    assert [(line["level"], line["kind"], line["deadline"]) for line in log.lines[1:]] == [("warning", "timeout", "first_content")]


@pytest.mark.anyio
async def test_leaving_early_is_no_warning(topology: Topology) -> None:
    """It is said once, as information."""
    log = Logger()
    async with run(Answer(delta("a"), open=True), topology=topology, log=log) as (engine, _), engine.stream(request()) as stream:
        stream.subscribe()
        await anext(stream)
    assert [(line["level"], line["event"], line.get("kind")) for line in log.lines[1:]] == [("info", "headwater.stream.failed", "aborted")]


@pytest.mark.anyio
async def test_a_stalled_listener(topology: Topology) -> None:
    """Giving a listener up is worth a warning, whatever its policy (B247)."""
    log = Logger()
    async with run(Answer(*[delta("a")] * 20, good("b")), topology=topology, log=log) as (engine, _), engine.stream(request()) as stream:
        stream.subscribe("disconnect", buffer=5)
        stream.subscribe("block", buffer=7, patience=0.02)
        await collect(stream)
    seen = [line for line in log.lines if line["event"] == "headwater.subscriber.lagged"]
    assert [(line["level"], line["policy"], line["buffer"]) for line in seen] == [("warning", "disconnect", 5), ("warning", "block", 7)]
    assert [bool(line["blocked"]) for line in seen] == [False, True]


@pytest.mark.anyio
async def test_a_configured_structlog_is_found(unconfigured: None, topology: Topology) -> None:
    """It is looked at once per engine, when the engine is made."""
    capture = LogCapture()
    async with run(Answer(good("a")), topology=topology) as (silent, _):
        structlog.configure(processors=[capture])
        await silent.generate(request())
    assert capture.entries == []
    async with run(Answer(good("a")), topology=topology) as (loud, _):
        await loud.generate(request())
    assert [entry["event"] for entry in capture.entries] == ["headwater.stream.started", "headwater.stream.finished"]


@pytest.mark.anyio
async def test_silent_by_default(unconfigured: None, capfd: pytest.CaptureFixture[str], topology: Topology) -> None:
    """Neither structlog nor logging nor a stream gets anything from an engine that nobody asked to log."""
    records: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = records.append  # type: ignore[method-assign, assignment]
    logging.getLogger("headwater").addHandler(handler)
    try:
        async with run(Answer(refuses=NetworkError("x")), Answer(good("a")), topology=topology, retry=headwater.Retry(base=0)) as (engine, _):
            await engine.generate(request())
    finally:
        logging.getLogger("headwater").removeHandler(handler)
    assert (records, capfd.readouterr()) == ([], ("", ""))


def test_structlog_is_not_imported_to_find_out() -> None:
    """An application without it does not pay for it."""
    script = "import sys, headwater; headwater.Engine(); print([name for name in ('structlog', 'httpx', 'trio') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=20, check=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.anyio
async def test_a_fallback_is_a_warning(topology: Topology) -> None:
    """It says from whom to whom, and what follows is said of the new one."""
    log = Logger()
    other = headwater.Model("second-2", provider="custom", base_url="http://second.test/v1", api_key="k")
    answers = [Answer(error_body("secret words"), status=401), Answer(good("a"))]
    async with run(*answers, topology=topology, log=log, clock=Clock()) as (engine, _):
        await engine.generate(request(), fallbacks=[other])
    assert log.lines[1:] == [
        {
            "level": "warning", "event": "headwater.stream.fell_back", **WHERE, "kind": "auth", "status": 401,
            "to_provider": "custom", "to_model": "second-2",
        },
        {
            "level": "debug", "event": "headwater.stream.finished", "provider": "custom", "model": "second-2", "reason": "stop", "events": 7,
            "seconds": 0.0,
        },
    ]  # fmt: skip


@pytest.mark.anyio
async def test_a_hedge_is_information(topology: Topology) -> None:
    """Said once, when the second request is sent."""
    log = Logger()
    first, second = Answer(open=True), Answer(good("a"))
    async with run(first, second, topology=topology, log=log) as (engine, _):
        await engine.generate(request(), hedge=0)
    assert [line for line in log.lines if line["level"] != "debug"] == [{"level": "info", "event": "headwater.stream.hedged", **WHERE, "after": 0}]
