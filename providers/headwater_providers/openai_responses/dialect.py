"""What differs between the servers of openai-responses, as flags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from headwater_providers.flags import Dialect, read_flags


class ResponsesDialect(Dialect, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """The flags of this protocol alone. The defaults are the vendor's own."""

    path: str = "/responses"
    auth: Literal["bearer", "api-key", "api-key-or-token", "none"] = "bearer"  # api-key-or-token: a token is a bearer token
    reasoning_model: bool = False  # the model reasons whether asked to or not: its encrypted reasoning is asked for (OR-RS-02)
    store: bool | None = False  # OR-RS-01: sent where the request says nothing; None: nothing is sent
    effort_map: Mapping[str, str | None] = {}  # level -> the model's own word, None for a level that it lacks


DEFAULT = ResponsesDialect()


def responses_dialect(overrides: Mapping[str, object], base: object = None) -> ResponsesDialect:
    """`base` (the defaults if None) with some flags replaced. Raises ConfigurationError for an unknown flag or a wrong type."""
    return read_flags("openai-responses", DEFAULT, overrides, base)
