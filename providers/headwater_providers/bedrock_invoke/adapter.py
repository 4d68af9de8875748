"""The bedrock-invoke adapter: request builder, translator and support table of one protocol, put together."""

from __future__ import annotations

from collections.abc import Mapping

from headwater_codecs.framing import Format
from headwater_codecs.neutral import Request
from headwater_providers.adapter import Support, Target, Translator
from headwater_providers.bedrock_invoke.dialect import InvokeDialect, invoke_dialect
from headwater_providers.bedrock_invoke.request import build_fields
from headwater_providers.bedrock_invoke.support import SUPPORTS
from headwater_providers.bedrock_invoke.translate import InvokeTranslator
from headwater_providers.body import Json
from headwater_providers.flags import Dialect
from headwater_providers.json_adapter import JsonAdapter


class BedrockInvokeAdapter(JsonAdapter):
    """Speaks `POST .../model/MODEL/invoke-with-response-stream`."""

    protocol = "bedrock-invoke"
    format: Format = "aws-event-stream"
    supports: Mapping[str, Support] = SUPPORTS

    def fields(self, request: Request, target: Target, dialect: Dialect) -> Json:
        """The body's fields."""
        assert isinstance(dialect, InvokeDialect)
        return build_fields(request, target, dialect)

    def flags(self, dialect: object) -> InvokeDialect:
        """The dialect, the default one for None."""
        return invoke_dialect({}, dialect)

    def translator(self, dialect: object = None, *, provider: str | None = None, choices: int = 1, raw: bool = False) -> Translator:
        """A fresh translator for one response."""
        return InvokeTranslator(invoke_dialect({}, dialect), provider=provider, choices=choices, raw=raw)

    def dialect(self, overrides: Mapping[str, object], base: object = None) -> InvokeDialect:
        """`base` with some flags replaced. Raises ConfigurationError for an unknown flag or a wrong type."""
        return invoke_dialect(overrides, base)
