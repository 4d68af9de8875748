"""What keeps retries from multiplying the load of a provider in trouble: one token bucket per engine.

Where every request fails, two retries each make three times the load, just when the provider can bear the least. With the bucket the retries of
all streams together are bounded: each takes a token, each answer gives back a part of one, and with an empty bucket failures are told at once.
"""

from __future__ import annotations

from headwater_codecs.neutral import ConfigurationError

RETRIES = 100.0  # a short outage under a usual concurrency passes unnoticed, a long one soon costs nothing more
ROUNDING = 1e-9  # ten tenths are a little less than one
PER_ANSWER = 0.1  # once the bucket is empty: at most one retry for ten good answers


class RetryBudget:
    """So many retries and hedges, for all streams of an engine together; a full bucket at first.

    Each retry or hedge takes one from `left`; each answer that ended well gives `per_answer` back, up to `retries`. `math.inf` retries: no bound.
    Fallbacks are not counted: each is asked once, and the load of the provider in trouble is not theirs. Engines may share one.
    """

    __slots__ = ("left", "per_answer", "retries")

    def __init__(self, retries: float = RETRIES, per_answer: float = PER_ANSWER) -> None:
        if not retries >= 0:
            raise ConfigurationError(f"RetryBudget.retries is {retries!r}: give how many, 0 for none, math.inf for no bound")
        if not per_answer >= 0:
            raise ConfigurationError(f"RetryBudget.per_answer is {per_answer!r}: give the part of a retry that an answer gives back, zero or more")
        self.retries = retries
        self.per_answer = per_answer
        self.left = retries

    def take(self) -> bool:
        """One more retry, if it may be made."""
        if self.left < 1 - ROUNDING:
            return False
        self.left -= 1
        return True

    def give_back(self) -> None:
        """A stream ended well."""
        self.left = min(self.retries, self.left + self.per_answer)
