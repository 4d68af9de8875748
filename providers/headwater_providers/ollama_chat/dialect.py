"""What differs between the servers of ollama-chat, as flags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from headwater_providers.flags import Dialect, read_flags


class OllamaDialect(Dialect, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """The flags of this protocol alone. The defaults are the vendor's own."""

    path: str = "/api/chat"
    auth: Literal["bearer", "none"] = "bearer"
    think_levels: bool = False  # the model takes a level of thinking (gpt-oss), not only on and off


DEFAULT = OllamaDialect()


def ollama_dialect(overrides: Mapping[str, object], base: object = None) -> OllamaDialect:
    """`base` (the defaults if None) with some flags replaced. Raises ConfigurationError for an unknown flag or a wrong type."""
    return read_flags("ollama-chat", DEFAULT, overrides, base)
