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
        return Usage(
            _later(self.input_tokens, later.input_tokens),
            _later(self.output_tokens, later.output_tokens),
            _later(self.cached_input_tokens, later.cached_input_tokens),
            _later(self.cache_write_tokens, later.cache_write_tokens),
            _later(self.reasoning_tokens, later.reasoning_tokens),
            {**(self.raw or {}), **(later.raw or {})} or None,
        )


def _later(old: int | None, new: int | None) -> int | None:
    return old if new is None or (new == 0 and old) else new
