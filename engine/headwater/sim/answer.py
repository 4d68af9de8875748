"""One answer of the simulator: the script's events as bytes, at their times, with its fault. Raises `Leave` where the connection is to be closed."""

from __future__ import annotations

import time
from collections.abc import Mapping

import anyio

from headwater.aggregate import Aggregator
from headwater.sim.http import Connection
from headwater.sim.script import Script, steps
from headwater.sim.speech import AWS, PING, SSE, Asked, whole_answer
from headwater_codecs.neutral import Event, ReasoningDelta, RefusalDelta, TextDelta, ToolCallDelta, error_info
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
        if self._script.kind in _BEFORE:
            await _BEFORE[self._script.kind](self)
        elif self._asked.stream:
            await self._stream()
        else:
            await self._whole()
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
        error = error_info(_KINDS.get(script.status, "server"), script.message)
        headers = {**self._asked.speech.error_headers(error), **self._headers}
        if script.retry_after is not None:
            headers["retry-after"] = f"{script.retry_after:g}"
        await self._connection.answer(script.status, self._asked.speech.error(error), headers)

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
            aggregator.feed([event])
        body = whole_answer(self._asked, aggregator.response, self._id, CREATED)
        if body is None:
            error = error_info("invalid_request", f"the simulator only streams {self._asked.speech.protocol}")
            await self._connection.answer(400, self._asked.speech.error(error), self._asked.speech.error_headers(error))
            return
        status = 200 if aggregator.response.error is None else 500
        await self._connection.answer(status, body, {"content-type": "application/json", **self._headers})

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
        raise Leave

    async def _cut(self) -> None:
        raise Leave

    async def _stall(self) -> None:
        await self._connection.gone()
        raise Leave

    async def _pings(self) -> None:
        async with anyio.create_task_group() as group:

            async def ping() -> None:
                while self._asked.speech.content_type == SSE:
                    await self._connection.chunk(PING)
                    await anyio.sleep(max(0.001, self._script.ping_ms / 1000 or 0.02))

            group.start_soon(ping)
            await self._connection.gone()
            group.cancel_scope.cancel()
        raise Leave

    async def _garbage(self) -> None:
        await self._connection.chunk(self._asked.speech.garbage)
        await self._connection.chunk(b"")
        raise Leave

    async def _huge(self) -> None:
        piece = b"data: " + b"x" * (1 << 20) if self._asked.speech.content_type != AWS else b"\0" * (1 << 20)
        for _ in range(self._script.size >> 20):
            await self._connection.chunk(piece)
            piece = b"x" * (1 << 20)
        raise Leave

    async def _cut_utf8(self) -> None:
        await self._connection.chunk(b'data: {"x":"\xf0\x9f')
        await self._connection.chunk(b"")
        raise Leave

    # --- bytes and time

    async def _pause(self, seconds: float) -> None:
        """Wait for the next piece, with keep-alives where the script says so."""
        ping = self._script.ping_ms / 1000
        if seconds <= 0:
            return
        await self._flush()
        end = time.monotonic() + seconds
        while ping and self._asked.speech.content_type == SSE and end - time.monotonic() > ping:
            await anyio.sleep(ping)
            await self._connection.chunk(PING)
        await anyio.sleep(max(0.0, end - time.monotonic()))

    async def _write(self, data: bytes) -> None:
        if not data:
            return
        self._waiting.append(data)
        if len(self._waiting) >= self._script.merge:
            await self._flush()

    async def _flush(self) -> None:
        data, self._waiting = b"".join(self._waiting), []
        size = self._script.split or len(data) or 1
        send = self._connection.raw if self._script.kind == "length" else self._connection.chunk
        for start in range(0, len(data), size):
            await send(data[start : start + size])


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
