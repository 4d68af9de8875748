"""When a stream has waited too long: one pure object per stream, asked by the engine's one watchdog.

Waiting is a budget: it shrinks only while we wait for the provider, so the consumer's own time is never charged to `first_content` or `idle`.
`total` alone is a point in time. No timer and no cancel scope per read: the watchdog asks `check` every `LOOK` seconds.

Where the translator is an actor of its own, bytes may wait for it while the next read waits already. Whether they are progress is not known
yet, so nothing is charged until it has judged them.
"""

from __future__ import annotations

import math
from typing import Literal

from headwater_codecs.neutral import ErrorInfo, Timeouts, error_info
from headwater_codecs.neutral.errors import Deadline, Phase

LOOK = 0.05  # seconds between two looks of the watchdog: how late a deadline may be noticed
GRACE = 2.0  # seconds of waiting for trailing usage once the finish reason is known

Fired = Literal["connect", "first_content", "idle", "total", "grace"]


class Deadlines:
    """The deadlines of one stream. All times are seconds on the engine's clock; `since` is set while we wait for the provider."""

    __slots__ = ("_armed", "_budget", "_timeouts", "_total_at", "_unjudged", "fired", "since")

    def __init__(self, timeouts: Timeouts, start: float) -> None:
        self.fired: Fired | None = None
        self.since: float | None = None
        self._timeouts = timeouts
        self._total_at = math.inf if timeouts.total is None else start + timeouts.total
        self._armed: Fired = "connect"
        self._budget = math.inf
        self._unjudged = 0  # batches of frames that the translator has not seen yet

    def fresh(self) -> Deadlines:
        """Those of a second request for the same stream: waits of its own, the same `total`."""
        other = Deadlines(self._timeouts, 0.0)
        other._total_at = self._total_at
        return other

    def arm(self, name: Literal["connect", "first_content", "idle", "grace"], now: float) -> None:
        """Start the budget of a deadline; the wait goes on if we are in one."""
        seconds = GRACE if name == "grace" else getattr(self._timeouts, name)
        self._armed = name
        self._budget = math.inf if seconds is None else seconds
        if self.since is not None:
            self.since = now

    def pause(self, now: float) -> None:
        """The wait is over, for now: what it took is charged."""
        if self.since is not None:
            if not self._unjudged:
                self._budget -= now - self.since
            self.since = None

    def refused(self, now: float) -> None:
        """The wait for a refusal's body begins: it may take what is left for the first content, and no longer than `idle`."""
        idle = self._timeouts.idle
        if idle is not None and idle < self._budget:
            self.arm("idle", now)
        self.since = now

    def handed_on(self) -> None:
        """Frames went to a translator that runs by itself."""
        self._unjudged += 1

    def judged(self, now: float) -> None:
        """It has seen them, and `progress` was called if they were any. From here on the wait counts again."""
        self._unjudged -= 1
        if not self._unjudged and self.since is not None:
            self.since = now

    def restart(self) -> None:
        """The attempt is dropped and a new one begins: what fired is forgotten, what was on its way is gone."""
        self.fired = None
        self._unjudged = 0

    def progress(self) -> None:
        """The model showed that it is at work: the next wait may be as long as `idle` allows. The grace for usage is not extended."""
        if self._armed != "grace":
            self._armed = "idle"
            self._budget = math.inf if self._timeouts.idle is None else self._timeouts.idle

    @property
    def waits_for(self) -> Fired | None:
        """The deadline that the present wait runs into; None between two waits, and while what came is not judged yet."""
        return self._armed if self.since is not None and not self._unjudged else None

    def remaining_total(self, now: float) -> float:
        """Seconds until `total` passes; infinite without it."""
        return self._total_at - now

    def check(self, now: float) -> Fired | None:
        """The deadline that has passed, if one has; it is kept in `fired`."""
        if self.fired is None:
            if now >= self._total_at:
                self.fired = "total"
            elif self.since is not None and now - self.since >= self._budget:
                self.fired = self.waits_for
        return self.fired

    def error(self, phase: Phase) -> ErrorInfo:
        """The failure for the deadline that fired. `total` and a first content that never came are not tried again by themselves."""
        assert self.fired is not None
        assert self.fired != "grace"
        deadline: Deadline = self.fired
        said = {
            "connect": "no connection",
            "first_content": "no content",
            "idle": "no progress",
            "total": "the stream was not over",
        }[deadline]
        seconds = getattr(self._timeouts, deadline)
        return error_info("timeout", f"{said} within {seconds:g} s (deadline {deadline}, phase {phase})", phase=phase, deadline=deadline)
