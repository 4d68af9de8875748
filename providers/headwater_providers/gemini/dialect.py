"""What differs between the servers of gemini, as flags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import field

from headwater_providers.flags import Dialect, read_flags


class GeminiDialect(Dialect, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """The flags of this protocol alone. The defaults are the vendor's own."""

    path: str = "/models/{model}:streamGenerateContent"
    query: Mapping[str, str] = field(default_factory=lambda: {"alt": "sse"})
    auth: Literal["x-goog-api-key", "bearer", "x-goog-api-key-or-token", "none"] = "x-goog-api-key"  # ...-or-token: a token is a bearer token
    thinking_levels: bool = False  # an effort is a level (Gemini 3); else it becomes a budget
    call_ids: bool = True  # calls and results carry ids; Vertex refuses them
    results_hold_parts: bool = False  # images go into a result (Gemini 3); else they follow it
    signed_calls: bool = False  # the first call of a turn must have a signature (Gemini 3)


DEFAULT = GeminiDialect()


def gemini_dialect(overrides: Mapping[str, object], base: object = None) -> GeminiDialect:
    """`base` (the defaults if None) with some flags replaced. Raises ConfigurationError for an unknown flag or a wrong type."""
    return read_flags("gemini", DEFAULT, overrides, base)
