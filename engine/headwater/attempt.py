"""One attempt at a request: open it, hand over its bytes, close it once.

The attempt keeps the deadlines informed (what is waited for, and since when); `expire` is how the watchdog ends a wait from outside: it cancels
the opening, or aborts the connection, which wakes the pending read.
"""

from __future__ import annotations

from collections.abc import Sequence

import anyio

from headwater.deadlines import Deadlines
from headwater.transport import Transport, TransportResponse, open_with_fresh_retry
from headwater.transport.base import Clock, Trace
from headwater_codecs.framing import Fault
from headwater_codecs.neutral import DeadlineExceeded, HeadwaterError, Timing
from headwater_providers.adapter import HttpRequest

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


class Attempt:
    """One request and its response. A source of bytes (in batches of one read) and, last, the fault that broke it off."""

    def __init__(self, deadlines: Deadlines, clock: Clock, timing: Timing, started: float) -> None:
        self.received = 0  # bytes of the body
        self.response: TransportResponse | None = None
        self.trace = _Trace(clock, deadlines)
        self._deadlines = deadlines
        self._clock = clock
        self._timing = timing
        self._started = started
        self._scope: anyio.CancelScope | None = None
        self._ended = False
        self._paused = started  # when we last stopped waiting for the provider

    async def open(self, transport: Transport, request: HttpRequest) -> None:
        """Send the request and wait for the response's headers. Raises the typed error; a deadline that fired is one."""
        deadlines = self._deadlines
        deadlines.arm("connect", self._clock())
        deadlines.since = self._clock()
        self._scope = anyio.CancelScope()
        try:
            with self._scope:
                self.response = await open_with_fresh_retry(transport, request, self.trace)
        except HeadwaterError as error:
            error.info = error.info.with_(phase=error.info.phase or self.trace.phase)
            raise
        finally:
            self._paused = self._clock()
            deadlines.pause(self._paused)
            self._scope = None
            self._note_times()
        if deadlines.fired is not None:
            await self.aclose()
            raise DeadlineExceeded(deadlines.error(self.trace.phase))

    async def next_batch(self) -> Sequence[bytes | Fault] | None:
        """What the next read brings; None at a clean end, and at the end of the grace for trailing usage."""
        if self._ended or self.response is None:
            return None
        deadlines, clock = self._deadlines, self._clock
        deadlines.since = now = clock()
        self._timing.consumer += now - self._paused
        try:
            data = await self.response.receive()
        except HeadwaterError as error:
            self._ended = True
            return [Fault(error.info.with_(phase="stream"))] if deadlines.fired is None else self._expired()
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            self._ended = True
            return self._expired()
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
        """The body of a refusal, bounded in size and time."""
        assert self.response is not None
        body = bytearray()
        with anyio.move_on_after(ERROR_BODY_TIME):
            try:
                while len(body) < ERROR_BODY and (data := await self.response.receive()) is not None:
                    body += data
            except (HeadwaterError, anyio.ClosedResourceError):
                pass
        return bytes(body[:ERROR_BODY])

    def expire(self) -> TransportResponse | None:
        """A deadline fired: stop opening at once, or give back the response that is to be aborted."""
        if self._scope is not None:
            self._scope.cancel()
            return None
        return self.response if not self._ended else None

    def close_nowait(self) -> bool:
        """Close without waiting; False where that takes an `aclose`."""
        if self.response is not None and not getattr(self.response, "close_nowait", lambda: False)():
            return False
        self.response = None
        return True

    async def aclose(self, drain: bool = False) -> None:
        """Close the response. With `drain` its logical end was seen: reading on a moment may save the connection."""
        response, self.response = self.response, None
        if response is not None:
            await response.aclose(drain=drain)

    def _expired(self) -> Sequence[bytes | Fault] | None:
        fired = self._deadlines.fired
        if fired is None or fired == "grace":
            return None
        return [Fault(self._deadlines.error("stream"))]

    def _note_times(self) -> None:
        trace, timing, start = self.trace, self._timing, self._started
        timing.pool = trace.pool - start if trace.pool is not None else None
        timing.connected = trace.connected - start if trace.connected is not None else None
        timing.headers = trace.headers - start if trace.headers is not None else None
