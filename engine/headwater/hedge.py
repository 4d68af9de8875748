"""Two requests for one stream: where the first has no content after a while, a second, identical one is sent; the first content wins.

Each request is a `Delivery` with deadlines of its own, and a task of the engine's that waits for its first batch alone: by its contract that is
content or the end. After that the reader pulls from the winner directly, as without a race. The loser is closed by its own task.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING

import anyio

from headwater.delivery import CLOSE_TIME, Delivery, nothing_came
from headwater.groups import open_task_group
from headwater.telemetry import StreamLog
from headwater_codecs.neutral import ErrorInfo, Event, FailedAttempt, Response, StreamAborted, StreamFailed, error_info

if TYPE_CHECKING:
    from headwater.budget import RetryBudget
    from headwater.deadlines import Deadlines, Fired
    from headwater.engine import Engine


class Racer:
    """One of the requests, and the task that waits for its first batch."""

    def __init__(self, delivery: Delivery, deadlines: Deadlines) -> None:
        self.delivery = delivery
        self.deadlines = deadlines
        self.batch: Sequence[Event] | None = None
        self.error: Exception | None = None
        self.ready = False  # the first batch is there, or the error in its place
        self.lost = False
        self._scope = anyio.CancelScope()
        self._stopped: anyio.Event | None = None

    def start(self, engine: Engine, done: Callable[[Racer], None]) -> None:
        """Send the request; `done` is told when the first batch is there, or when none will come."""
        self._stopped = anyio.Event()
        engine.start_soon(self._run, done, name="headwater.hedge")

    def lose(self) -> None:
        """The other one answers: stop, and close."""
        self.lost = True
        self.delivery.let_go()
        self._scope.cancel()

    @property
    def failed(self) -> bool:
        """Whether it ended without any content."""
        return self.error is not None or (self.batch is not None and nothing_came(self.batch))

    @property
    def running(self) -> bool:
        """Whether its task is."""
        return self._stopped is not None and not self._stopped.is_set()

    def take(self) -> Sequence[Event] | None:
        """The first batch, once. Raises what the delivery raised."""
        batch, self.batch, error, self.error = self.batch, None, self.error, None
        if error is not None:
            raise error
        return batch

    async def aclose(self) -> None:
        """Stop the task and close the connection."""
        self._scope.cancel()
        await self.delivery.aclose()
        if self._stopped is not None:
            await self._stopped.wait()

    async def _run(self, done: Callable[[Racer], None]) -> None:
        assert self._stopped is not None
        try:
            with self._scope:
                self.batch = await self.delivery.next_batch()
                self.ready = True
        except Exception as error:  # told to whoever reads, as without a race
            self.error, self.ready = error, True
        finally:
            done(self)
            if self.lost:
                with anyio.move_on_after(CLOSE_TIME, shield=True):
                    await self.delivery.aclose()
            self._stopped.set()


class Race:
    """What a `Delivery` is to its stream, and its deadlines to the watchdog, for a stream with `hedge`.

    The second request is sent `after` seconds from the first pull on, unless the first has failed until then: its retry is the second request.
    It takes one from the retry budget.
    """

    fired = None  # the racers' own deadlines say; `check` asks them at every look

    def __init__(
        self, engine: Engine, delivery: Delivery, deadlines: Deadlines, response: Response, log: StreamLog, budget: RetryBudget, after: float
    ) -> None:
        self._engine = engine
        self._response = response
        self._log = log
        self._budget = budget
        self._after = after
        self._first = Racer(delivery, deadlines)
        self._racers = [self._first]
        self._started = self._closed = False
        self._winner: Racer | None = None
        self._taken = False
        self._hedge_at: float | None = None  # on the engine's clock
        self._news = anyio.Event()
        self._expired: list[Racer] = []

    @property
    def sent(self) -> int:
        """Events handed out."""
        return self._speaker.sent

    async def next_batch(self) -> Sequence[Event] | None:
        """The next events. A pull that is cancelled while nobody has won leaves the race as it is."""
        if not self._started and not self._closed:
            self._started = True
            self._hedge_at = self._engine.clock() + self._after
            self._first.start(self._engine, self._done)
        while self._winner is None:
            if self._closed or not any(racer.running for racer in self._racers):
                raise StreamAborted("the stream was closed before its end")
            self._news = anyio.Event()
            await self._news.wait()
        if not self._taken:
            self._taken = True
            return self._winner.take()
        return await self._winner.delivery.next_batch()

    def check(self, now: float) -> Fired | None:
        """The watchdog looks: send the second request where it is time; the deadline of either that has passed."""
        if self._hedge_at is not None and now >= self._hedge_at:
            self._hedge()
        fired: Fired | None = None
        for racer in self._racers:
            if not racer.lost and racer.deadlines.fired is None and racer.deadlines.check(now) is not None:
                fired = racer.deadlines.fired
                self._expired.append(racer)
        return fired

    def expire(self) -> Callable[[], Coroutine[object, object, None]] | None:
        """End the waits whose deadlines passed at the last look."""
        expired, self._expired = self._expired, []
        aborts = [abort for racer in expired if (abort := racer.delivery.expire()) is not None]

        async def all_of_them() -> None:
            async with open_task_group() as group:
                for abort in aborts:
                    group.start_soon(abort)

        return all_of_them if aborts else None

    def how_far(self, error: ErrorInfo) -> ErrorInfo:
        """The error with how far the stream got written into it."""
        return self._speaker.how_far(error)

    def close_nowait(self) -> bool:
        """Close without waiting, if there is nothing to wait for."""
        if any(racer.running for racer in self._racers) or not self._speaker.close_nowait():
            return False
        self._closed = True
        return True

    async def aclose(self) -> None:
        """Close both requests, at the same time."""
        self._closed = True
        self._hedge_at = None
        async with open_task_group() as group:
            for racer in self._racers:
                group.start_soon(racer.aclose)
        self._news.set()

    @property
    def _speaker(self) -> Delivery:
        return (self._winner or self._first).delivery

    def _hedge(self) -> None:
        """Send the second request, unless there is nothing to win or nothing to spend."""
        self._hedge_at = None
        if self._closed or self._winner is not None or self._response.failed_attempts or not self._budget.take():
            return
        second = Racer(*self._first.delivery.twin())
        self._racers.append(second)
        self._log.hedged(self._after)
        second.start(self._engine, self._done)

    def _done(self, racer: Racer) -> None:
        """One of them has its first batch, or was stopped without one."""
        if racer.ready and self._winner is None and not racer.lost:
            rivals = [other for other in self._racers if other is not racer and not other.ready]
            if racer.failed and rivals:
                self._out(racer)  # the other one may do better
            else:
                for other in rivals:
                    self._out(other)
                self._wins(racer)
        self._news.set()

    def _out(self, racer: Racer) -> None:
        """It does not answer: say so in the response, and close it."""
        last = racer.batch[-1] if racer.batch else None
        if not isinstance(last, StreamFailed):
            last = StreamFailed(error_info("aborted", "the other request had content first", phase="stream", retryable=False))
        self._note(racer.delivery.failed(last))
        racer.lose()

    def _wins(self, racer: Racer) -> None:
        self._winner = racer
        self._hedge_at = None
        if racer is not self._first:
            racer.delivery.answer_for(self._response, self._log)
        self._response.attempts = sum(each.delivery.requests for each in self._racers)

    def _note(self, failed: FailedAttempt) -> None:
        self._response.failed_attempts = (*self._response.failed_attempts, failed)
