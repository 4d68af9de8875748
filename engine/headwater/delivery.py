"""All attempts at one request as one source of event batches: retries of a model, then the models to fall back to.

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
from headwater.budget import RetryBudget
from headwater.decode import measured
from headwater.reading import Parsing, Reading, Translating
from headwater.retry import Retry
from headwater.telemetry import StreamLog
from headwater_codecs.framing import BoundedFraming, Fault, Framing
from headwater_codecs.neutral import (
    NO_PROGRESS,
    TERMINALS,
    ChoiceEnd,
    ErrorInfo,
    Event,
    FailedAttempt,
    HeadwaterError,
    RefusalEnd,
    Response,
    StreamFailed,
    TextEnd,
    error_info,
)
from headwater_codecs.sse import Frame
from headwater_providers.adapter import Translator
from headwater_providers.response_headers import kept_headers, request_id

if TYPE_CHECKING:
    from headwater.deadlines import Deadlines
    from headwater.plan import Plan
    from headwater.transport.base import Clock

NO_CONTENT = NO_PROGRESS | TERMINALS | {TextEnd, RefusalEnd, ChoiceEnd}  # progress perhaps, but nothing of the answer
CLOSE_TIME = 2.0  # seconds within which a dropped attempt is closed
NO_TERMINAL = "the translator ended without a terminal event"


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
        budget: RetryBudget,
        fallbacks: Sequence[Plan] = (),
        group: TaskGroup | None,
    ) -> None:
        self.over = False
        self.sent = 0  # events handed out
        self.requests = 0  # made so far
        self._plan = plan
        self._response = response
        self._deadlines = deadlines
        self._retry = retry
        self._clock = clock
        self._started = started
        self._log = log
        self._budget = budget
        self._fallbacks = fallbacks  # those that were not asked yet
        self._failed = 0  # attempts at the present plan
        self._group = group  # the stages run as actors of this group; None: inside the pull
        self._attempt: Attempt | None = None
        self._translator: Translator | None = None
        self._reading: Reading | None = None  # the fused stages
        self._parser: Actor[bytes | Fault, Frame | Fault] | None = None  # or the actors
        self._translation: Actor[Frame | Fault, Event] | None = None
        self._committed = False
        self._settled = False
        self._progress = 0
        self._closed = False
        self._resume_at: float | None = None  # on the event loop's clock: when the back-off is over
        self._wake: anyio.Event | None = None  # ends the back-off early
        self._random: Callable[[], float] = random.random

    async def next_batch(self) -> Sequence[Event] | None:
        """The next events; None after the terminal. Never raises for what goes wrong from connecting on."""
        while not self.over:
            if (reading := self._reading) is not None:
                assert self._attempt is not None
                data = await self._attempt.next_batch()
                batch = reading.feed(data)
                self._watch(batch)
                if data is None and not (batch and type(batch[-1]) in TERMINALS):
                    raise HeadwaterError(NO_TERMINAL)
            elif self._translation is not None:
                batch = await self._from_actor(self._translation)
            else:
                batch = await self._open()
            if not batch:
                continue
            last = batch[-1]
            if type(last) in TERMINALS:
                if isinstance(last, StreamFailed):
                    if self._attempt is not None and self._attempt.failure is not None:
                        self._log.cause(self._plan.shown_cause(self._attempt.failure))
                    if not self._committed and nothing_came(batch) and await self._again(last):
                        continue
                    batch = [*batch[:-1], self._measured(last, self.sent + len(batch))]
                elif self._budget.left < self._budget.retries:
                    self._budget.give_back()
                self.over = True
                self._response.timing.end = self._clock() - self._started
            self.sent += len(batch)
            if not self._committed:
                self._commit()
            return batch
        return None

    def expire(self) -> Callable[[], Coroutine[object, object, None]] | None:
        """A deadline fired. Gives back what must be awaited to end a pending read, if anything must."""
        if self._wake is not None:
            self._wake.set()
        if self.over or self._closed or self._attempt is None:
            return None
        return self._attempt.expire()

    def close_nowait(self) -> bool:
        """Close without waiting, if there is nothing to wait for: no actor, and a connection whose response has ended."""
        if self._parser is not None or (self._attempt is not None and not self._attempt.close_nowait()):
            return False
        self._give_up()
        return True

    async def aclose(self) -> None:
        """Stop the stages and close the connection. Who pulls in another task gets StreamFailed of kind `aborted`."""
        self._give_up()
        await self._stop_actors()
        if self._attempt is not None:
            await self._attempt.aclose(drain=self.over)

    def _give_up(self) -> None:
        self._closed = True
        if self._wake is not None:
            self._wake.set()

    async def _stop_actors(self) -> None:
        actors = [actor for actor in (self._translation, self._parser) if actor is not None]
        self._translation = self._parser = None
        for actor in actors:
            actor.cancel()
        for actor in actors:
            await actor.aclose()

    async def _from_actor(self, translation: Actor[Frame | Fault, Event]) -> Sequence[Event]:
        batch = await translation.next_batch()
        if batch is None:
            raise HeadwaterError(NO_TERMINAL)
        return batch

    async def _open(self) -> Sequence[Event]:
        if self._resume_at is not None and not self._closed:
            await self._back_off(self._resume_at)
        if self._attempt is not None:  # the pull that opened it was cancelled: its request is gone
            await self._drop()
        self._translator = translator = self._plan.translator()
        if self._closed:
            return translator.fail(error_info("aborted", "the stream was closed before its end", phase="stream", retryable=False))
        self._attempt = attempt = Attempt(self._deadlines, self._clock, self._response.timing, self._started)
        self._begin()
        try:
            await attempt.open(self._plan)
            response = attempt.response
            assert response is not None
            self._read_headers(response.status, response.headers)
            if not 200 <= response.status < 300:
                return translator.fail(await self._refusal(attempt))
        except HeadwaterError as error:
            self._log.cause(self._plan.shown_cause(error))
            return translator.fail(error.info)
        self._start_reading(attempt, translator)
        return ()

    def _begin(self) -> None:
        """Nothing of an earlier attempt is said of this one."""
        self._progress = 0
        self._settled = False
        self._log.cause(None)
        self.requests += 1
        self._response.attempts = self.requests
        self._response.headers, self._response.request_id = {}, None

    async def _back_off(self, until: float) -> None:
        """Wait for the next attempt's time. A cancelled pull leaves the rest of the wait to the next one."""
        self._wake = anyio.Event()
        with anyio.move_on_after(until - anyio.current_time()):
            await self._wake.wait()
        self._resume_at = self._wake = None

    async def _drop(self) -> None:
        """Close the attempt, whatever is cancelled meanwhile."""
        attempt, self._attempt, self._reading = self._attempt, None, None
        with anyio.move_on_after(CLOSE_TIME, shield=True):
            await self._stop_actors()
            if attempt is not None:
                await attempt.aclose()

    async def _refusal(self, attempt: Attempt) -> ErrorInfo:
        response = attempt.response
        assert response is not None
        info = self._plan.adapter.read_error(response.status, response.headers, await attempt.error_body())
        return info.with_(phase="headers", request_id=info.request_id or self._response.request_id)

    def _start_reading(self, attempt: Attempt, translator: Translator) -> None:
        """Put parser and translator behind the attempt's bytes: fused, or as two actors."""
        assert attempt.response is not None
        headers = attempt.response.headers
        plan = self._plan
        told = plan.adapter.format, headers.get("content-type", ""), headers.get("content-encoding", ""), plan.max_frame
        framing = Framing(*told) if plan.max_answer is None else BoundedFraming(plan.max_answer, *told)
        if self._group is None:
            self._reading = Reading(framing, translator)
            return
        parser = Parsing(framing, self._deadlines)
        judge = Translating(translator, self._watch, self._deadlines, self._clock)
        self._parser = Actor(attempt, parser, "headwater.parser").start(self._group)
        self._translation = Actor(self._parser, judge, "headwater.translator").start(self._group)

    def _read_headers(self, status: int, headers: Mapping[str, str]) -> None:
        self._response.headers = kept_headers(headers)
        self._response.request_id = request_id(headers)
        self._plan.answered(status, self._response.headers)

    def _watch(self, batch: Sequence[Event]) -> None:
        """Tell the deadlines what this batch means: progress, or nothing but usage to come."""
        translator = self._translator
        assert translator is not None
        if batch and (type(batch[-1]) not in NO_CONTENT or not NO_CONTENT.issuperset(map(type, batch))):
            self._deadlines.progress()
            timing = self._response.timing
            timing.last_content = self._clock() - self._started
            if timing.first_content is None:
                timing.first_content = timing.last_content
        elif translator.progress != self._progress or not NO_PROGRESS.issuperset(map(type, batch)):
            self._deadlines.progress()
        self._progress = translator.progress
        if translator.settled and not self._settled:
            self._settled = True
            self._deadlines.arm("grace", self._clock())

    def how_far(self, error: ErrorInfo) -> ErrorInfo:
        """The error with how far the stream got written into it; whoever asks ends the stream with it."""
        if self._response.timing.end is None:
            self._response.timing.end = self._clock() - self._started
        return self._measured(StreamFailed(error), self.sent).error

    def failed(self, last: StreamFailed) -> FailedAttempt:
        """The present attempt as one that failed, for the record."""
        told = self._measured(last, 0)
        target = self._plan.target
        return FailedAttempt(target.provider, target.model, told.error, told.usage)

    def twin(self) -> tuple[Delivery, Deadlines]:
        """The same request beside this one, with deadlines of its own; it is neither retried nor falls back."""
        response, deadlines, log = Response(), self._deadlines.fresh(), self._log.twin()
        once = Retry(attempts=0)
        other = Delivery(self._plan.twin(), response, deadlines, once, self._clock, self._started, log, budget=self._budget, group=self._group)
        return other, deadlines

    def answer_for(self, response: Response, log: StreamLog) -> None:
        """From here on this delivery is the one that tells: what it knows of its request is said of that response."""
        own, self._response = self._response, response
        response.timing, response.headers, response.request_id, response.diagnostics = own.timing, own.headers, own.request_id, own.diagnostics
        log.cause(self._log.last_cause)
        self._log = log

    def let_go(self) -> None:
        """Another delivery answers: nothing that still happens here is said of the response."""
        self._response, self._log = Response(), self._log.twin()

    def _measured(self, failed: StreamFailed, events: int) -> StreamFailed:
        received = self._attempt.received if self._attempt is not None else 0
        failed = measured(failed, events, received, self._response.request_id)
        return StreamFailed(self._plan.without_secrets(failed.error), failed.raw_finish_reason, failed.usage)

    async def _again(self, last: StreamFailed) -> bool:
        """Whether the failed attempt is dropped for another one, of this model or of the next."""
        if self._closed or self._deadlines.fired == "total" or not self._next(last):
            return False
        await self._drop()
        self._deadlines.restart()
        return True

    def _next(self, last: StreamFailed) -> bool:
        """Decide what comes after a failure, and note it; False where nothing does."""
        error = last.error
        self._failed += 1
        wait = self._retry.delay(error, self._failed, self._deadlines.remaining_total(self._clock()), self._random)
        if wait is not None and self._budget.take():
            self._note(last)
            self._resume_at = anyio.current_time() + wait
            self._log.retried(error, self._failed, wait)
            return True
        if not self._fallbacks or not self._retry.falls_back(error):
            return False
        self._note(last)
        self._plan, *self._fallbacks = self._fallbacks
        self._failed = 0
        target, response = self._plan.target, self._response
        response.provider, response.protocol, response.requested_model = target.provider, target.protocol, target.model
        self._log.fell_back(error, target.provider, target.model)
        return True

    def _note(self, last: StreamFailed) -> None:
        self._response.failed_attempts = (*self._response.failed_attempts, self.failed(last))

    def _commit(self) -> None:
        self._committed = True
        assert self._translator is not None
        self._response.diagnostics = self._translator.diagnostics


def nothing_came(batch: Sequence[Event]) -> bool:
    """Whether these, the first events of a stream, say no more than that it failed."""
    return type(batch[-1]) is StreamFailed and all(type(event) in NO_PROGRESS for event in batch[:-1])
