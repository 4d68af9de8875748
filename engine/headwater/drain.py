"""Going out of service in good order: no new streams, and a limit for those that are open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import anyio
from msgspec import Struct

from headwater_codecs.neutral import ConfigurationError

if TYPE_CHECKING:
    from headwater.stream import Stream


class Drained(Struct, frozen=True):
    """What became of the streams that were open: how many ended by themselves, and how many were closed in the middle."""

    ended: int
    closed: int


class Draining:
    """The wait for the open streams. `until` is a time on the engine's clock; the watchdog looks whether it has come."""

    def __init__(self, grace: float, now: float, streams: Sequence[Stream]) -> None:
        if not grace >= 0:
            raise ConfigurationError(f"grace is {grace!r}: give the seconds that open streams may take, 0 for none")
        self._until = now + grace
        self._open = set(streams)
        self._count = len(self._open)
        self._drained: Drained | None = None
        self._over = anyio.Event()
        self.look(now)

    def look(self, now: float) -> None:
        """Decide whether it is over. Those whose answer has ended count as ended, though their block be open."""
        if self._drained is None and (not self._open or now >= self._until):
            cut = sum(not stream.over for stream in self._open)
            self._drained = Drained(self._count - cut, cut)
            self._over.set()

    def left(self, stream: Stream) -> None:
        """A stream's block was left."""
        self._open.discard(stream)
        if not self._open:
            self.look(self._until)

    async def wait(self) -> Drained:
        """Until all are left, or the grace is over."""
        await self._over.wait()
        assert self._drained is not None
        return self._drained
