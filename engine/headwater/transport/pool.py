"""Which idle connection is used again, and which are closed: a synchronous object that decides and returns the closing to be done.

Per origin the newest idle connection goes first: it is the least likely to have been closed by the server, and the old ones get to
expire. There is no cap on connections in use; how many are kept idle is bounded. The clock is given, in seconds.
"""

from __future__ import annotations

from collections import deque
from typing import Generic, Protocol, TypeVar

IDLE = 15.0  # seconds; many servers close after 5 to 75, and one that says how long is believed
MAX_IDLE = 1024  # per origin: what a thousand streams at once leave behind
SWEEP = 5.0  # seconds between two looks at every origin
MARGIN = 1.0  # seconds before the server's own limit: a request may be on its way when it closes


class Idle(Protocol):
    """A connection as the pool sees it."""

    def readable(self) -> bool:
        """Whether something arrived while idle: an end, or bytes nobody asked for. Either way it is of no use any more."""


C = TypeVar("C", bound=Idle)


class Pool(Generic[C]):
    """Idle connections by origin. Every method that may drop some returns them; the caller closes them."""

    def __init__(self, idle: float = IDLE, max_idle: int = MAX_IDLE) -> None:
        self._idle_time = idle
        self._max = max_idle
        self._origins: dict[str, deque[tuple[float, C]]] = {}  # oldest left, newest right, each with the time it expires
        self._next_sweep = 0.0
        self._closed = False

    def __len__(self) -> int:
        return sum(map(len, self._origins.values()))

    def take(self, origin: str, now: float) -> tuple[C | None, list[C]]:
        """The newest idle connection that is still good, or None; and those to be closed."""
        closing = self.expire(now) if now >= self._next_sweep else []
        idle = self._origins.get(origin)
        while idle:
            expires, connection = idle.pop()
            if now < expires and not connection.readable():
                return connection, closing
            closing.append(connection)
        return None, closing

    def give(self, origin: str, connection: C, now: float, keep_alive: str | None = None) -> list[C]:
        """Keep a connection whose response has ended. `keep_alive` is the server's header; returned are those to be closed."""
        expires = now + idle_time(keep_alive, self._idle_time)
        if self._closed or expires <= now:
            return [connection]
        closing = self.expire(now) if now >= self._next_sweep else []
        idle = self._origins.setdefault(origin, deque())
        idle.append((expires, connection))
        if len(idle) > self._max:
            closing.append(idle.popleft()[1])
        return closing

    def expire(self, now: float) -> list[C]:
        """Drop what has expired, at every origin."""
        self._next_sweep = now + SWEEP
        closing: list[C] = []
        for origin in list(self._origins):
            idle = self._origins[origin]
            kept = deque(entry for entry in idle if now < entry[0])
            if len(kept) != len(idle):
                closing += [connection for expires, connection in idle if now >= expires]
                self._origins[origin] = kept
            if not kept:
                del self._origins[origin]
        return closing

    def close(self) -> list[C]:
        """Drop everything, and keep nothing from now on."""
        self._closed = True
        closing = [connection for idle in self._origins.values() for _, connection in idle]
        self._origins.clear()
        return closing


def idle_time(keep_alive: str | None, default: float) -> float:
    """Seconds a connection may stay idle: ours, or less if the server's `Keep-Alive: timeout=N, max=M` says so.

    A margin of a second is kept to the server's limit, of half of it below two seconds.
    """
    if not keep_alive:
        return default
    for part in keep_alive.split(","):
        name, _, value = part.partition("=")
        name, value = name.strip().lower(), value.strip().strip('"')
        if not (value.isascii() and value.isdigit()):
            continue
        if name == "timeout":
            default = min(default, int(value) - min(MARGIN, int(value) / 2))
        elif name == "max" and int(value) == 0:
            return 0.0
    return default
