"""What is known of models: windows, limits, prices, what they read and write, and how much they think. Data with a date; no network when used."""

from __future__ import annotations

from headwater_providers.catalogue.cost import Cost, cost_of
from headwater_providers.catalogue.models import Catalogue, ModelInfo, Prices, default_catalogue
from headwater_providers.catalogue.overflow import overflowed

__all__ = ["Catalogue", "Cost", "ModelInfo", "Prices", "cost_of", "default_catalogue", "overflowed"]
