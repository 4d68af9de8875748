"""What differs between the models of bedrock-invoke, as flags: each family has a body of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from headwater_providers.flags import Dialect, read_flags

Family = Literal["anthropic", "titan", "nova", "llama", "mistral", "mistral-chat"]


class InvokeDialect(Dialect, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """The flags of this protocol alone."""

    path: str = "/model/{model}/invoke-with-response-stream"
    auth: Literal["bearer", "sigv4", "none"] = "bearer"
    family: Family | None = None  # of the request's body; None: told by the model's name. Answers tell theirs themselves


DEFAULT = InvokeDialect()


def invoke_dialect(overrides: Mapping[str, object], base: object = None) -> InvokeDialect:
    """`base` (the defaults if None) with some flags replaced. Raises ConfigurationError for an unknown flag or a wrong type."""
    return read_flags("bedrock-invoke", DEFAULT, overrides, base)
