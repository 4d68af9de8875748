"""Levels of reasoning: which a model has, and which one is meant by one that it lacks. Rows OR-MOD-03, OR-MOD-04."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headwater_codecs.neutral.request import Effort

EFFORTS: tuple[Effort, ...] = ("minimal", "low", "medium", "high", "xhigh", "max")
LEVELS: tuple[Effort, ...] = ("off", *EFFORTS)  # `off` stands apart: it is no small effort
_ASKED_FOR = frozenset({"xhigh", "max"})  # had only where that is said


def levels_of(reasoning: bool, said: Mapping[str, bool]) -> tuple[Effort, ...]:
    """The levels of a model, lowest first: nothing but `off` where it does not reason, else all but those that it is said to lack."""
    if not reasoning:
        return ("off",)
    return tuple(level for level in LEVELS if said.get(level, level not in _ASKED_FOR))


def clamp(level: str, supported: Sequence[Effort]) -> Effort:
    """The level itself, else the next higher that is supported, else the next lower; the lowest for a word that is no level, `off` for none."""
    if not supported:
        return "off"
    known = sorted(supported, key=LEVELS.index)
    if level not in LEVELS:
        return known[0]
    place = LEVELS.index(level)
    return next((other for other in known if LEVELS.index(other) >= place), known[-1])
