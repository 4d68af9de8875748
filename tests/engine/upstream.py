"""A scripted transport, for tests that count: what is sent when, who waits where, and how often what was opened is closed.

Real bytes on real sockets are `loopback`'s business. Here no time passes and nothing is read ahead: an answer has what the test gave it.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Literal

import anyio
import anyio.lowlevel

import headwater
from headwater.stream import Topology
from headwater.transport import Trace
from headwater_codecs.neutral import Event, Finish, Request, StreamFailed, TextDelta, user
from headwater_providers.adapter import HttpRequest
from loopback import delta, ending

TOPOLOGIES: tuple[Topology, ...] = ("fused", "fan-out", "staged")
KEY = "sk-never-to-be-seen-0123456789"
NO_RETRY = headwater.Retry(attempts=0)
PING = b": ping\n\n"
EMPTY = delta("")
TURNS = 40  # five actors, a few turns each; `wait_all_tasks_blocked` polls every 0.1 s on asyncio


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Answer:
    """One response. `connects` and `answers` hold the opening back until they are set; `refuses` is raised by it.

    The body is what `data` holds; it ends there unless it is `open`. An exception among the data is raised by the read that comes to it.
    """

    def __init__(
        self,
        *data: bytes | Exception,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        open: bool = False,
        refuses: Exception | None = None,
        connects: anyio.Event | None = None,
        answers: anyio.Event | None = None,
        closes: anyio.Event | None = None,
    ) -> None:
        self.status = status
        self.headers = {"content-type": "text/event-stream", **(headers or {})}
        self.refuses = refuses
        self.connects = connects
        self.answers = answers
        self.closes = closes
        self.reads = 0  # pieces handed out
        self.waiting = False  # somebody waits for the next one
        self.close_ended = False  # an `aclose` was not interrupted
        self.closed: list[Literal["closed", "drained", "aborted"]] = []
        self._data: deque[bytes | Exception | None] = deque(data)
        if not open:
            self._data.append(None)
        self._more = anyio.Event()

    def send(self, *data: bytes | Exception) -> None:
        """More of the body."""
        self._data.extend(data)
        self._more.set()

    def end(self) -> None:
        """The body has ended."""
        self._data.append(None)
        self._more.set()

    async def receive(self) -> bytes | None:
        """The next piece."""
        while not self._data:
            if self.closed:
                raise anyio.ClosedResourceError
            self._more = anyio.Event()
            self.waiting = True
            try:
                await self._more.wait()
            finally:
                self.waiting = False
        if self.closed:
            raise anyio.ClosedResourceError
        data = self._data[0]
        if data is None:
            return None
        self._data.popleft()
        if isinstance(data, Exception):
            raise data
        self.reads += 1
        return data

    async def aclose(self, *, drain: bool = False) -> None:
        """Closed, in good order."""
        self._close("drained" if drain else "closed")
        if self.closes is not None:
            await self.closes.wait()
        self.close_ended = True

    async def abort(self) -> None:
        """Closed by force."""
        self._close("aborted")

    def _close(self, how: Literal["closed", "drained", "aborted"]) -> None:
        if not self.closed:
            self.closed.append(how)
        self._more.set()


class Upstream:
    """A transport that gives these answers, one per request."""

    def __init__(self, *answers: Answer) -> None:
        self.requests: list[HttpRequest] = []
        self.given: list[Answer] = []  # those whose response was handed over
        self.connecting = 0
        self.cancelled = 0  # openings that were
        self.closed = False
        self._answers = deque(answers)

    async def open(self, request: HttpRequest, trace: Trace) -> Answer:
        """The next answer."""
        self.requests.append(request)
        answer = self._answers.popleft()
        self.connecting += 1
        try:
            trace.pool = trace.clock()
            if answer.connects is not None:
                await answer.connects.wait()
            trace.got_connection(reused=False)
            if answer.answers is not None:
                await answer.answers.wait()
            if answer.refuses is not None:
                raise answer.refuses
            trace.got_headers()
        except anyio.get_cancelled_exc_class():
            self.cancelled += 1
            raise
        finally:
            self.connecting -= 1
        self.given.append(answer)
        return answer

    async def aclose(self) -> None:
        """Never called by an engine: a given transport is its owner's."""
        self.closed = True

    @property
    def left_open(self) -> list[Answer]:
        """Responses that nobody closed."""
        return [answer for answer in self.given if not answer.closed]


def request(**fields: object) -> Request:
    """A request with a key, for any transport."""
    return Request(model=model(), messages=[user("hi")], **fields)  # type: ignore[arg-type]


def model(base_url: str = "http://upstream.test/v1", **fields: object) -> headwater.Model:
    """A model at this address."""
    return headwater.Model("scripted-1", **{"provider": "custom", "base_url": base_url, "api_key": KEY, **fields})  # type: ignore[arg-type]


@asynccontextmanager
async def run(*answers: Answer, **options: object) -> AsyncIterator[tuple[headwater.Engine, Upstream]]:
    """An engine over these answers, for at most five seconds. Without retries unless given. At its end everything is closed."""
    upstream = Upstream(*answers)
    with anyio.fail_after(5):
        async with headwater.Engine(**{"transport": upstream, "retry": NO_RETRY, **options}) as engine:  # type: ignore[arg-type]
            yield engine, upstream
        assert upstream.left_open == []
        assert upstream.connecting == 0


class Reader:
    """Reads a stream in a task of its own and keeps what came."""

    def __init__(self, source: headwater.Stream | headwater.Subscription) -> None:
        self.events: list[Event] = []
        self.done = anyio.Event()
        self.error: Exception | None = None
        self._source = source

    async def __call__(self) -> None:
        try:
            async for event in self._source:
                self.events.append(event)
        except headwater.HeadwaterError as error:
            self.error = error
        finally:
            self.done.set()

    @property
    def text(self) -> str:
        """The text that came."""
        return text_of(self.events)


async def settle() -> None:
    """Let everybody run until all wait: nothing here is further away than so many turns of the loop."""
    for _ in range(TURNS):
        await anyio.lowlevel.checkpoint()


async def collect(stream: headwater.Stream | headwater.Subscription) -> list[Event]:
    """All events that are left."""
    return [event async for event in stream]


def text_of(events: Iterable[Event]) -> str:
    """The text of these events."""
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def failure(events: list[Event]) -> headwater.ErrorInfo:
    """The error of a stream that failed: its last event, and the only terminal."""
    assert isinstance(events[-1], StreamFailed)
    assert [event for event in events if isinstance(event, StreamFailed | Finish)] == events[-1:]
    return events[-1].error


def good(*texts: str) -> bytes:
    """The body of a whole answer."""
    return b"".join(map(delta, texts)) + ending()


def finish_only() -> bytes:
    """A finish reason without what follows it."""
    return ending().partition(b"\n\n")[0] + b"\n\n"


def usage_only() -> bytes:
    """The usage chunk and the end marker."""
    return ending().partition(b"\n\n")[2]


def error_body(message: str, **fields: object) -> bytes:
    """An error as a JSON body."""
    return json.dumps({"error": {"message": message, **fields}}).encode()


def in_band(message: str, **fields: object) -> bytes:
    """An error inside of a stream."""
    return b"data: " + error_body(message, **fields) + b"\n\n"


__all__ = [
    "EMPTY",
    "KEY",
    "NO_RETRY",
    "PING",
    "TOPOLOGIES",
    "Answer",
    "Clock",
    "Reader",
    "Upstream",
    "collect",
    "delta",
    "ending",
    "error_body",
    "failure",
    "finish_only",
    "good",
    "in_band",
    "model",
    "request",
    "run",
    "settle",
    "text_of",
    "usage_only",
]
