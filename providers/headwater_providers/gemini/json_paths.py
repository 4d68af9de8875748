"""Arguments that come value by value, each with the JSON path where it belongs (ADK-AGG-20 to 23; a part of RFC 9535).

A path has names (`.name`, `['name']`) and indexes (`[n]`). What does not fit what is there already, and indexes that would make an endless list,
are left out: a hostile path must not do harm.
"""

from __future__ import annotations

import re

MAX_INDEX = 10_000  # of a list (ADK-AGG-23)
_TOKEN = re.compile(r"""\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]|\.?([^.\[\]]+)""", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
Step = str | int
Json = dict[str, object]


class Growing:
    """A text that comes in several pieces; they are joined once, by `joined`."""

    __slots__ = ("pieces",)

    def __init__(self, *pieces: str) -> None:
        self.pieces = list(pieces)


def joined(root: Json) -> Json:
    """The same object with its texts joined."""
    places: list[Json | list[object]] = [root]
    while places:  # no recursion: a hostile path may nest deeply
        place = places.pop()
        for step, value in list(place.items()) if isinstance(place, dict) else enumerate(place):
            if isinstance(value, Growing):
                place[step] = "".join(value.pieces)  # type: ignore[index]  # a step of this very place
            elif isinstance(value, dict | list):
                places.append(value)
    return root


def steps(path: str) -> list[Step] | None:
    """The steps of a path, None for one that cannot be read."""
    if path.startswith("$"):
        path = path[1:]
    position = 0
    found: list[Step] = []
    while position < len(path):
        match = _TOKEN.match(path, position)
        if match is None:
            return None
        index, single, double, plain = match.groups()
        if index is not None:
            if len(index) > 6 or int(index) > MAX_INDEX:
                return None
            found.append(int(index))
        elif plain is not None:
            found.append(plain)
        else:
            found.append(_ESCAPE.sub(_unescaped, single if single is not None else double))
        position = match.end()
    return found or None


def put(root: Json, path: str, value: object) -> bool:
    """Set the value at its path; a text is appended to a text that is there (see `joined`). False where it does not fit, with nothing changed."""
    way = steps(path)
    if way is None or isinstance(way[0], int):
        return False
    place: object = root
    for step, following in zip(way, [*way[1:], None], strict=True):
        last = following is None
        if isinstance(step, str) and isinstance(place, dict):
            there = place.get(step)
            if last:
                place[step] = _joined(there, value)
                return True
            if there is None:
                there = place[step] = [] if isinstance(following, int) else {}
        elif isinstance(step, int) and isinstance(place, list):
            place.extend([None] * (step + 1 - len(place)))
            there = place[step]
            if last:
                place[step] = _joined(there, value)
                return True
            if there is None:
                there = place[step] = [] if isinstance(following, int) else {}
        else:
            return False
        place = there
    return False


def _joined(there: object, value: object) -> object:
    if not isinstance(value, str):
        return value
    if isinstance(there, Growing):
        there.pieces.append(value)
        return there
    return Growing(there, value) if isinstance(there, str) else value


def _unescaped(match: re.Match[str]) -> str:
    code = match[1]
    return chr(int(code[1:], 16)) if len(code) == 5 else _ESCAPES.get(code, code)
