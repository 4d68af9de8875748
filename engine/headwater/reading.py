"""Bytes to events behind one attempt: fused in one object, or as the two stages of two actors.

Run by itself, the translator judges what is progress the moment it sees it, not when somebody takes the events; until then the deadlines charge
nothing for what the parser handed on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from headwater_codecs.framing import Fault, Framing
from headwater_codecs.neutral import Event
from headwater_codecs.sse import Frame
from headwater_providers.adapter import Translator

if TYPE_CHECKING:
    from headwater.deadlines import Deadlines
    from headwater.transport.base import Clock


class Reading:
    """Framing and translator fused: bytes in, events out."""

    def __init__(self, framing: Framing, translator: Translator) -> None:
        self._framing = framing
        self._translator = translator

    def feed(self, batch: Sequence[bytes | Fault] | None, /) -> Sequence[Event]:
        """The events of these bytes; None says that the bytes have ended."""
        if batch is not None:
            return self._translator.feed(self._framing.feed(batch))
        return [*self._translator.feed(self._framing.finish()), *self._translator.finish()]


class Parsing:
    """Framing as a stage of its own: what it hands on has not been judged yet."""

    def __init__(self, framing: Framing, deadlines: Deadlines) -> None:
        self.done = False  # a fault was handed on: nothing is read after it
        self._framing = framing
        self._deadlines = deadlines

    def feed(self, batch: Sequence[bytes | Fault], /) -> Sequence[Frame | Fault]:
        """The frames that these bytes complete."""
        return self._handed_on(self._framing.feed(batch))

    def finish(self) -> Sequence[Frame | Fault]:
        """What is left at the end."""
        return self._handed_on(self._framing.finish())

    def _handed_on(self, frames: Sequence[Frame | Fault]) -> Sequence[Frame | Fault]:
        if frames:
            self._deadlines.handed_on()
            self.done = type(frames[-1]) is Fault
        return frames


class Translating:
    """The translator as a stage of its own: it says at once what its events mean."""

    def __init__(self, translator: Translator, watch: Callable[[Sequence[Event]], None], deadlines: Deadlines, clock: Clock) -> None:
        self._translator = translator
        self._watch = watch
        self._deadlines = deadlines
        self._clock = clock

    @property
    def done(self) -> bool:
        """True once the terminal event is out."""
        return self._translator.done

    def feed(self, frames: Sequence[Frame | Fault], /) -> Sequence[Event]:
        """The events of these frames."""
        batch = self._translator.feed(frames)
        self._watch(batch)
        self._deadlines.judged(self._clock())
        return batch

    def finish(self) -> Sequence[Event]:
        """The bytes have ended."""
        batch = self._translator.finish()
        self._watch(batch)
        return batch
