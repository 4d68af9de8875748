"""`stream` and `complete`: an engine's streams as events and messages of or's `llm`. Rows OR-CL-01 to 04; AMB-22, 65, 66.

The view adds no task, no channel and no lock: it translates what a pull brings. Back-pressure, deadlines, cancellation and closing are the stream's.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Self, Unpack

from headwater.engine import Engine
from headwater.stream import Stream
from headwater.views.messages.events import MessageEvent
from headwater.views.messages.request import RequestFields, to_request
from headwater.views.messages.types import AssistantMessage, Context
from headwater.views.messages.usage import CostOf
from headwater.views.messages.writer import MessageWriter, Parity
from headwater_codecs.neutral import Model, error_info


class MessageStream:
    """The events of one answer; use it with `async with`. The last one is `Done` or `Error`, once; a failed answer does not raise while you iterate.

    `message` is what was received, at any moment and after the block; left before the end, its stop reason is `aborted`.
    """

    def __init__(self, stream: Stream, *, cost: CostOf | None = None, parity: Parity | None = None) -> None:
        self._stream = stream
        self._writer = MessageWriter(stream.response, cost=cost, parity=parity)
        self._ready: Iterator[MessageEvent] = iter(())

    @property
    def message(self) -> AssistantMessage:
        """The answer so far; the whole one after the terminal event."""
        return self._writer.message

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        try:
            await self._stream.__aexit__(kind, error, traceback)
        finally:
            self._writer.fail(self._stream.response.error or error_info("aborted", "the answer was left before its end"))

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> MessageEvent:
        while True:
            for event in self._ready:  # an iterator over the events of the last read: it goes on where it stopped
                return event
            batch = await self._stream.next_batch()
            if batch is None:
                raise StopAsyncIteration
            self._ready = iter(self._writer.feed(batch))

    async def result(self, *, raise_on_error: bool = True) -> AssistantMessage:
        """Read to the end. Raises the typed error of an answer that failed, unless told to hand over the message whatever happened."""
        async for _ in self:
            pass
        if raise_on_error and (error := self._writer.error) is not None:
            self._stream.raise_for_error()  # with the transport's exception as the cause
            raise error
        return self.message


def stream(
    engine: Engine,
    model: Model | str,
    context: Context,
    *,
    cost: CostOf | None = None,
    parity: Parity | None = None,
    **fields: Unpack[RequestFields],
) -> MessageStream:
    """Ask a model to go on with a conversation. `fields` are those of `Request`; `cost` prices the usage; `parity` asks for or's own ways.

    Raises ConfigurationError for what is wrong without the network; from connecting on, the terminal event tells (OR-CL-02). For what only an
    engine's stream takes (fallbacks, hedging), wrap one: `MessageStream(engine.stream(to_request(model, context), hedge=2))`.
    """
    return MessageStream(engine.stream(to_request(model, context, **fields)), cost=cost, parity=parity)


async def complete(
    engine: Engine,
    model: Model | str,
    context: Context,
    *,
    raise_on_error: bool = True,
    cost: CostOf | None = None,
    parity: Parity | None = None,
    **fields: Unpack[RequestFields],
) -> AssistantMessage:
    """The whole answer. Raises the typed error of a failed one; with `raise_on_error=False` its message tells: `stop_reason`, `error_message`."""
    async with stream(engine, model, context, cost=cost, parity=parity, **fields) as answer:
        return await answer.result(raise_on_error=raise_on_error)
