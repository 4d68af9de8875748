"""A provider on loopback for the benchmarks: OpenAI chat chunks over real sockets, as fast or as slow as the address says.

    python benchmarks/loopback.py        serves until its standard input ends; prints its port

POST /n=EVENTS/k=EVENTS_PER_CHUNK/d=MILLISECONDS/... answers with a stream of EVENTS text events. With a pause each event carries the time at
which it was written (`time.perf_counter_ns`), so that a client can tell its latency.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import ClassVar

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_BASE = {
    "id": "chatcmpl-0123456789abcdef",
    "object": "chat.completion.chunk",
    "created": 1760000000,
    "model": "bench-1",
    "system_fingerprint": "fp_0123456789",
}
_USAGE = {"prompt_tokens": 12, "completion_tokens": 256, "total_tokens": 268, "prompt_tokens_details": {"cached_tokens": 0}}


def frame(value: object) -> bytes:
    """One SSE frame."""
    return b"data: " + json.dumps(value, separators=(",", ":")).encode() + b"\n\n"


def delta(fields: dict[str, object], finish: str | None = None) -> bytes:
    """One chunk of choice 0."""
    return frame({**_BASE, "choices": [{"index": 0, "delta": fields, "logprobs": None, "finish_reason": finish}], "usage": None})


ROLE = delta({"role": "assistant", "content": ""})
END = (delta({}, "stop"), frame({**_BASE, "choices": [], "usage": _USAGE}), b"data: [DONE]\n\n")


def answer(events: int) -> list[bytes]:
    """The frames of an answer with this many text events."""
    return [ROLE, *(delta({"content": f" token{number % 100}"}) for number in range(events)), *END]


def reads(events: int, per_read: int) -> list[bytes]:
    """The same, as the reads that a client might see."""
    frames = answer(events)
    return [b"".join(frames[at : at + per_read]) for at in range(0, len(frames), per_read)]


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


class Provider(asyncio.Protocol):
    """Just enough HTTP/1.1 for one POST after the other."""

    _bodies: ClassVar[dict[tuple[int, int], bytes]] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.WriteTransport | None = transport  # type: ignore[assignment]  # a stream server gives write transports
        self._buffer = b""
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = self._buffer[:end].lower()
            length = next((int(line[15:]) for line in head.split(b"\r\n") if line.startswith(b"content-length:")), 0)
            if len(self._buffer) < end + 4 + length:
                return
            path = head.split(b" ", 2)[1].decode()
            self._buffer = self._buffer[end + 4 + length :]
            wanted = dict(part.split("=", 1) for part in path.split("/") if "=" in part)
            self._answer(int(wanted["n"]), int(wanted["k"]), float(wanted["d"]) / 1000)

    def _answer(self, events: int, per_chunk: int, pause: float) -> None:
        assert self._transport is not None
        if pause:
            task = asyncio.ensure_future(self._paced(events, pause))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            return
        if (events, per_chunk) not in self._bodies:
            self._bodies[events, per_chunk] = HEAD + b"".join(map(_chunk, reads(events, per_chunk))) + b"0\r\n\r\n"
        self._transport.write(self._bodies[events, per_chunk])

    async def _paced(self, events: int, pause: float) -> None:
        before, after = delta({"content": "@@"}).split(b"@@")
        loop = asyncio.get_running_loop()
        if self._transport is not None:
            self._transport.write(HEAD + _chunk(ROLE))
        due = loop.time() + pause
        for _ in range(events):
            await asyncio.sleep(max(0, due - loop.time()))
            due += pause
            if self._transport is None:
                return
            self._transport.write(_chunk(before + b"%d " % time.perf_counter_ns() + after))
        if self._transport is not None:
            self._transport.write(b"".join(map(_chunk, END)) + b"0\r\n\r\n")


async def _serve() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Provider, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)  # ends with whoever started us
    server.close()


if __name__ == "__main__":
    asyncio.run(_serve())
