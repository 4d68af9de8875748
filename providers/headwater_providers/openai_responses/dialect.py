"""What differs between the servers of openai-responses, as flags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from headwater_providers.flags import read_flags


class ResponsesDialect(Struct, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """The flags. The defaults are OpenAI's own."""

    # --- how requests are written
    path: str = "/responses"  # behind the base URL
    auth: Literal["bearer", "api-key", "api-key-or-token", "none"] = "bearer"  # api-key-or-token: a token is a bearer token
    query: Mapping[str, str] = {}
    system_role: Literal["developer", "system"] = "developer"  # of system messages behind the first one, which becomes `instructions`
    reasoning_model: bool = False  # the model reasons whether asked to or not: its encrypted reasoning is asked for (OR-RS-02)
    store: bool | None = False  # OR-RS-01: sent where the request says nothing; None: nothing is sent
    effort_map: Mapping[str, str | None] = {}  # level -> the model's own word, None for a level that it lacks
    extra_body: Mapping[str, object] = {}
    unsupported: tuple[str, ...] = ()  # Request fields that this server refuses
    # --- how responses are read
    eof_is_end: bool = False
    strict: bool = False
    think_tags: bool = False
    think_open: Literal["explicit", "implicit"] = "explicit"
    cumulative_deltas: bool = False


DEFAULT = ResponsesDialect()


def responses_dialect(overrides: Mapping[str, object], base: object = None) -> ResponsesDialect:
    """`base` (the defaults if None) with some flags replaced. Raises ConfigurationError for an unknown flag or a wrong type."""
    return read_flags("openai-responses", DEFAULT, overrides, base)
