"""The pool's decisions, with a given clock."""

from __future__ import annotations

import pytest

from headwater.transport.pool import IDLE, SWEEP, Pool, idle_time


class Fake:
    """An idle connection."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.arrived = False

    def readable(self) -> bool:
        return self.arrived

    def __repr__(self) -> str:
        return self.name


A, B, C = "https://a:443", "https://b:443", "https://c:443"


def test_newest_first() -> None:
    """The connection that was given last is taken first; origins are kept apart."""
    pool: Pool[Fake] = Pool()
    one, two, other = Fake("one"), Fake("two"), Fake("other")
    assert [pool.give(A, one, 0), pool.give(A, two, 1), pool.give(B, other, 2)] == [[], [], []]
    assert [pool.take(A, 3), pool.take(A, 3), pool.take(A, 3)] == [(two, []), (one, []), (None, [])]
    assert pool.take(B, 3) == (other, [])


def test_readable_is_never_reused() -> None:
    """A connection on which something arrived is closed, and the next one is looked at."""
    pool: Pool[Fake] = Pool()
    good, dead = Fake("good"), Fake("dead")
    pool.give(A, good, 0)
    pool.give(A, dead, 0)
    dead.arrived = True
    assert pool.take(A, 1) == (good, [dead])
    good.arrived = True
    pool.give(A, good, 1)
    assert pool.take(A, 1) == (None, [good])


def test_expired_is_never_reused() -> None:
    """An idle connection is good up to the idle time, not at it."""
    pool: Pool[Fake] = Pool(idle=10)
    one = Fake("one")
    pool.give(A, one, 0)
    assert pool.take(A, 9.9) == (one, [])
    pool.give(A, one, 0)
    assert pool.take(A, 10) == (None, [one])


def test_server_bounds_the_idle_time() -> None:
    """`Keep-Alive: timeout=N` counts where it is shorter than ours, with a margin."""
    pool: Pool[Fake] = Pool(idle=10)
    short, long = Fake("short"), Fake("long")
    pool.give(A, long, 0)
    pool.give(A, short, 0, "timeout=5, max=100")
    assert pool.take(A, 4) == (long, [short])


def test_not_to_be_kept() -> None:
    """A server that allows no further request gets none."""
    pool: Pool[Fake] = Pool()
    one = Fake("one")
    assert pool.give(A, one, 0, "timeout=5, max=0") == [one]
    assert pool.give(A, one, 0, "timeout=0") == [one]
    assert len(pool) == 0


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, 15),
        ("", 15),
        ("timeout=5", 4),
        ('max=99, Timeout="5"', 4),
        ("timeout=2", 1),
        ("timeout=1", 0.5),
        ("timeout=600", 15),
        ("timeout=soon", 15),
        ("timeout=\u0665", 15),
        ("timeout", 15),
    ],
)
def test_idle_time(header: str | None, seconds: float) -> None:
    """The margin is a second, and half of the time below two; nonsense is ignored."""
    assert idle_time(header, IDLE) == seconds


def test_oldest_goes_when_too_many() -> None:
    """A bounded number is kept for an origin; the oldest is given back to be closed."""
    pool: Pool[Fake] = Pool(max_idle=2)
    fakes = [Fake(str(number)) for number in range(3)]
    assert [pool.give(A, fake, 0) for fake in fakes] == [[], [], [fakes[0]]]
    assert len(pool) == 2


def test_sweep() -> None:
    """Use of one origin closes what expired at the others, looked at every few seconds."""
    pool: Pool[Fake] = Pool(idle=2)
    one, two, three = Fake("one"), Fake("two"), Fake("three")
    pool.give(A, one, 0)
    pool.give(B, two, 1)
    assert pool.take(C, 4) == (None, [])
    assert pool.take(C, SWEEP) == (None, [one, two])
    pool.give(A, one, SWEEP)
    assert pool.give(B, three, 2 * SWEEP) == [one]
    assert len(pool) == 1


def test_close() -> None:
    """Closing gives everything back, and what comes later too."""
    pool: Pool[Fake] = Pool()
    one, two = Fake("one"), Fake("two")
    pool.give(A, one, 0)
    pool.give(B, two, 0)
    assert pool.close() == [one, two]
    assert pool.give(A, one, 0) == [one]
    assert pool.take(A, 0) == (None, [])
