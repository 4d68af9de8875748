"""How much the simulator takes (requests at once, requests and tokens per minute) and what happened so far. It decides, the server acts."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from msgspec import Struct

MINUTE = 60.0  # seconds


class Stats(Struct):
    """What happened since the start."""

    requests: int = 0
    active: int = 0
    peak: int = 0  # requests at once
    refused: int = 0  # 429
    hang_ups: int = 0  # clients that left before the end
    completed: int = 0


class Limits:
    """Counts, and says how long to wait. The clock is given, in seconds."""

    def __init__(self, max_concurrent: int | None, rpm: int | None, tpm: int | None, clock: Callable[[], float]) -> None:
        self.stats = Stats()
        self._max = max_concurrent
        self._rpm = rpm
        self._tpm = tpm
        self._clock = clock
        self._requests: deque[float] = deque()
        self._tokens: deque[tuple[float, int]] = deque()

    def enter(self, tokens: int) -> float | None:
        """A request has come. None lets it in; else it is refused, and may come again after that many seconds."""
        now = self._now()
        self.stats.requests += 1
        wait = None
        if self._max is not None and self.stats.active >= self._max:
            wait = 1.0
        elif self._rpm is not None and len(self._requests) >= self._rpm:
            wait = self._requests[0] + MINUTE - now
        elif self._tpm is not None and self._tokens and sum(count for _, count in self._tokens) + tokens > self._tpm:
            wait = self._tokens[0][0] + MINUTE - now
        if wait is not None:
            self.stats.refused += 1
            return wait
        self._requests.append(now)
        self._tokens.append((now, tokens))
        self.stats.active += 1
        self.stats.peak = max(self.stats.peak, self.stats.active)
        return None

    def leave(self, completed: bool) -> None:
        """A request that was let in is over."""
        self.stats.active -= 1
        if completed:
            self.stats.completed += 1
        else:
            self.stats.hang_ups += 1

    @property
    def per_minute(self) -> dict[str, tuple[int, int, float]]:
        """What is limited per minute (`requests`, `tokens`): the limit, what is left of it, and the seconds until there is more again."""
        now = self._now()
        limits: dict[str, tuple[int, int, float]] = {}
        if self._rpm is not None:
            reset = self._requests[0] + MINUTE - now if self._requests else 0.0
            limits["requests"] = (self._rpm, max(0, self._rpm - len(self._requests)), reset)
        if self._tpm is not None:
            reset = self._tokens[0][0] + MINUTE - now if self._tokens else 0.0
            limits["tokens"] = (self._tpm, max(0, self._tpm - sum(count for _, count in self._tokens)), reset)
        return limits

    def _now(self) -> float:
        """The time. What is older than a minute counts no more."""
        now = self._clock()
        while self._requests and self._requests[0] <= now - MINUTE:
            self._requests.popleft()
        while self._tokens and self._tokens[0][0] <= now - MINUTE:
            self._tokens.popleft()
        return now
