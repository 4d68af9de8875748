"""The last links of a stream's chain: the aggregator as a stage that cannot break the stream, and the guarantee of one terminal event.

Whatever the stages do (raise, send illegal events, swallow the terminal), what came before stays lawful and StreamFailed follows, once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headwater.actors import Source
from headwater.aggregate import Aggregator
from headwater.fanout import TWO_READERS
from headwater.telemetry import StreamLog
from headwater_codecs.neutral import TERMINALS, ConfigurationError, ErrorInfo, Event, StreamAborted, error_info

HowFar = Callable[[ErrorInfo], ErrorInfo]  # writes into an error how far the stream got


class Folding:
    """The aggregator as a stage: an illegal event of a stage ends the stream with StreamFailed of kind `internal`."""

    def __init__(self, aggregator: Aggregator, how_far: HowFar) -> None:
        self._aggregator = aggregator
        self._how_far = how_far

    @property
    def done(self) -> bool:
        """True once the terminal event is folded."""
        return self._aggregator.state == "ended"

    def feed(self, batch: Sequence[Event], /) -> Sequence[Event]:
        """Fold the batch and pass it on."""
        try:
            return self._aggregator.feed(batch)
        except Exception as error:
            good = list(batch[: self._aggregator.folded])
            return good + self._aggregator.abort(self._how_far(_internal(error)))

    def finish(self) -> Sequence[Event]:
        """The stages have ended; without a terminal event one of them swallowed it."""
        return self._aggregator.abort(self._how_far(error_info("internal", "a stage ended the stream without its terminal event", phase="stream")))


class Ending:
    """The last link. It folds, unless an actor did, and then that aggregate may be ahead of what was read here. One task reads it at a time.

    Where an actor folds, this link says nothing of an end that came from our side: the hub, which knows what its listeners were given, does.

    `handover` is set while the first listener comes during a pull: it takes what that pull brings (None if it was cancelled).
    """

    def __init__(self, source: Source[Event], folding: Folding | None, aggregator: Aggregator, how_far: HowFar, log: StreamLog) -> None:
        self.reading = False
        self.handover: Callable[[Sequence[Event] | None], None] | None = None
        self._source = source
        self._folding = folding
        self._aggregator = aggregator
        self._how_far = how_far
        self._log = log
        self._events = 0
        self._over = False

    async def next_batch(self) -> Sequence[Event] | None:
        """The next events; an exception of a stage becomes StreamFailed. Raises ConfigurationError when two tasks read at once."""
        if self._over:
            return None
        if self.reading:
            raise ConfigurationError(TWO_READERS)
        self.reading = True
        batch: Sequence[Event] | None = None
        try:
            batch = await self._source.next_batch()
            if self._folding is not None:
                batch = self._folding.feed(batch) if batch is not None else self._folding.finish()
        except Exception as error:
            self._log.cause(error)
            words = self._aggregator.abort(self._how_far(error.info if isinstance(error, StreamAborted) else _internal(error)))
            batch = words if self._folding is not None else None
        finally:
            self.reading = False
            if self.handover is not None:
                self._hand_over(batch)
        if not batch:
            self._over = True
            if self._folding is None:
                return None
            return self._aggregator.last_words or None  # another task ended the stream while we waited
        self._events += len(batch)
        if type(batch[-1]) in TERMINALS:
            self._over = True
            self._log.finished(self._aggregator.response, self._events)
        return batch

    def _hand_over(self, batch: Sequence[Event] | None) -> None:
        assert self.handover is not None
        handover, self.handover = self.handover, None
        handover(batch)


def _internal(error: Exception) -> ErrorInfo:
    return error_info("internal", f"a stage failed: {type(error).__name__}: {error}", phase="stream")
