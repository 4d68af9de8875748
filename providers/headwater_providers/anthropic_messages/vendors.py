"""The vendors of this protocol, as data."""

from __future__ import annotations

from headwater_providers.vendors import ProviderSpec

VENDORS: tuple[ProviderSpec, ...] = ()
