"""What is known of a model, and what a response cost: the catalogue, asked by the names that requests use."""

from __future__ import annotations

from headwater_codecs.neutral import Model, Response
from headwater_providers.builtin import default_registries
from headwater_providers.catalogue import Catalogue, Cost, ModelInfo, cost_of, default_catalogue, overflowed
from headwater_providers.resolve import Registries


def model_info(model: Model | str, *, registries: Registries | None = None, catalogue: Catalogue | None = None) -> ModelInfo | None:
    """What is known of a model (`openai/gpt-5`, `gpt-5`, or a Model): window, limits, prices, what it reads; None where it is not in the catalogue.

    No key is needed, nothing is sent. Raises ConfigurationError for a name that no vendor, or more than one, is known to serve.
    """
    named = (registries or default_registries()).named(model)
    assert named.provider is not None
    return (catalogue or default_catalogue()).lookup(named.provider, named.id)


def cost(response: Response, *, catalogue: Catalogue | None = None) -> Cost | None:
    """What the response cost in US dollars, by the prices of the model that answered; None where usage or prices are not known.

    Attempts that failed, and a request that lost a race, are not in it: see `response.failed_attempts`.
    """
    known = catalogue or default_catalogue()
    names = (response.model, response.requested_model)
    info = next((found for name in names if name and response.provider and (found := known.lookup(response.provider, name))), None)
    if info is None or info.prices is None or response.usage is None:
        return None
    return cost_of(response.usage, info.prices)


__all__ = ["Catalogue", "Cost", "ModelInfo", "cost", "model_info", "overflowed"]
