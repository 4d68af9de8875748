"""What the encoders share: events in, bytes out, one method for each kind of event, and no way on after the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

import msgspec

from headwater_codecs.neutral.errors import LocalProtocolError, error_info
from headwater_codecs.neutral.events import TERMINALS, Event, StreamFailed

Json = dict[str, Any]
Handlers = Mapping[type, Callable[[Any, Any, list[bytes]], None]]
encode_json = msgspec.json.Encoder().encode


class EventEncoder:
    """One answer as the bytes of a protocol. Pure and deterministic: equal events give equal bytes.

    Subclasses fill `handlers`: event type -> function of the encoder, the event and the list of bytes. What is not in it says nothing on the wire.
    `created` is in seconds since the epoch.
    """

    handlers: ClassVar[Handlers] = {}

    def __init__(self, *, model: str, id: str, created: int) -> None:
        self.model = model
        self.id = id
        self.created = created
        self._ended = False

    def feed(self, events: Iterable[Event], /) -> bytes:
        """The bytes of these events; b"" where they say nothing on this wire.

        Raises LocalProtocolError for an event after the terminal one, and for a block that is not open.
        """
        out: list[bytes] = []
        for event in events:
            if self._ended:
                raise LocalProtocolError(f"{type(event).__name__} came after the end of the stream")
            if type(event) in TERMINALS:
                self._ended = True
            handle = self.handlers.get(type(event))
            if handle is not None:
                try:
                    handle(self, event, out)
                except KeyError:
                    raise LocalProtocolError(f"{type(event).__name__} is for a block that was not opened") from None
        return b"".join(out)

    def finish(self) -> bytes:
        """Nothing more comes. Without a terminal event the answer was cut, and an error says so: it must not look whole."""
        if self._ended:
            return b""
        return self.feed([StreamFailed(error_info("aborted", "the answer was cut off before its end"))])


def as_object(raw: bytes | None) -> Json | None:
    """The JSON object in these bytes, None where there is none."""
    if not raw:
        return None
    try:
        value = msgspec.json.decode(raw)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
