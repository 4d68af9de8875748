"""The arguments of a call as an object, whatever a model wrote, and how much of it had to be made up. Rows OR-JX-01 to 06.

Strategy: a strict parse; a parse after mending what some models do inside of strings; the longest good prefix. What is `partial` or `invalid` is for
display and for the record: cut arguments read as whole ones may delete the wrong thing, so such a call must never be run.
"""

from __future__ import annotations

import json
import re
from typing import Literal, NamedTuple, NoReturn

from headwater_codecs.partial_json import PartialJson
from headwater_codecs.tolerant_json import clean

Mode = Literal["strict", "repaired", "partial", "invalid"]
MAX_DEPTH = 100  # of nested values: what is deeper cannot be copied or written without care, and no tool takes it
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+\\?"?', re.DOTALL)  # also one without its end
_ODD = re.compile(r'\\(?!["\\/bfnrtu])|\\.|[\x00-\x1f]')  # a backslash without meaning, an escape, a raw control character
_ESCAPED = {"\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


class Recovered(NamedTuple):
    """The object (`{}` where there is none), and what it took to get it.

    strict: valid as it came, or blank. repaired: whole, after escapes were mended. partial: the good part of something cut or followed by something
    else. invalid: nothing of it is an object, or it is nested too deeply.
    """

    value: dict[str, object]
    mode: Mode


def recover_object(text: str) -> Recovered:
    """What the text says as an object. Never raises."""
    if not text.strip():
        return Recovered({}, "strict")
    if (value := _whole(text)) is not None:
        return Recovered(value, "strict")
    mended = mend_strings(text)
    if (value := _whole(mended)) is not None:
        return Recovered(value, "repaired")
    for candidate in (text, mended):
        if (value := _begun(candidate)) is not None:
            return Recovered(value, "partial")
    return Recovered({}, "invalid")


def mend_strings(text: str) -> str:
    """The text with its strings' raw control characters escaped and their meaningless backslashes doubled; all else stays as it is.

    An escape `\\u` without its four digits stays, and stays invalid: what it was to be cannot be known.
    """
    return _STRING.sub(lambda string: _ODD.sub(_mended, string.group()), text)


def _mended(odd: re.Match[str]) -> str:
    found = odd.group()
    if len(found) == 2:  # an escape
        return found
    return _ESCAPED.get(found) or f"\\u{ord(found):04x}"


def _whole(text: str) -> dict[str, object] | None:
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return _object(value)


def _begun(text: str) -> dict[str, object] | None:
    view = PartialJson()
    view.feed(text)
    view.cut()
    return None if view.bad_string else _object(view.value)


def _object(value: object) -> dict[str, object] | None:
    if not isinstance(value, dict) or _is_deeper(value, MAX_DEPTH):
        return None
    cleaned = clean(value)  # a lone surrogate could not be written again
    return cleaned if isinstance(cleaned, dict) else None


def _is_deeper(value: object, levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels == 0 or any(_is_deeper(item, levels - 1) for item in inner if isinstance(item, dict | list))


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")
