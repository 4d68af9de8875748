"""What the simulator's own encoders share: events of server-sent streams, and wires that have a place for one choice only."""

from __future__ import annotations

from collections.abc import Iterable

from headwater_codecs.event_encoder import EventEncoder, Json, encode_json
from headwater_codecs.neutral import Event


def sse(value: Json, event: str | None = None) -> bytes:
    """One event."""
    head = b"" if event is None else b"event: %b\n" % event.encode()
    return head + b"data: %b\n\n" % encode_json(value)


class OneChoice(EventEncoder):
    """Says choice 0 only, since its wire has no place for others."""

    def __init__(self, *, model: str, id: str, created: int) -> None:
        super().__init__(model=model, id=id, created=created)
        self._others: set[int] = set()  # the blocks of other choices

    def feed(self, events: Iterable[Event], /) -> bytes:
        """The bytes of these events; see `EventEncoder.feed`."""
        return super().feed([event for event in events if self._is_said(event)])

    def _is_said(self, event: Event) -> bool:
        index = getattr(event, "index", None)
        if getattr(event, "choice", 0):
            self._others.add(index or 0)
            return False
        return index not in self._others
