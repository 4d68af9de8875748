"""Whose message it is: opaque parts (signatures, encrypted reasoning, items) mean something to the model that made them only."""

from __future__ import annotations

import re

from headwater_codecs.neutral.request import Origin
from headwater_providers.adapter import Target

# What a provider adds to the name that was asked for: a date or version, a variant, a region.
_VERSION = re.compile(r"(?:-\d[\d.-]*|-latest|[:@][\w.:-]+)")


def same_origin(origin: Origin | None, target: Target) -> bool:
    """Whether a message comes from the model that it goes to (or from nobody in particular): only then its opaque parts mean something.

    A provider may have answered with a dated or versioned form of the name that was asked for, or under another name: either is the model's.
    """
    if origin is None:
        return True
    if origin.provider not in (None, target.provider) or origin.protocol not in (None, target.protocol):
        return False
    names = [name for name in (origin.model, origin.answered) if name is not None]
    return not names or any(_same_model(name, target.model) or _same_model(target.model, name) for name in names)


def _same_model(short: str, long: str) -> bool:
    return long.startswith(short) and (long == short or _VERSION.fullmatch(long, len(short)) is not None)
