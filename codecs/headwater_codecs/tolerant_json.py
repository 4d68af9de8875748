"""JSON as some servers write it: bytes that are not UTF-8, lone surrogate escapes, NaN, raw control characters in strings.

Only asked after the strict decoder refused a frame. Lone surrogates are kept in the strings: a pair may be cut between two deltas, so only
the translator can tell (`join_surrogates`).
"""

from __future__ import annotations

import json
import math

import msgspec

_DEPTH = 100  # of nested values that are kept; no vendor comes near it
_NUMBERS = frozenset({int, float, bool, type(None)})
_HIGH = ("\ud800", "\udbff")


def decode(data: bytes) -> object:
    """The value. Bad bytes become U+FFFD, NaN and infinities None. Raises ValueError for what is no JSON at all."""
    try:
        return _DECODER.decode(data.decode("utf-8", "replace"))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def join_surrogates(held: str, piece: str) -> tuple[str, str]:
    """Text that can be encoded, and the high surrogate at its end to hold until the next piece ("" if none).

    Pairs cut between `held` and `piece` are joined; surrogates without a partner become U+FFFD. At the end of a text, whatever is still
    held has no partner: it is U+FFFD.
    """
    text = held + piece
    rest = ""
    if text and _HIGH[0] <= text[-1] <= _HIGH[1]:
        text, rest = text[:-1], text[-1]
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"), rest


def has_surrogates(text: str) -> bool:
    """Whether the text holds a surrogate, paired or not, and so cannot be encoded as UTF-8 as it is."""
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def clean(value: object, depth: int = _DEPTH) -> object:
    """The value with every lone surrogate replaced, so that it can be encoded; what is nested too deeply is None."""
    if isinstance(value, str):
        if not has_surrogates(value):
            return value
        text, rest = join_surrogates("", value)
        return text + "\ufffd" if rest else text
    if depth == 0:
        return None
    if isinstance(value, dict):
        return {
            key if type(key) is str and key.isascii() else str(clean(key)): item
            if depth > 1 and type(item) in _NUMBERS  # most of what is cleaned are counts
            else clean(item, depth - 1)
            for key, item in value.items()
        }
    return [clean(item, depth - 1) for item in value] if isinstance(value, list) else value


def is_json(text: str) -> bool:
    """Whether the text is one JSON value, by a strict parse."""
    try:
        msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return False
    return True


def encode_json(value: object) -> bytes:
    """The value as JSON; `null` where it is nested too deeply to be written, and lone surrogates, in names too, replaced."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return encode_json(clean(value))
    except RecursionError:
        return b"null"


def _finite(number: str) -> float | None:
    value = float(number)
    return value if math.isfinite(value) else None


_DECODER = json.JSONDecoder(strict=False, parse_constant=lambda _: None, parse_float=_finite)
