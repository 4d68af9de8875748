"""What the encoders share whose wires take one block after the other, and of these the ones whose calls go out whole."""

from __future__ import annotations

from collections.abc import Iterable

from headwater_codecs.event_encoder import EventEncoder, Json, as_object
from headwater_codecs.neutral.events import Event, ToolCallDelta, ToolCallEnd, ToolCallStart
from headwater_codecs.sequential import Sequencer


class SequentialEncoder(EventEncoder):
    """An encoder that is given the blocks of a choice one after the other, however they came."""

    def __init__(self, *, model: str, id: str, created: int) -> None:
        super().__init__(model=model, id=id, created=created)
        self._sequencer = Sequencer()

    def feed(self, events: Iterable[Event], /) -> bytes:
        """The bytes of these events; see `EventEncoder.feed`."""
        return b"".join([super(SequentialEncoder, self).feed([event]) for event in self._sequencer.feed(events)])


class WholeCallEncoder(SequentialEncoder):
    """An encoder that writes a call when its end has come, with its arguments as an object."""

    def __init__(self, *, model: str, id: str, created: int) -> None:
        super().__init__(model=model, id=id, created=created)
        self._calls: dict[int, tuple[ToolCallStart, list[str]]] = {}

    def _on_call_start(self, event: ToolCallStart, out: list[bytes]) -> None:
        self._calls[event.index] = (event, [])

    def _on_arguments(self, event: ToolCallDelta, out: list[bytes]) -> None:
        self._calls[event.index][1].append(event.arguments)

    def _whole_call(self, end: ToolCallEnd) -> tuple[ToolCallStart, Json | None]:
        """The call that ends here, and its arguments: free text as `{"input": text}`, None where it was cut or they are no object."""
        start, pieces = self._calls.pop(end.index)
        text = "".join(pieces)
        if not end.complete:
            return start, None
        return start, {"input": text} if start.kind == "custom" else as_object((text.strip() or "{}").encode())
