"""A service that streams: a prompt in, server-sent events out. Any ASGI server, any client that speaks the OpenAI chat protocol.

    pip install 'headwater[local,service]'
    uvicorn asgi_service:app --app-dir examples
    curl -N localhost:8000/v1/chat/completions -d '{"prompt": "Why is the sky blue?", "max_tokens": 64}'

The body is an OpenAI chat body, or `{"prompt": "..."}` with the same further fields. The model is the body's, else HEADWATER_MODEL, else the
local one; HEADWATER_BASE_URL sends all of them to one server. What happens when something goes wrong:

- The client hangs up: the upstream stream is closed at once, also while it has not answered yet, so nobody pays for text that nobody reads.
- The provider fails before the first event: an HTTP status with the protocol's error body. Later: the error as the stream's last event.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import TypedDict

import anyio
import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

import headwater
from headwater_codecs.neutral import ErrorInfo, StreamFailed
from headwater_codecs.openai_chat.encode import ChatEncoder, encode_error
from headwater_providers.openai_chat.read_messages import request_from_chat_body

DEFAULT_MODEL = os.environ.get("HEADWATER_MODEL", "local/smollm2")
BASE_URL = os.environ.get("HEADWATER_BASE_URL")

# The status of an answer that failed before it began, where the provider gave none.
STATUS: Mapping[str, int] = {"configuration": 400, "malformed": 502, "truncated": 502, "network": 502, "timeout": 504, "overloaded": 503}


class State(TypedDict):
    """What lives as long as the service: one engine, with its pool of connections."""

    engine: headwater.Engine


@asynccontextmanager
async def lifespan(_: Starlette) -> AsyncGenerator[State]:
    """Open the engine when the service starts and close it, with every stream, when it stops."""
    async with headwater.Engine(timeouts=headwater.Timeouts(connect=10, first_content=120, idle=60)) as engine:
        yield {"engine": engine}


async def complete(request: Request) -> Response:
    """Start one answer. What is wrong with the request itself is answered here."""
    try:
        asked = read(await request.body())
        stream = request.state.engine.stream(asked)
    except headwater.ConfigurationError as error:
        return refusal(error.info)
    model = asked.model if isinstance(asked.model, str) else asked.model.id
    return StreamedAnswer(stream, ChatEncoder(model=model, id=f"chatcmpl-{secrets.token_hex(12)}", created=int(time.time())))


def read(body: bytes) -> headwater.Request:
    """The request that a body asks for. Raises ConfigurationError, naming what is wrong with it."""
    try:
        value = msgspec.json.decode(body, type=dict[str, object])
    except msgspec.DecodeError as error:
        raise headwater.ConfigurationError(f"the body is not a JSON object: {error}") from error
    prompt = value.pop("prompt", None)
    if isinstance(prompt, str):
        value["messages"] = [{"role": "user", "content": prompt}]
    for field in ("stream", "stream_options"):  # this service always streams
        value.pop(field, None)
    model = value.pop("model", None)
    return request_from_chat_body(value, headwater.Model(model if isinstance(model, str) else DEFAULT_MODEL, base_url=BASE_URL))


def refusal(error: ErrorInfo) -> Response:
    """A failure as an HTTP answer in the protocol's own form."""
    headers = {"retry-after": f"{error.retry_after:.0f}"} if error.retry_after is not None else None
    return Response(encode_error(error), error.status or STATUS.get(error.kind, 500), headers, "application/json")


class StreamedAnswer(Response):
    """The events of a stream as they come. Whatever ends first, the stream or the client, ends the other."""

    media_type = "text/event-stream"

    def __init__(self, stream: headwater.Stream, encoder: ChatEncoder) -> None:
        self._stream = stream
        self._encoder = encoder
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]  # nobody knows it

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer. The listener for the hang-up runs from the start: before the first event, sending would not notice it."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._hung_up, receive, group.cancel_scope)
            await self._answer(scope, receive, send)
            group.cancel_scope.cancel()

    async def _hung_up(self, receive: Receive, answer: anyio.CancelScope) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        answer.cancel()  # leaves the stream's block below, which closes the upstream

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False
        async with self._stream as stream:
            while (batch := await stream.next_batch()) is not None:
                if isinstance(failed := batch[-1], StreamFailed) and not stream.response.blocks:
                    await refusal(failed.error)(scope, receive, send)
                    return
                if data := self._encoder.feed(batch):
                    if not begun:
                        begun = True
                        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                    await send(body(data, more=True))
        await send(body(self._encoder.finish(), more=False))


def body(data: bytes, *, more: bool) -> Message:
    """One piece of the answer's body."""
    return {"type": "http.response.body", "body": data, "more_body": more}


app = Starlette(routes=[Route("/v1/chat/completions", complete, methods=["POST"])], lifespan=lifespan)
