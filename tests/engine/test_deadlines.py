"""Deadlines: the pure rule."""

from __future__ import annotations

import math

import pytest

import headwater
from headwater.deadlines import GRACE, Deadlines
from headwater_codecs.neutral import Timeouts, error_info


def test_nothing_fires_while_nobody_waits_for_the_provider() -> None:
    """The consumer's time is charged to no deadline but `total`."""
    deadlines = Deadlines(Timeouts(connect=1, first_content=2, idle=3), start=0.0)
    deadlines.arm("first_content", 0.0)
    assert deadlines.check(1e9) is None


@pytest.mark.parametrize(("name", "seconds"), [("connect", 1.0), ("first_content", 2.0), ("idle", 3.0), ("grace", GRACE)])
def test_each_fires_at_its_time(name: str, seconds: float) -> None:
    """Not before, and at the moment itself; what fired is kept."""
    deadlines = Deadlines(Timeouts(connect=1, first_content=2, idle=3), start=0.0)
    deadlines.arm(name, 10.0)  # type: ignore[arg-type]
    deadlines.since = 10.0
    assert deadlines.check(10.0 + seconds - 1e-6) is None
    assert deadlines.check(10.0 + seconds) == name
    assert deadlines.check(0.0) == deadlines.fired == name


@pytest.mark.parametrize("name", ["connect", "first_content", "idle"])
def test_a_deadline_that_is_none_never_fires(name: str) -> None:
    """None is no limit."""
    deadlines = Deadlines(Timeouts(connect=None, first_content=None, idle=None), start=0.0)
    deadlines.arm(name, 0.0)  # type: ignore[arg-type]
    deadlines.since = 0.0
    assert deadlines.check(1e9) is None
    assert deadlines.remaining_total(1e9) == math.inf


def test_waits_add_up_until_there_is_progress() -> None:
    """Reads that bring no progress share one budget; progress starts it anew, whatever the consumer did between them."""
    deadlines = Deadlines(Timeouts(idle=3), start=0.0)
    deadlines.arm("idle", 0.0)
    for start in (0.0, 100.0):  # two waits of 1.25 s, with the consumer's long pause between them
        deadlines.since = start
        deadlines.pause(start + 1.25)
    deadlines.since = 200.0
    assert deadlines.check(200.4) is None
    assert deadlines.check(200.5) == "idle"
    deadlines.restart()
    deadlines.progress()
    assert deadlines.check(202.9) is None
    assert deadlines.check(203.0) == "idle"


def test_total_counts_from_the_call() -> None:
    """It passes whoever waits, and before any other."""
    deadlines = Deadlines(Timeouts(connect=1, total=5), start=100.0)
    assert deadlines.remaining_total(103.0) == 2.0
    assert deadlines.check(104.9) is None
    deadlines.arm("connect", 104.9)
    deadlines.since = 100.0
    assert deadlines.check(105.0) == "total"


def test_progress_does_not_extend_the_grace() -> None:
    """After the finish reason two seconds are waited, whatever still comes."""
    deadlines = Deadlines(Timeouts(), start=0.0)
    deadlines.arm("grace", 0.0)
    deadlines.since = 0.0
    deadlines.progress()
    assert deadlines.check(GRACE) == "grace"


def test_what_is_not_judged_is_not_charged() -> None:
    """While frames are on their way to the translator nobody knows whether they are progress: the wait counts from the judgement on."""
    deadlines = Deadlines(Timeouts(idle=1), start=0.0)
    deadlines.arm("idle", 0.0)
    deadlines.since = 0.0
    deadlines.pause(0.9)  # a read came after 0.9 s
    deadlines.handed_on()
    deadlines.since = 0.9
    assert deadlines.check(50.0) is None
    deadlines.pause(50.0)  # another one, while the first is still on its way
    deadlines.since = 50.0
    deadlines.judged(60.0)  # it was no progress
    assert deadlines.check(60.05) is None
    assert deadlines.check(60.15) == "idle"


@pytest.mark.parametrize(
    ("fired", "phase", "message"),
    [
        ("connect", "connect", "no connection within 1 s (deadline connect, phase connect)"),
        ("first_content", "headers", "no content within 2.5 s (deadline first_content, phase headers)"),
        ("idle", "stream", "no progress within 3 s (deadline idle, phase stream)"),
        ("total", "stream", "the stream was not over within 4 s (deadline total, phase stream)"),
    ],
)
def test_the_error_says_which_and_where(fired: str, phase: str, message: str) -> None:
    """It names the deadline, its seconds and the phase."""
    deadlines = Deadlines(Timeouts(connect=1, first_content=2.5, idle=3, total=4), start=0.0)
    deadlines.fired = fired  # type: ignore[assignment]
    assert deadlines.error(phase) == error_info("timeout", message, phase=phase, deadline=fired, retryable=True)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [0, -1, float("nan")])
def test_deadlines_are_above_zero(value: float) -> None:
    """Zero would mean "never", or "at once": it is refused."""
    with pytest.raises(headwater.ConfigurationError, match=r"Timeouts\.idle is"):
        Timeouts(idle=value)
