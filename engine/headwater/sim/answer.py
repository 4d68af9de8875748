"""One answer of the simulator: the script's events as bytes, at their times, with its fault.

`Leave` is raised where the script closes the connection, `HungUp` where the client has closed it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from headwater.aggregate import Aggregator
from headwater.sim.http import Connection
from headwater.sim.script import Script, steps
from headwater.sim.speech import AWS, PING, SSE, Asked, whole_answer
from headwater_codecs.neutral import ErrorInfo, Event, ReasoningDelta, RefusalDelta, StreamFailed, TextDelta, ToolCallDelta, error_info
from headwater_codecs.neutral.errors import ErrorKind

CREATED = 1_760_000_000  # seconds since 1970: the same answer at every time
DELTAS = (TextDelta, ReasoningDelta, RefusalDelta, ToolCallDelta)
_KINDS: dict[int, ErrorKind] = {
    400: "invalid_request",
    401: "auth",
    403: "permission",
    404: "not_found",
    429: "rate_limit",
    503: "overloaded",
    529: "overloaded",
}
HTML = b"<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body><h1>Bad Gateway</h1></body></html>"


class Leave(Exception):  # it is no error: the script ends the connection
    """Close the connection."""


class _Over(Exception):  # nor this: the body has its end, too early, and the connection is as good as before
    """Write no more of this answer."""


class HungUp(Exception):  # nor is this one
    """The client has closed the connection before the answer was over."""


class Answer:
    """Writes one answer."""

    def __init__(self, connection: Connection, asked: Asked, script: Script, id: str, headers: Mapping[str, str]) -> None:
        self._connection = connection
        self._asked = asked
        self._script = script
        self._id = id
        self._headers = {"x-request-id": id, **headers}
        self._written = 0  # pieces
        self._waiting: list[bytes] = []  # for `merge`

    async def run(self) -> None:
        """The whole answer."""
        try:
            if self._script.kind in _BEFORE:
                await _BEFORE[self._script.kind](self)
            elif self._asked.stream:
                await self._stream()
            else:
                await self._whole()
        except _Over:
            return
        if self._script.kind == "idle_close":
            raise Leave

    # --- faults before the body

    async def _close(self) -> None:
        raise Leave

    async def _reset(self) -> None:
        self._connection.reset_on_close()
        raise Leave

    async def _status(self) -> None:
        script = self._script
        extra = {} if script.retry_after is None else {"retry-after": f"{script.retry_after:g}"}
        await self._refuse(script.status, error_info(_KINDS.get(script.status, "server"), script.message), extra)

    async def _refuse(self, status: int, error: ErrorInfo, extra: Mapping[str, str] | None = None) -> None:
        headers = {**self._asked.speech.error_headers(error), **self._headers, **(extra or {})}
        await self._connection.answer(status, self._asked.speech.error(error), headers)

    async def _html(self) -> None:
        await self._connection.answer(200, HTML, {"content-type": "text/html", **self._headers})

    async def _json_error(self) -> None:
        error = error_info(self._script.error_kind, self._script.message)
        await self._connection.answer(200, self._asked.speech.error(error), {"content-type": "application/json", **self._headers})

    # --- the body

    async def _whole(self) -> None:
        aggregator = Aggregator()
        for wait, event in steps(self._script, self._asked.model, self._id):
            await self._pause(wait)
            if isinstance(event, StreamFailed):
                status = next((status for status, kind in _KINDS.items() if kind == event.error.kind), 500)
                await self._refuse(status, event.error)
                return
            aggregator.feed([event])
        body = whole_answer(self._asked, aggregator.response, self._id, CREATED)
        if body is None:
            await self._refuse(400, error_info("invalid_request", f"the simulator only streams {self._asked.speech.protocol}"))
            return
        headers = {"content-type": "application/json", **self._headers}
        if (fault := _INSIDE.get(self._script.kind or "")) is None:
            await self._connection.answer(200, body, headers)
        else:  # half of it, then the fault
            length = {"content-length": str(len(body))} if self._script.kind == "length" else {"transfer-encoding": "chunked"}
            await self._connection.head(200, {**headers, **length})
            await self._send(body[: len(body) // 2])
            await fault(self)

    async def _stream(self) -> None:
        speech = self._asked.speech
        headers = {"content-type": "application/json" if self._asked.array else speech.content_type, "cache-control": "no-cache", **self._headers}
        if self._script.kind == "length":
            await self._connection.head(200, {**headers, "content-length": str(1 << 30)})
        else:
            await self._connection.head(200, {**headers, "transfer-encoding": "chunked"})
        extra = {"array": True} if self._asked.array else {}
        encoder = speech.encoder(model=self._asked.model, id=self._id, created=CREATED, **extra)
        for wait, event in steps(self._script, self._asked.model, self._id):
            if isinstance(event, DELTAS):
                await self._break(event)
                self._written += 1
            await self._pause(wait)
            await self._write(encoder.feed([event]))
        await self._break(None)
        await self._flush()
        await self._connection.chunk(b"")

    async def _break(self, event: Event | None) -> None:
        """The fault, where its time has come: before piece `after`, or at the end."""
        fault = _INSIDE.get(self._script.kind or "")
        if fault is not None and (event is None or self._written >= self._script.after):
            await self._flush()
            await fault(self)

    async def _truncate(self) -> None:
        await self._connection.chunk(b"")
        raise _Over

    async def _cut(self) -> None:
        raise Leave

    async def _stall(self) -> None:
        await self._connection.gone()
        raise HungUp

    async def _pings(self) -> None:
        seconds = max(0.001, self._script.ping_ms / 1000 or 0.02)
        pings = self._asked.speech.content_type == SSE and not self._asked.array
        while not await self._connection.gone(seconds):
            if pings:
                await self._send(PING)
        raise HungUp

    async def _garbage(self) -> None:
        await self._connection.chunk(b"{oops,\n" if self._asked.array else self._asked.speech.garbage)
        await self._connection.chunk(b"")
        raise _Over

    async def _huge(self) -> None:
        piece = b"data: " + b"x" * (1 << 20) if self._asked.speech.content_type != AWS else b"\0" * (1 << 20)
        for _ in range(self._script.size >> 20):
            await self._connection.chunk(piece)
            piece = b"x" * (1 << 20)
        raise Leave

    async def _cut_utf8(self) -> None:
        prefix = b"data: " if self._asked.speech.content_type == SSE and not self._asked.array else b""
        await self._connection.chunk(prefix + b'{"x":"\xf0\x9f')
        await self._connection.chunk(b"")
        raise _Over

    # --- bytes and time

    async def _pause(self, seconds: float) -> None:
        """Wait for the next piece, with keep-alives where the script says so."""
        if seconds <= 0:
            return
        await self._flush()
        end = time.monotonic() + seconds
        ping = self._script.ping_ms / 1000 if self._asked.stream and self._asked.speech.content_type == SSE and not self._asked.array else 0.0
        while ping and end - time.monotonic() > ping:
            await self._wait(ping)
            await self._send(PING)
        await self._wait(max(0.0, end - time.monotonic()))

    async def _wait(self, seconds: float) -> None:
        """Wait, and notice a client that leaves meanwhile."""
        if await self._connection.gone(seconds):
            raise HungUp

    async def _write(self, data: bytes) -> None:
        if not data:
            return
        self._waiting.append(data)
        if len(self._waiting) >= self._script.merge:
            await self._flush()

    async def _flush(self) -> None:
        data, self._waiting = b"".join(self._waiting), []
        size = self._script.split or len(data) or 1
        for start in range(0, len(data), size):
            await self._send(data[start : start + size])

    async def _send(self, data: bytes) -> None:
        """A piece of the body, as the headers announced it."""
        await (self._connection.raw(data) if self._script.kind == "length" else self._connection.chunk(data))


_BEFORE = {"close": Answer._close, "reset": Answer._reset, "status": Answer._status, "html": Answer._html, "json_error": Answer._json_error}
_INSIDE = {
    "truncate": Answer._truncate,
    "cut": Answer._cut,
    "length": Answer._cut,  # less than the headers promised
    "reset_body": Answer._reset,
    "stall": Answer._stall,
    "pings": Answer._pings,
    "garbage": Answer._garbage,
    "huge": Answer._huge,
    "cut_utf8": Answer._cut_utf8,
}
