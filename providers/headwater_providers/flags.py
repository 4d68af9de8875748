"""Dialects: a protocol's flags as a frozen struct, some of them replaced by a vendor or the caller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from headwater_codecs.neutral.errors import ConfigurationError
from headwater_codecs.neutral.request import Request

D = TypeVar("D", bound=Struct)


class Dialect(Struct, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """What the dialects of most protocols share."""

    # --- how requests are written
    path: str = ""  # behind the base URL; `{model}` in it is replaced by the model's name
    auth: str = "bearer"
    query: Mapping[str, str] = {}
    extra_body: Mapping[str, object] = {}
    unsupported: tuple[str, ...] = ()  # Request fields that this server refuses
    # --- how responses are read
    eof_is_end: bool = False  # a clean end of the bytes ends the stream, also without a finish reason
    strict: bool = False  # odd frames are malformed, not skipped


def read_flags(protocol: str, default: D, overrides: Mapping[str, object], base: object = None) -> D:
    """`base` (`default` if None) with some flags replaced. Raises ConfigurationError for an unknown flag or a wrong type.

    A flag called `unsupported` names fields of `Request`.
    """
    kind = type(default)
    if base is None:
        base = default
    elif not isinstance(base, kind):
        raise ConfigurationError(f"the dialect of {protocol} is a {kind.__name__}, not a {type(base).__name__}")
    if not overrides:
        return base
    known = kind.__struct_fields__
    for name in overrides:
        if name not in known:
            from difflib import get_close_matches  # only errors need it

            close = get_close_matches(name, known, 3, 0.5)
            meant = f": did you mean {' or '.join(close)}?" if close else f"; the flags are {', '.join(known)}"
            raise ConfigurationError(f"{protocol} has no dialect flag {name!r}{meant}")
    try:
        dialect = msgspec.convert({**asdict(base), **overrides}, kind)
    except msgspec.ValidationError as error:
        raise ConfigurationError(f"a dialect flag of {protocol} has the wrong type: {error}") from error
    if unknown := set(getattr(dialect, "unsupported", ())).difference(Request.__struct_fields__):
        raise ConfigurationError(f"the dialect flag `unsupported` names what is no field of Request: {', '.join(sorted(unknown))}")
    return dialect
