"""Token counts, unified: what was read and written, and which part of it was cached or reasoning."""

from __future__ import annotations

from msgspec import Struct


class Usage(Struct, frozen=True, omit_defaults=True):
    """Tokens of one response. None means "not reported" and is not zero.

    `input_tokens` includes what was read from a cache; `output_tokens` includes reasoning. `raw` is the provider's own object, merged
    in the same way, with whatever else it says (prices, times).
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    raw: dict[str, object] | None = None

    def merged(self, later: Usage) -> Usage:
        """The two as one: per field the last value that is not None; a zero never overwrites a positive count; nothing is added up."""
        read, written, thought = later.input_tokens, later.output_tokens, later.reasoning_tokens
        cached, cache_write = later.cached_input_tokens, later.cache_write_tokens
        return Usage(
            read or (read if self.input_tokens is None else self.input_tokens),
            written or (written if self.output_tokens is None else self.output_tokens),
            cached or (cached if self.cached_input_tokens is None else self.cached_input_tokens),
            cache_write or (cache_write if self.cache_write_tokens is None else self.cache_write_tokens),
            thought or (thought if self.reasoning_tokens is None else self.reasoning_tokens),
            {**(self.raw or {}), **(later.raw or {})} or None,
        )
