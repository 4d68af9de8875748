"""Blocks one after the other, for wires that cannot interleave them: the block that was opened first goes through, the others wait for its end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from headwater_codecs.neutral.events import (
    TERMINALS,
    ChoiceEnd,
    Citation,
    Event,
    OpaqueEnd,
    OpaqueStart,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    RefusalDelta,
    RefusalEnd,
    RefusalStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)

STARTS = (TextStart, ReasoningStart, RefusalStart, ToolCallStart, OpaqueStart)
ENDS = (TextEnd, ReasoningEnd, RefusalEnd, ToolCallEnd, OpaqueEnd)
_INSIDE = (TextDelta, ReasoningDelta, RefusalDelta, ToolCallDelta, Citation, *ENDS)


class Sequencer:
    """Puts the events of each choice in sequence; choices do not wait for each other. At a terminal event all that waits comes first."""

    def __init__(self) -> None:
        self._choices: dict[int, int] = {}  # block -> its choice
        self._waiting: dict[int, dict[int, list[Event]]] = {}  # choice -> its open blocks in order, with what waits; the first one goes through

    def feed(self, events: Iterable[Event]) -> Iterator[Event]:
        """The events in the order in which they can be written."""
        for event in events:
            if isinstance(event, STARTS):
                blocks = self._waiting.setdefault(event.choice, {})
                self._choices[event.index] = event.choice
                blocks[event.index] = []
                if next(iter(blocks)) == event.index:
                    yield event
                else:
                    blocks[event.index].append(event)
            elif isinstance(event, _INSIDE) and event.index in self._choices:
                yield from self._inside(event)
            else:
                if isinstance(event, ChoiceEnd):
                    yield from self._rest(event.choice)
                elif type(event) in TERMINALS:
                    for choice in list(self._waiting):
                        yield from self._rest(choice)
                yield event

    def _inside(self, event: Event) -> Iterator[Event]:
        index: int = event.index  # type: ignore[union-attr]  # the caller knows that it has one
        blocks = self._waiting[self._choices[index]]
        if index not in blocks:  # a citation for a block that is closed
            yield event
            return
        if next(iter(blocks)) != index:
            blocks[index].append(event)
            return
        yield event
        if isinstance(event, ENDS):
            del blocks[index]
            yield from self._go_on(blocks)

    def _go_on(self, blocks: dict[int, list[Event]]) -> Iterator[Event]:
        """The next block goes through; one that has ended meanwhile goes out whole."""
        while blocks:
            index = next(iter(blocks))
            held, blocks[index] = blocks[index], []
            yield from held
            if not held or not isinstance(held[-1], ENDS):
                return
            del blocks[index]

    def _rest(self, choice: int) -> Iterator[Event]:
        """What waits behind a block that was never closed."""
        blocks = self._waiting.pop(choice, {})
        for held in blocks.values():
            yield from held
