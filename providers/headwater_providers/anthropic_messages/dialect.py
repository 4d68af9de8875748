"""What differs between the servers of anthropic-messages, as flags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from headwater_providers.flags import Dialect, read_flags


class MessagesDialect(Dialect, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """The flags of this protocol alone. The defaults are the vendor's own."""

    path: str = "/v1/messages"  # its `/v1` is left out where the base URL ends with it
    auth: Literal["x-api-key", "bearer", "none"] = "x-api-key"
    version: str | None = "2023-06-01"  # the header `anthropic-version`
    max_tokens: int = 8192  # sent where the request gives none: the wire demands one (OR-AN-01)
    supports_thinking: bool = True
    supports_budget: bool = True  # off for models that think adaptively only
    adaptive_thinking: bool = False  # OR-AN-06: an effort goes into `output_config`, and the model decides how long to think
    effort_beside_budget: bool = False  # the model takes an effort, but no adaptive thinking
    thinking_display: Literal["summarized", "omitted"] | None = None  # OR-AN-09: what is shown of the thinking; None: the server's own default
    temperature_with_thinking: bool = False  # OR-AN-10
    unsigned_thinking: Literal["text", "thinking", "drop"] = "drop"  # OR-AN-04: reasoning of one's own without a signature
    supports_json_schema: bool = True
    supports_strict: bool = True
    supports_files: bool = True  # documents
    cache_breakpoints: bool = False  # OR-AN-11: mark the last system block, the last tool and the last block of all for the cache
    cache_ttl: Literal["5m", "1h"] | None = None  # how long; None: the server's own default


DEFAULT = MessagesDialect()


def messages_dialect(overrides: Mapping[str, object], base: object = None) -> MessagesDialect:
    """`base` (the defaults if None) with some flags replaced. Raises ConfigurationError for an unknown flag or a wrong type."""
    return read_flags("anthropic-messages", DEFAULT, overrides, base)
