"""What differs between the servers of gemini, as flags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

from headwater_providers.flags import read_flags


class GeminiDialect(Struct, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """The flags. The defaults are the Gemini API's own."""

    # --- how requests are written
    path: str = "/models/{model}:streamGenerateContent"  # behind the base URL
    query: Mapping[str, str] = field(default_factory=lambda: {"alt": "sse"})
    auth: Literal["x-goog-api-key", "bearer", "key-or-token", "none"] = "x-goog-api-key"  # key-or-token: a token is a bearer token
    call_ids: bool = True  # calls and results carry ids
    thinking_levels: bool = False  # an effort is a level (Gemini 3); else it becomes a budget
    extra_body: Mapping[str, object] = {}
    unsupported: tuple[str, ...] = ()  # Request fields that this server refuses
    # --- how responses are read
    eof_is_end: bool = False
    strict: bool = False
    think_tags: bool = False
    think_open: Literal["explicit", "implicit"] = "explicit"
    cumulative_deltas: bool = False


DEFAULT = GeminiDialect()


def gemini_dialect(overrides: Mapping[str, object], base: object = None) -> GeminiDialect:
    """`base` (the defaults if None) with some flags replaced. Raises ConfigurationError for an unknown flag or a wrong type."""
    return read_flags("gemini", DEFAULT, overrides, base)
