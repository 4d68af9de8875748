"""Whether and when a failed attempt is made again: one pure decision.

Only before the first content: after it, a second attempt would repeat text that was already delivered.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from headwater_codecs.neutral import ConfigurationError, ErrorInfo

RETRIED = frozenset({"network", "overloaded", "server", "rate_limit", "truncated"})
STAYS = frozenset({"configuration", "aborted", "internal"})  # our own side: another model would not mend it
MAX_DOUBLINGS = 60  # of the back-off: more would leave the range of numbers, and the cap came long before
HINT_SPREAD = 0.25  # a hint is waited for plus up to this part of it, so that not all clients come back at once


class Retry(Struct, frozen=True, omit_defaults=True):
    """How failed attempts are repeated. `attempts` counts the retries; times are seconds.

    Back-off is full jitter, a random part of `base` x 2^n up to `cap`. A hint of the provider (`Retry-After`) is waited for instead; one
    above `max_hint` fails at once. `on_first_content`: also after the first_content deadline, which pays for the prompt again.
    """

    attempts: int = 2
    base: float = 0.5
    cap: float = 8.0
    max_hint: float = 60.0
    on_first_content: bool = False

    def __post_init__(self) -> None:
        if self.attempts < 0:
            raise ConfigurationError(f"Retry.attempts is {self.attempts}: give 0 for none, or how many")
        for name in ("base", "cap", "max_hint"):
            if not getattr(self, name) >= 0:
                raise ConfigurationError(f"Retry.{name} is {getattr(self, name)!r}: give seconds, zero or more")

    def delay(self, error: ErrorInfo, failed: int, remaining: float, random: Callable[[], float]) -> float | None:
        """Seconds to wait before the next attempt, None for no further one.

        `failed` counts the attempts made, `remaining` is what `total` leaves, `random` gives numbers in [0, 1).
        """
        if failed > self.attempts or not self._may(error):
            return None
        if error.retry_after is not None:
            if error.retry_after > self.max_hint:
                return None
            wait = error.retry_after * (1 + HINT_SPREAD * random())
        else:
            wait = min(self.cap, self.base * 2.0 ** min(failed - 1, MAX_DOUBLINGS)) * random()
        return wait if wait < remaining else None

    def falls_back(self, error: ErrorInfo) -> bool:
        """Whether the next model is asked after this failure, the last one of its model's attempts.

        After nearly all: a context that is too long, a key without rights or an empty account at one are none at another. `total` is everybody's.
        """
        return error.kind not in STAYS and error.deadline != "total"

    def _may(self, error: ErrorInfo) -> bool:
        if error.kind == "timeout":
            return error.deadline == "connect" or (error.deadline == "first_content" and self.on_first_content)
        return error.kind in RETRIED and error.retryable
