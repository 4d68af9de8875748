"""What replay needs beside a signature, inside of the one string that or's content has for it. Row OR-RS-03.

A signature alone stays as it is, and so does the data of redacted reasoning. Where there is more (encrypted reasoning, the ids of an item), it is
a mark and a JSON object. Whoever makes one up, or cuts it, has an unsigned block: it is ignored.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from msgspec import Raw, Struct

_MARK = "headwater:"
_NOTHING = Raw()


class Packed(NamedTuple):
    """What a provider wants back with a block."""

    signature: str | None = None
    data: str | None = None
    meta: Raw | None = None


class _Wire(Struct, frozen=True, omit_defaults=True):
    signature: str | None = None
    data: str | None = None
    meta: Raw = _NOTHING


_decode = msgspec.json.Decoder(_Wire).decode


def pack(signature: str | None, data: str | None, meta: Raw | None, *, redacted: bool = False) -> str | None:
    """One string for the three; None where there is nothing."""
    if meta is None and data is None:
        return signature
    if redacted and meta is None and signature is None:
        return data
    return _MARK + msgspec.json.encode(_Wire(signature, data, _NOTHING if meta is None else meta)).decode("utf-8", "replace")


def unpack(text: str | None, *, redacted: bool = False) -> Packed:
    """The three again."""
    if text is None or not text.startswith(_MARK):
        return Packed(data=text) if redacted else Packed(text)
    try:
        wire = _decode(text[len(_MARK) :].encode("utf-8", "replace"))
        return Packed(wire.signature, wire.data, wire.meta if len(bytes(wire.meta)) else None)
    except (msgspec.DecodeError, RecursionError):
        return Packed()
