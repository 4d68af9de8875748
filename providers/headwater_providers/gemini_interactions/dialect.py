"""What differs between the servers of gemini-interactions, as flags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from headwater_providers.flags import Dialect, read_flags


class InteractionsDialect(Dialect, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """The flags of this protocol alone. The defaults are the vendor's own."""

    path: str = "/interactions"
    auth: Literal["x-goog-api-key", "bearer", "none"] = "x-goog-api-key"


DEFAULT = InteractionsDialect()


def interactions_dialect(overrides: Mapping[str, object], base: object = None) -> InteractionsDialect:
    """`base` (the defaults if None) with some flags replaced. Raises ConfigurationError for an unknown flag or a wrong type."""
    return read_flags("gemini-interactions", DEFAULT, overrides, base)
