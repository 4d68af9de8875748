"""One answer of the simulator: the script's events as bytes, at their times, with its fault.

`Leave` is raised where the script closes the connection, `HungUp` where the client has closed it.
"""

from __future__ import annotations

import gzip
import time
import zlib
from collections.abc import Mapping

from headwater.aggregate import Aggregator
from headwater.sim.http import Connection
from headwater.sim.limit_headers import retry_after
from headwater.sim.script import Script, steps
from headwater.sim.speech import Asked, whole_answer
from headwater_codecs.neutral import (
    ChoiceEnd,
    ErrorInfo,
    Finish,
    ReasoningDelta,
    RefusalDelta,
    StreamFailed,
    TextDelta,
    ToolCallDelta,
    error_info,
)
from headwater_codecs.neutral.errors import ErrorKind

CREATED = 1_760_000_000  # seconds since 1970: the same answer at every time
GZIP = 31  # zlib's word for gzip's form
DELTAS = (TextDelta, ReasoningDelta, RefusalDelta, ToolCallDelta)
ENDINGS = (ChoiceEnd, Finish)
PINGS_MS = 20.0  # between the keep-alives of the fault `pings`, unless the script says it
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
        self._headers = {asked.speech.request_id: id, **headers}
        self._written = 0  # pieces
        self._waiting: list[bytes] = []  # for `merge`
        self._packer = zlib.compressobj(wbits=GZIP) if script.gzip and asked.stream else None

    async def run(self) -> None:
        """The whole answer."""
        try:
            if self._script.headers_ms > 0:
                await self._wait(self._script.headers_ms / 1000)
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

    async def _no_http(self) -> None:
        await self._connection.raw(b"\x16\x03\x01 this is no HTTP\r\n\r\n")
        raise Leave

    async def _status(self) -> None:
        script = self._script
        extra = {} if script.retry_after is None else retry_after(script.retry_after, script.retry_as)
        await self._refuse(script.status, error_info(_KINDS.get(script.status, "server"), script.message), extra)

    async def _status_stall(self) -> None:
        error = error_info(_KINDS.get(self._script.status, "server"), self._script.message)
        body = self._asked.speech.error(error)
        headers = {**self._asked.speech.error_headers(error), **self._headers, "content-length": str(len(body))}
        await self._connection.head(self._script.status, headers)
        await self._connection.raw(body[: len(body) // 2])
        await self._stall()

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
        headers = {"content-type": "application/json", **self._headers}
        if self._script.gzip:
            body = gzip.compress(body)
            headers["content-encoding"] = "gzip"
        if (fault := _INSIDE.get(self._script.kind or "")) is None:
            await self._connection.answer(200, body, headers)
        else:  # half of it, then the fault
            length = {"content-length": str(len(body))} if self._script.kind == "length" else {"transfer-encoding": "chunked"}
            await self._connection.head(200, {**headers, **length})
            await self._send(body[: len(body) // 2])
            await fault(self)

    async def _stream(self) -> None:
        speech = self._asked.speech
        headers = {"content-type": self._asked.form.content_type, "cache-control": "no-cache", **self._headers}
        if self._packer is not None:
            headers["content-encoding"] = "gzip"
        if self._script.kind == "length":
            await self._connection.head(200, {**headers, "content-length": str(1 << 30)})
        else:
            await self._connection.head(200, {**headers, "transfer-encoding": "chunked"})
        encoder = speech.encoder(model=self._asked.model, id=self._id, created=CREATED, **self._asked.settings)
        for wait, event in steps(self._script, self._asked.model, self._id):
            if not self._script.late and ((isinstance(event, DELTAS) and self._written >= self._script.after) or isinstance(event, ENDINGS)):
                await self._break()
            self._written += isinstance(event, DELTAS)
            await self._pause(wait)
            await self._write(encoder.feed([event]))
        await self._break()
        await self._flush()
        if self._packer is not None:
            await self._send(self._packer.flush())
        await self._connection.chunk(b"")

    async def _break(self) -> None:
        """The fault, if it is one of the body."""
        if (fault := _INSIDE.get(self._script.kind or "")) is not None:
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
        seconds = (self._script.ping_ms or PINGS_MS) / 1000
        while not await self._connection.gone(seconds):
            if self._asked.form.ping:
                await self._send(self._packed(self._asked.form.ping))
        raise HungUp

    async def _garbage(self) -> None:
        await self._connection.chunk(self._asked.form.garbage)
        await self._connection.chunk(b"")
        raise _Over

    async def _bad_chunk(self) -> None:
        await self._connection.raw(b"this is no length\r\n")
        raise Leave

    async def _huge(self) -> None:
        await self._connection.chunk(self._asked.form.endless)
        for start in range(0, self._script.size, 1 << 20):
            await self._connection.chunk(b"x" * min(1 << 20, self._script.size - start))
        raise Leave

    async def _cut_utf8(self) -> None:
        await self._connection.chunk(self._asked.form.cut)
        await self._connection.chunk(b"")
        raise _Over

    # --- bytes and time

    async def _pause(self, seconds: float) -> None:
        """Wait for the next piece, with keep-alives where the script says so."""
        if seconds <= 0:
            return
        await self._flush()
        end = time.monotonic() + seconds
        ping = self._script.ping_ms / 1000 if self._asked.stream and self._asked.form.ping else 0.0
        while ping and end - time.monotonic() > ping:
            await self._wait(ping)
            await self._send(self._packed(self._asked.form.ping))
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
        data = self._packed(data)
        drip = self._script.drip_ms / 1000
        size = self._script.split or (1 if drip else len(data) or 1)
        for start in range(0, len(data), size):
            if drip and start:
                await self._wait(drip)
            await self._send(data[start : start + size])

    def _packed(self, data: bytes) -> bytes:
        """As the proxy sends it: what it has compressed can be read at once."""
        if self._packer is None or not data:
            return data
        return self._packer.compress(data) + self._packer.flush(zlib.Z_SYNC_FLUSH)

    async def _send(self, data: bytes) -> None:
        """A piece of the body, as the headers announced it."""
        await (self._connection.raw(data) if self._script.kind == "length" else self._connection.chunk(data))


_BEFORE = {
    "refuse": Answer._close,  # whoever is here is connected already
    "close": Answer._close,
    "reset": Answer._reset,
    "no_http": Answer._no_http,
    "status": Answer._status,
    "status_stall": Answer._status_stall,
    "html": Answer._html,
    "json_error": Answer._json_error,
}
_INSIDE = {
    "truncate": Answer._truncate,
    "cut": Answer._cut,
    "length": Answer._cut,  # less than the headers promised
    "reset_body": Answer._reset,
    "stall": Answer._stall,
    "pings": Answer._pings,
    "garbage": Answer._garbage,
    "bad_chunk": Answer._bad_chunk,
    "huge": Answer._huge,
    "cut_utf8": Answer._cut_utf8,
}
