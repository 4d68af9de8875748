"""What a response cost, by category. Row OR-MOD-05."""

from __future__ import annotations

from msgspec import Struct

from headwater_codecs.neutral.usage import Usage
from headwater_providers.catalogue.models import Prices


class Cost(Struct, frozen=True):
    """US dollars. `input` is what was read anew, `output` holds the reasoning too; `total` is the sum."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0

    @property
    def total(self) -> float:
        """All of it."""
        return self.input + self.output + self.cache_read + self.cache_write


def cost_of(usage: Usage, prices: Prices) -> Cost | None:
    """What these tokens cost; None where a count or its price is not known, since a part is not the whole.

    Where the cache has no price of its own, its tokens cost what input costs.
    """
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    for above, dearer in prices.above:
        if usage.input_tokens > above:
            prices = _over(dearer, prices)
    if prices.input is None or prices.output is None:
        return None
    read, written = usage.cached_input_tokens or 0, usage.cache_write_tokens or 0
    anew = max(0, usage.input_tokens - read - written)
    return Cost(
        prices.input * anew / 1e6,
        prices.output * usage.output_tokens / 1e6,
        (prices.input if prices.cache_read is None else prices.cache_read) * read / 1e6,
        (prices.input if prices.cache_write is None else prices.cache_write) * written / 1e6,
    )


def _over(upper: Prices, lower: Prices) -> Prices:
    """The upper prices, where there are some."""

    def price(name: str) -> float | None:
        value: float | None = getattr(upper, name)
        return getattr(lower, name) if value is None else value

    return Prices(price("input"), price("output"), price("cache_read"), price("cache_write"), lower.above)
