"""What differs between the servers of bedrock-converse, as flags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from headwater_providers.flags import Dialect, read_flags


class ConverseDialect(Dialect, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """The flags of this protocol alone. The defaults are Amazon's own."""

    path: str = "/model/{model}/converse-stream"
    auth: Literal["bearer", "sigv4", "none"] = "bearer"
    reasoning_field: Literal["thinking", "reasoning_config", "none"] = "none"  # where `additionalModelRequestFields` takes a budget
    signed_reasoning: bool = False  # the model signs its reasoning, and takes it back (PI-BR-04)


DEFAULT = ConverseDialect()


def converse_dialect(overrides: Mapping[str, object], base: object = None) -> ConverseDialect:
    """`base` (the defaults if None) with some flags replaced. Raises ConfigurationError for an unknown flag or a wrong type."""
    return read_flags("bedrock-converse", DEFAULT, overrides, base)
