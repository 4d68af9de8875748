"""What differs between the servers of anthropic-messages, as flags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from headwater_providers.flags import read_flags


class MessagesDialect(Struct, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """The flags. The defaults are Anthropic's own."""

    # --- how requests are written
    path: str = "/v1/messages"  # behind the base URL
    auth: Literal["x-api-key", "bearer", "none"] = "x-api-key"
    version: str | None = "2023-06-01"  # the header `anthropic-version`
    max_tokens: int = 8192  # sent where the request gives none: the wire demands one (OR-AN-01)
    adaptive_thinking: bool = False  # OR-AN-06: an effort goes into `output_config`, and the model decides how long to think
    effort_in_output_config: bool = False  # the model takes an effort beside a budget
    thinking_display: Literal["summarized", "omitted"] | None = None  # OR-AN-09: what is shown of the thinking; None: the server's own default
    temperature_with_thinking: bool = False  # OR-AN-10
    supports_json_schema: bool = True
    unsigned_thinking: Literal["text", "thinking", "drop"] = "drop"  # OR-AN-04: reasoning of one's own without a signature
    supports_top_k: bool = True
    extra_body: Mapping[str, object] = {}
    unsupported: tuple[str, ...] = ()  # Request fields that this server refuses
    # --- how responses are read
    eof_is_end: bool = False
    strict: bool = False
    think_tags: bool = False
    think_open: Literal["explicit", "implicit"] = "explicit"
    cumulative_deltas: bool = False


DEFAULT = MessagesDialect()


def messages_dialect(overrides: Mapping[str, object], base: object = None) -> MessagesDialect:
    """`base` (the defaults if None) with some flags replaced. Raises ConfigurationError for an unknown flag or a wrong type."""
    return read_flags("anthropic-messages", DEFAULT, overrides, base)
