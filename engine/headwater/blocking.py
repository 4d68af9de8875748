"""The engine for scripts without an event loop: one thread runs one loop and one engine, started on first use, stopped at exit."""

from __future__ import annotations

import atexit
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from threading import Lock
from types import TracebackType
from typing import Self, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

from headwater.engine import Engine
from headwater.stream import Stream
from headwater_codecs.neutral import Event, Request, Response, TextDelta

T = TypeVar("T")


class _Background:
    """The thread, its loop and its engine."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._opened: AbstractContextManager[BlockingPortal] | None = None
        self._engine_context: AbstractContextManager[Engine] | None = None
        self.portal: BlockingPortal | None = None
        self._engine: Engine | None = None

    def engine(self) -> tuple[BlockingPortal, Engine]:
        """The portal and the engine behind it, started when they are not."""
        with self._lock:
            if self.portal is None or self._engine is None:
                opened = start_blocking_portal()
                portal = opened.__enter__()
                context = portal.wrap_async_context_manager(Engine())
                self._engine = context.__enter__()
                self._opened, self.portal, self._engine_context = opened, portal, context
                atexit.register(self.stop)
            return self.portal, self._engine

    def stop(self) -> None:
        """Close the engine and end the thread. The next use starts both anew."""
        with self._lock:
            context, opened, portal = self._engine_context, self._opened, self.portal
            self._opened = self._engine_context = self.portal = self._engine = None
            atexit.unregister(self.stop)
            if context is None or opened is None or portal is None:
                return
            try:
                context.__exit__(None, None, None)
            finally:
                portal.call(portal.stop, True)  # a stream whose block nobody leaves any more would keep the thread
                opened.__exit__(None, None, None)


_BACKGROUND = _Background()


def _call(portal: BlockingPortal, function: Callable[[], Awaitable[T]]) -> T:
    """Run it in the loop and wait. An interrupt (Ctrl-C) that ends the waiting cancels what runs."""
    future = portal.start_task_soon(function)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


def generate_sync(request: Request, *, raise_on_error: bool = True) -> Response:
    """`Engine.generate` without an event loop, over one background thread."""
    portal, engine = _BACKGROUND.engine()

    async def generate() -> Response:
        return await engine.generate(request, raise_on_error=raise_on_error)

    return _call(portal, generate)


def stream_sync(request: Request) -> SyncStream:
    """`Engine.stream` without an event loop: `with stream_sync(request) as stream: for event in stream: ...`."""
    portal, engine = _BACKGROUND.engine()
    return SyncStream(portal, portal.call(engine.stream, request))


class SyncStream:
    """A stream read from a plain thread. It crosses to the loop once per batch, not once per event; leaving the block closes the connection."""

    def __init__(self, portal: BlockingPortal, stream: Stream) -> None:
        self._portal = portal
        self._stream = stream
        self._context = portal.wrap_async_context_manager(stream)
        self._ready: Iterator[Event] = iter(())

    @property
    def response(self) -> Response:
        """What was received so far."""
        return self._stream.response

    def __enter__(self) -> Self:
        self._context.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._context.__exit__(kind, error, traceback)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        for event in self._ready:
            return event
        batch: Sequence[Event] | None = _call(self._portal, self._stream.next_batch)
        if batch is None:
            raise StopIteration
        self._ready = iter(batch)
        return next(self._ready)

    def text_deltas(self) -> Iterator[str]:
        """The answer's text, piece by piece. Raises the typed error of a failed stream at its end."""
        for event in self:
            if type(event) is TextDelta and self._stream.choice_of(event.index) == 0:
                yield event.text
        self._stream.raise_for_error()
