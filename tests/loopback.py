"""A scripted provider on a loopback socket: one answer per connection, written by the test, with a record of who asked and who hung up."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
from anyio.abc import ByteStream, SocketAttribute


@dataclass
class Asked:
    """One request as it came: `line` is its method and target. `hung_up` is set when the client closes before the answer is over."""

    body: dict[str, object]
    headers: dict[str, str]
    line: str = ""
    hung_up: anyio.Event = field(default_factory=anyio.Event)

    @property
    def prompt(self) -> str:
        """The text of the last message."""
        messages = self.body["messages"]
        assert isinstance(messages, list)
        content = messages[-1]["content"]
        return content if isinstance(content, str) else str(content[0]["text"])


class Reply:
    """How a script answers."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream

    async def send(self, data: bytes) -> None:
        """Raw bytes."""
        await self._stream.send(data)

    async def whole(self, status: int, body: bytes, content_type: str = "application/json", **headers: str) -> None:
        """A whole answer with its length."""
        lines = [f"HTTP/1.1 {status} Scripted", f"content-type: {content_type}", f"content-length: {len(body)}", "connection: close"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self.send("\r\n".join([*lines, "", ""]).encode() + body)

    async def begin(self) -> None:
        """The head of an event stream that ends when the connection closes."""
        await self.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")

    async def chat(self, *pieces: str, finish: str = "stop", tokens: tuple[int, int] = (3, 2)) -> None:
        """A whole chat stream with these text deltas."""
        await self.begin()
        await self.send(b"".join(map(delta, pieces)) + ending(finish, tokens))


class Loopback:
    """The server: where it is, what it was asked, how many requests it had at the same time."""

    def __init__(self, script: Callable[[Asked, Reply], Awaitable[None]]) -> None:
        self.base_url = ""
        self.asked: list[Asked] = []
        self.active = 0
        self.peak = 0
        self._script = script
        self._more = anyio.Event()

    async def busy(self, requests: int) -> None:
        """Wait until so many requests are in flight."""
        while self.active < requests:
            await self._more.wait()

    @property
    def prompts(self) -> list[str]:
        """The last message of every request, in the order in which they came."""
        return [asked.prompt for asked in self.asked]

    async def handle(self, stream: ByteStream) -> None:
        """One connection: read the request, run the script, close."""
        async with stream:
            asked = await _read_request(stream)
            if asked is None:
                return
            self.asked.append(asked)
            self.active += 1
            self.peak = max(self.peak, self.active)
            self._more.set()
            self._more = anyio.Event()
            try:
                async with anyio.create_task_group() as group:
                    group.start_soon(_watch, stream, asked, group.cancel_scope)
                    await self._answer(asked, Reply(stream))
                    group.cancel_scope.cancel()
            finally:
                self.active -= 1

    async def _answer(self, asked: Asked, reply: Reply) -> None:
        try:
            await self._script(asked, reply)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            asked.hung_up.set()


@asynccontextmanager
async def loopback(script: Callable[[Asked, Reply], Awaitable[None]]) -> AsyncGenerator[Loopback]:
    """Run the script for every connection while the block runs."""
    server = Loopback(script)
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as group:
        server.base_url = f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}/v1"
        group.start_soon(listener.serve, server.handle)
        yield server
        group.cancel_scope.cancel()


async def refused_url() -> str:
    """An address on which nobody listens."""
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        return f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}/v1"


def delta(text: str) -> bytes:
    """One text delta."""
    return _event({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]})


def ending(finish: str = "stop", tokens: tuple[int, int] = (3, 2)) -> bytes:
    """The finish reason, the usage, and the end."""
    read, written = tokens
    usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
    return _event({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}) + _event({"choices": [], "usage": usage}) + b"data: [DONE]\n\n"


def _event(fields: dict[str, object]) -> bytes:
    chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted-1", **fields}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


async def _read_request(stream: ByteStream) -> Asked | None:
    data = b""
    try:
        while b"\r\n\r\n" not in data:
            data += await stream.receive()
        head, _, body = data.partition(b"\r\n\r\n")
        line, *lines = head.decode().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        while len(body) < int(headers.get("content-length", 0)):
            body += await stream.receive()
    except (anyio.EndOfStream, anyio.BrokenResourceError):
        return None
    return Asked(json.loads(body or b"{}"), headers, line.rpartition(" ")[0])


async def _watch(stream: ByteStream, asked: Asked, script: anyio.CancelScope) -> None:
    """The client says nothing more: what comes is its hang-up."""
    try:
        await stream.receive()
    except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
        asked.hung_up.set()
        script.cancel()
