"""One attempt at a request: open it, hand over its bytes, close it once.

The attempt keeps the deadlines informed (what is waited for, and since when); `expire` is how the watchdog ends a wait from outside: it cancels
the opening, or aborts the connection, which wakes the pending read. A request that goes out on an idle connection has no scope to be cancelled.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING, TypeVar

import anyio

from headwater.deadlines import Deadlines
from headwater.transport import TransportResponse, open_with_fresh_retry, reuse_idle
from headwater.transport.base import Abort, Clock, Trace
from headwater_codecs.framing import Fault
from headwater_codecs.neutral import DeadlineExceeded, ErrorInfo, HeadwaterError, StreamAborted, Timing, error_info

if TYPE_CHECKING:
    from headwater.plan import Plan

T = TypeVar("T")
ERROR_BODY = 64 << 10  # bytes of a refusal's body that are read
ERROR_BODY_TIME = 5.0  # seconds: a refusal whose body never ends is reported without the rest (B234)


class _Trace(Trace):
    """Tells the deadlines when the wait for a connection becomes the wait for content."""

    __slots__ = ("_deadlines",)

    def __init__(self, clock: Clock, deadlines: Deadlines) -> None:
        super().__init__(clock)
        self._deadlines = deadlines

    def got_connection(self, reused: bool) -> None:
        super().got_connection(reused)
        self._deadlines.arm("first_content", self.clock())

    def restart(self) -> None:
        super().restart()
        self._deadlines.arm("connect", self.clock())


class Attempt:
    """One request and its response. A source of bytes (in batches of one read) and, last, the fault that broke it off."""

    def __init__(self, deadlines: Deadlines, clock: Clock, timing: Timing, started: float) -> None:
        self.received = 0  # bytes of the body
        self.failure: Exception | None = None  # what broke the body off
        self._url = ""
        self.response: TransportResponse | None = None
        self.trace = _Trace(clock, deadlines)
        self._deadlines = deadlines
        self._clock = clock
        self._timing = timing
        self._started = started
        self._scope: anyio.CancelScope | None = None
        self._ended = self._closed = False
        self._paused = started  # when we last stopped waiting for the provider

    async def open(self, plan: Plan) -> None:
        """Build the request, send it and wait for the response's headers. Raises the typed error; a deadline that fired is one.

        Building may take its time (a token is fetched, a server started): `total` counts it, `connect` does not.
        """
        deadlines, clock = self._deadlines, self._clock
        try:
            if deadlines.check(clock()) is None:
                request = await (self._scoped(plan.request()) if plan.waits else plan.request())
                if request is not None:
                    self._url = request.url
                    deadlines.arm("connect", clock())
                    deadlines.since = clock()
                    self.response = await reuse_idle(plan.transport, request, self.trace)
                    if self.response is None and deadlines.fired is None and not self._closed:
                        self.response = await self._scoped(open_with_fresh_retry(plan.transport, request, self.trace))
        except Exception as error:
            if deadlines.fired is None and not self._closed:
                raise self._typed(error) from (error.__cause__ if isinstance(error, HeadwaterError) else error)
        finally:
            self._paused = clock()
            deadlines.pause(self._paused)
            self._note_times()
        if deadlines.fired is None and not self._closed:
            return
        await self.aclose()  # it came too late
        raise DeadlineExceeded(deadlines.error(self.trace.phase)) if deadlines.fired is not None else StreamAborted(_aborted())

    async def _scoped(self, step: Awaitable[T]) -> T | None:
        """A step of the opening that can be cancelled from outside; None where it was."""
        try:
            with anyio.CancelScope() as self._scope:
                return await step
        finally:
            self._scope = None
        return None

    async def next_batch(self) -> Sequence[bytes | Fault] | None:
        """What the next read brings; None at a clean end, and at the end of the grace for trailing usage."""
        if self._ended:
            return None
        response = self.response
        if response is None:
            return self._broken_off(anyio.ClosedResourceError())
        deadlines, clock = self._deadlines, self._clock
        deadlines.since = now = clock()
        self._timing.consumer += now - self._paused
        try:
            data = await response.receive()
        except Exception as error:
            return self._broken_off(error)
        finally:
            self._paused = now = clock()
            deadlines.pause(now)
        if data is None:
            self._ended = True
            return None
        if not self.received:
            self._timing.first_byte = now - self._started
        self.received += len(data)
        return (data,)

    async def error_body(self) -> bytes:
        """The body of a refusal, bounded in size and time, with its content encoding undone. What cannot be read is left out.

        The wait for it is a part of the wait for content: where a deadline passes, the refusal is told with what came until then.
        """
        from headwater_codecs.content_coding import ContentDecoder  # only refusals need it here

        response = self.response
        assert response is not None
        body = bytearray()
        self._deadlines.refused(self._clock())
        with anyio.move_on_after(ERROR_BODY_TIME):
            try:
                decoder = ContentDecoder(response.headers.get("content-encoding", ""))
                while len(body) < ERROR_BODY and (data := await response.receive()) is not None:
                    body += decoder.feed(data)
            except Exception as error:  # the status is the news; a body that breaks off adds nothing
                self.failure = error
            finally:
                self._paused = now = self._clock()
                self._deadlines.pause(now)
        return bytes(body[:ERROR_BODY])

    def expire(self) -> Abort | None:
        """A deadline fired: stop opening at once, or give back what must be awaited to end the wait."""
        if self._scope is not None:
            self._scope.cancel()
            return None
        if self.trace.abort is not None:
            self.trace.given_up = True
            return self.trace.abort
        return self.response.abort if self.response is not None and not self._ended else None

    def close_nowait(self) -> bool:
        """Close without waiting; False where that takes an `aclose`."""
        if self._scope is not None or self.trace.abort is not None:
            return False
        if self.response is not None and not getattr(self.response, "close_nowait", lambda: False)():
            return False
        self._closed = True
        self.response = None
        return True

    async def aclose(self, drain: bool = False) -> None:
        """Close the response, or stop opening it. With `drain` its logical end was seen: reading on a moment may save the connection."""
        self._closed = True
        if self._scope is not None:
            self._scope.cancel()
        elif self.trace.abort is not None:
            self.trace.given_up = True
            await self.trace.abort()
        response, self.response = self.response, None
        if response is not None:
            await response.aclose(drain=drain)

    def _broken_off(self, error: Exception) -> Sequence[bytes | Fault] | None:
        """The read failed: because a deadline fired, because we closed the response, or by itself."""
        self._ended = True
        if (fired := self._deadlines.fired) is not None:
            return [Fault(self._deadlines.error("stream"))] if fired != "grace" else None
        if self._closed:
            return [Fault(_aborted())]
        self.failure = typed = self._typed(error)
        if typed is not error:
            typed.__cause__ = error
        return [Fault(typed.info.with_(phase="stream"))]

    def _typed(self, error: Exception) -> HeadwaterError:
        """The error with its phase; what a transport lets through is mapped by the table for foreign exceptions."""
        if not isinstance(error, HeadwaterError):
            from headwater.transport.errors import foreign_error
            from headwater.transport.wire import split_url

            peer = split_url(self._url).peer if self._url else "before the request was sent"
            error = foreign_error(error, peer, self.trace.phase, first_byte=self.trace.first_byte)
        elif error.info.phase is None and error.info.kind != "configuration":
            error.info = error.info.with_(phase=self.trace.phase)
        return error

    def _note_times(self) -> None:
        trace, timing, start = self.trace, self._timing, self._started
        timing.pool = trace.pool - start if trace.pool is not None else None
        timing.connected = trace.connected - start if trace.connected is not None else None
        timing.headers = trace.headers - start if trace.headers is not None else None


def _aborted() -> ErrorInfo:
    return error_info("aborted", "the stream was closed before its end", phase="stream", retryable=False)
