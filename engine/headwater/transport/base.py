"""What the engine asks of a transport: open one request, hand over its body as it comes, close it once.

A transport raises `NetworkError` (kind `network`: before the first response byte) or `TruncatedError` (kind `truncated`: the body broke
off), never an exception of the library below; the cause is chained. Deadlines are not its business: the engine cancels `open` and calls
`abort` on a response.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Protocol

from headwater_codecs.neutral.errors import Phase
from headwater_providers.adapter import HttpRequest

Clock = Callable[[], float]
Abort = Callable[[], Coroutine[object, object, None]]


class Trace:
    """How far opening a request got, and when (seconds on the engine's clock). The transport writes it, deadlines and timing read it."""

    __slots__ = ("abort", "clock", "connected", "first_byte", "fresh", "given_up", "headers", "phase", "pool", "reused", "sent")

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.phase: Phase = "connect"
        self.abort: Abort | None = None  # set by `reuse` while it waits: closes the connection, which ends the wait
        self.given_up = False  # `abort` was called: what the wait raises is no fault of the connection's
        self.fresh = False  # asked for: a new connection, none from the pool
        self.reused = False  # the connection came from the pool: it may have died while idle
        self.first_byte = False  # something of the response was seen: the request must not be sent again silently
        self.pool: float | None = None  # the pool gave a connection, or leave to make one
        self.connected: float | None = None
        self.sent: float | None = None
        self.headers: float | None = None

    def got_connection(self, reused: bool) -> None:
        """A connection is there: from here on the request is being sent and its answer waited for."""
        self.reused = reused
        self.connected = self.sent = self.clock()
        self.phase = "headers"

    def restart(self) -> None:
        """The connection was dead: the next try starts over, on a new one."""
        self.phase = "connect"
        self.fresh = True
        self.reused = self.first_byte = False
        self.pool = self.connected = self.sent = None

    def got_headers(self) -> None:
        """The response's status and headers are there."""
        self.first_byte = True
        self.headers = self.clock()
        self.phase = "stream"


class TransportResponse(Protocol):
    """An open response. Header names are lower case; several values of one name are joined by `, `."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    async def receive(self) -> bytes | None:
        """What came since the last call, as one piece, never empty; None when the body has ended by its own rules.

        Raises TruncatedError when the connection breaks before that, and anyio.ClosedResourceError after `abort`.
        """

    async def aclose(self, *, drain: bool = False) -> None:
        """Give the connection back if the body has ended, else close it. Idempotent, shielded, done within 2 seconds.

        With `drain` (the stream's logical end was seen) it first reads on for the body's end, for at most 100 ms or 64 KiB.
        """

    def close_nowait(self) -> bool:
        """What `aclose` does, if it can be done without waiting: True when it is done, False when `aclose` must be awaited."""

    async def abort(self) -> None:
        """Close the connection at once; a pending `receive` in another task wakes with ClosedResourceError."""


class Reusing(Protocol):
    """A transport that knows at once whether it has an idle connection. Its wait needs no cancel scope, which costs as much as a read."""

    def reuse(self, request: HttpRequest, trace: Trace) -> Coroutine[object, object, TransportResponse] | None:
        """Send the request on an idle connection; None, with nothing done, where there is none. What `open` raises is raised by the wait.

        While it waits, `trace.abort` ends it from another task.
        """


class Transport(Protocol):
    """Opens requests. Shared by all streams of an engine. It may be `Reusing` too."""

    async def open(self, request: HttpRequest, trace: Trace) -> TransportResponse:
        """Send the request and wait for the response's headers. Cancelling it leaves no connection behind."""

    async def aclose(self) -> None:
        """Close every idle connection."""
