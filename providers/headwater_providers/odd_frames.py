"""Frames inside of a frame that is no JSON: what gateways make of event streams. One rule for every protocol.

A gateway that wraps an event stream in another one repeats the prefix (`data: data: {...}`, also `data: event: x`); one that loses blank lines sends
several events as one, whose data lines are each a whole JSON object. Nothing else is guessed: a line that is no object makes the frame malformed.
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from headwater_codecs import tolerant_json
from headwater_codecs.sse import Frame

REPEATED_PREFIX = "repeated_prefix"
MISSING_BLANK_LINE = "missing_blank_line"
SAID = {
    REPEATED_PREFIX: "frames carry a second 'data:' prefix",
    MISSING_BLANK_LINE: "several frames came as one, without a blank line between them",
}
_END = b"[DONE]"
_BEGINS = (b"data:", b"event:", b":")  # none of them begins a JSON text, and no message of an error
_PREFIXES = re.compile(rb"(?:data:\s*)+")
_FIELDS = (*_BEGINS, b"id:", b"retry:")


def frames_inside(frame: Frame) -> tuple[str, list[Frame]] | None:
    """What is odd about the frame, a key of `SAID`, and the frames in it; None where there are none to be found.

    The last one may be cut where the frame is. Of several frames only the last one's event name is known.
    """
    data = frame.data.strip()
    wrapped = data.startswith(_BEGINS)
    if not wrapped and b"\n" not in data:
        return None
    found: list[Frame] = []
    event = ""
    for line in data.split(b"\n"):
        name, rest = _field(line) if wrapped else (None, line.strip())
        if name is not None:
            event = name or event
        elif rest:
            found.append(replace(frame, data=rest, event=event, terminated=True))
            event = ""
    if not wrapped:
        if len(found) < 2:
            return None
    elif len(found) > 1 and _is_object(joined := b"\n".join(one.data for one in found)):
        return REPEATED_PREFIX, [replace(found[0], data=joined, event=found[0].event or frame.event, terminated=frame.terminated)]
    if found:
        last = found[-1] = replace(found[-1], event=found[-1].event or frame.event, terminated=frame.terminated)
        cut = not frame.terminated and not last.data.startswith(_BEGINS)
        if not all(_is_object(one.data) for one in found[:-1]) or not (cut or wrapped or _is_object(last.data)):
            return None
    return (REPEATED_PREFIX if wrapped else MISSING_BLANK_LINE), found


def _field(line: bytes) -> tuple[str | None, bytes]:
    """A line of a stream inside: the event name that it says ("" for none of interest), or None and its data."""
    line = line.strip()
    if (prefixes := _PREFIXES.match(line)) is not None:
        line = line[prefixes.end() :]
    if line.startswith(b"event:"):
        return line[6:].strip().decode("utf-8", "replace"), b""
    return ("" if line.startswith(_FIELDS) else None), line


def _is_object(data: bytes) -> bool:
    if data.startswith(_END):
        return True
    try:
        return isinstance(tolerant_json.decode(data), dict)
    except ValueError:
        return False
