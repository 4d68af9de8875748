"""All attempts at one request as one source of event batches.

Nothing of an attempt is handed out before its first content or its terminal, so an attempt that failed before can be dropped without a trace
and made again. After the first content there is no second attempt.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING

import anyio
from anyio.abc import TaskGroup

from headwater.actors import Actor
from headwater.attempt import Attempt
from headwater.decode import measured
from headwater.retry import Retry
from headwater.telemetry import StreamLog
from headwater_codecs.framing import Fault, Framing
from headwater_codecs.neutral import (
    NO_PROGRESS,
    TERMINALS,
    ErrorInfo,
    Event,
    HeadwaterError,
    Response,
    StreamFailed,
    error_info,
)
from headwater_codecs.sse import Frame
from headwater_providers.adapter import HttpRequest, Translator

if TYPE_CHECKING:
    from headwater.deadlines import Deadlines
    from headwater.plan import Plan
    from headwater.transport.base import Clock

# Response headers that are kept: limits, request ids, times. Nothing that could hold a secret.
KEPT_HEADERS = (
    "x-ratelimit-",
    "ratelimit-",
    "anthropic-ratelimit-",
    "x-request-id",
    "request-id",
    "x-amzn-requestid",
    "apim-request-id",
    "retry-after",
    "openai-processing-ms",
    "date",
)
REQUEST_IDS = ("x-request-id", "request-id", "x-amzn-requestid", "apim-request-id", "cf-ray")


class Delivery:
    """The attempts of one stream. `plan` says how to build a request and what reads it, `staged` how its stages run."""

    def __init__(
        self,
        plan: Plan,
        response: Response,
        deadlines: Deadlines,
        retry: Retry,
        clock: Clock,
        started: float,
        log: StreamLog,
        *,
        group: TaskGroup | None,
    ) -> None:
        self.over = False
        self.failed_attempts: list[ErrorInfo] = []
        self._plan = plan
        self._response = response
        self._deadlines = deadlines
        self._retry = retry
        self._clock = clock
        self._started = started
        self._log = log
        self._group = group  # the stages run as actors of this group; None: inside the pull
        self._attempt: Attempt | None = None
        self._translator: Translator | None = None
        self._reading: Reading | None = None  # the fused stages
        self._parser: Actor[bytes | Fault, Frame | Fault] | None = None  # or the actors
        self._translation: Actor[Frame | Fault, Event] | None = None
        self._committed = False
        self._settled = False
        self._sent = 0
        self._progress = 0
        self._random: Callable[[], float] = random.random

    async def next_batch(self) -> Sequence[Event] | None:
        """The next events; None after the terminal. Never raises for what goes wrong from connecting on."""
        while not self.over:
            if self._attempt is None or self._attempt.response is None:
                batch = await self._open()
            elif self._reading is not None:
                batch = self._reading.feed(await self._attempt.next_batch())
            else:
                batch = await self._from_actors()
            self._watch(batch)
            if not batch:
                continue
            failure = batch[-1]
            if not self._committed:
                if type(failure) is StreamFailed and self._nothing_came(batch) and await self._again(failure.error):
                    continue
                self._commit()
            self._sent += len(batch)
            if type(failure) is StreamFailed:
                batch = [*batch[:-1], self._measured(failure)]
            if type(failure) in TERMINALS:
                self.over = True
                self._response.timing.end = self._clock() - self._started
            return batch
        return None

    def expire(self) -> Callable[[], Coroutine[object, object, None]] | None:
        """A deadline fired. Gives back what must be awaited to end a pending read, if anything must."""
        response = self._attempt.expire() if self._attempt is not None else None
        return response.abort if response is not None else None

    def close_nowait(self) -> bool:
        """Close without waiting, if there is nothing to wait for: no actor, and a connection whose response has ended."""
        return self._parser is None and (self._attempt is None or self._attempt.close_nowait())

    async def aclose(self) -> None:
        """Stop the stages and close the connection."""
        for actor in (self._translation, self._parser):
            if actor is not None:
                await actor.aclose()
        self._translation = self._parser = None
        if self._attempt is not None:
            await self._attempt.aclose(drain=self.over)

    async def _from_actors(self) -> Sequence[Event]:
        assert self._translation is not None
        batch = await self._translation.next_batch()
        return batch if batch is not None else self._no_terminal()

    def _no_terminal(self) -> Sequence[Event]:
        """A translator always ends with a terminal; this guards a faulty one."""
        assert self._translator is not None
        return self._translator.fail(error_info("internal", "the translator ended without a terminal event"))

    async def _open(self) -> Sequence[Event]:
        self._translator = translator = self._plan.translator()
        self._attempt = attempt = Attempt(self._deadlines, self._clock, self._response.timing, self._started)
        self._progress = 0
        try:
            request = await self._plan.request()
            await attempt.open(self._plan.transport, request)
            response = attempt.response
            assert response is not None
            self._read_headers(response.status, response.headers)
            if not 200 <= response.status < 300:
                return translator.fail(await self._refusal(attempt))
        except HeadwaterError as error:
            self._log.cause(error)
            return translator.fail(error.info)
        self._start_reading(attempt, translator)
        return ()

    async def _refusal(self, attempt: Attempt) -> ErrorInfo:
        response = attempt.response
        assert response is not None
        info = self._plan.adapter.read_error(response.status, response.headers, await attempt.error_body())
        return info.with_(phase="headers", request_id=info.request_id or self._response.request_id)

    def _start_reading(self, attempt: Attempt, translator: Translator) -> None:
        """Put parser and translator behind the attempt's bytes: fused, or as two actors."""
        assert attempt.response is not None
        headers = attempt.response.headers
        framing = Framing(self._plan.adapter.format, headers.get("content-type", ""), headers.get("content-encoding", ""), self._plan.max_frame)
        if self._group is None:
            self._reading = Reading(framing, translator)
            return
        self._parser = Actor(attempt, framing, "headwater.parser")
        self._translation = Actor(self._parser.start(self._group), translator, "headwater.translator").start(self._group)

    def _read_headers(self, status: int, headers: Mapping[str, str]) -> None:
        self._response.headers = {name: value for name, value in headers.items() if name.startswith(KEPT_HEADERS)}
        self._response.request_id = next((headers[name] for name in REQUEST_IDS if name in headers), None)
        if self._plan.on_response is not None:
            self._plan.on_response(status, dict(self._response.headers))

    def _watch(self, batch: Sequence[Event]) -> None:
        """Tell the deadlines what this batch means: progress, or nothing but usage to come."""
        translator = self._translator
        assert translator is not None
        if batch and (type(batch[-1]) not in NO_PROGRESS or any(type(event) not in NO_PROGRESS for event in batch)):
            self._deadlines.progress()
            timing = self._response.timing
            timing.last_content = self._clock() - self._started
            if timing.first_content is None:
                timing.first_content = timing.last_content
        elif translator.progress != self._progress:
            self._deadlines.progress()
        self._progress = translator.progress
        if translator.settled and not self._settled:
            self._settled = True
            self._deadlines.arm("grace", self._clock())

    def _measured(self, failed: StreamFailed) -> StreamFailed:
        received = self._attempt.received if self._attempt is not None else 0
        return measured(failed, self._sent, received, self._response.request_id)

    def _nothing_came(self, batch: Sequence[Event]) -> bool:
        return type(batch[-1]) is StreamFailed and all(type(event) in NO_PROGRESS for event in batch[:-1])

    async def _again(self, error: ErrorInfo) -> bool:
        """Whether the failed attempt is dropped for another one; waits until it is time for it."""
        failed = len(self.failed_attempts) + 1
        wait = self._retry.delay(error, failed, self._deadlines.remaining_total(self._clock()), self._random)
        if wait is None or self._deadlines.fired == "total":
            return False
        await self.aclose()
        self._deadlines.fired = None
        self.failed_attempts.append(error)
        self._attempt = self._translator = self._reading = None
        self._log.retried(error, failed, wait)
        await anyio.sleep(wait)
        self._response.attempts = failed + 1
        return True

    def _commit(self) -> None:
        if not self._committed:
            self._committed = True
            assert self._translator is not None
            self._response.diagnostics = self._translator.diagnostics


class Reading:
    """Framing and translator fused: bytes in, events out."""

    def __init__(self, framing: Framing, translator: Translator) -> None:
        self._framing = framing
        self._translator = translator

    def feed(self, batch: Sequence[bytes | Fault] | None, /) -> Sequence[Event]:
        """The events of these bytes; None says that the bytes have ended."""
        if batch is not None:
            return self._translator.feed(self._framing.feed(batch))
        return [*self._translator.feed(self._framing.finish()), *self._translator.finish()]
