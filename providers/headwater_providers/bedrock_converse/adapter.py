"""The bedrock-converse adapter: request builder, translator and support table of one protocol, put together."""

from __future__ import annotations

from collections.abc import Mapping

from headwater_codecs.framing import Format
from headwater_codecs.neutral import Request
from headwater_providers.adapter import Support, Target, Translator
from headwater_providers.bedrock_converse.dialect import ConverseDialect, converse_dialect
from headwater_providers.bedrock_converse.request import build_fields
from headwater_providers.bedrock_converse.support import SUPPORTS
from headwater_providers.bedrock_converse.translate import ConverseTranslator
from headwater_providers.body import Json
from headwater_providers.flags import Dialect
from headwater_providers.json_adapter import JsonAdapter


class BedrockConverseAdapter(JsonAdapter):
    """Speaks `POST .../model/MODEL/converse-stream`."""

    protocol = "bedrock-converse"
    format: Format = "aws-event-stream"
    supports: Mapping[str, Support] = SUPPORTS

    def fields(self, request: Request, target: Target, dialect: Dialect) -> Json:
        """The body's fields."""
        assert isinstance(dialect, ConverseDialect)
        return build_fields(request, target, dialect)

    def flags(self, dialect: object) -> ConverseDialect:
        """The dialect, the default one for None."""
        return converse_dialect({}, dialect)

    def translator(self, dialect: object = None, *, provider: str | None = None, choices: int = 1, raw: bool = False) -> Translator:
        """A fresh translator for one response."""
        return ConverseTranslator(converse_dialect({}, dialect), provider=provider, choices=choices, raw=raw)

    def dialect(self, overrides: Mapping[str, object], base: object = None) -> ConverseDialect:
        """`base` with some flags replaced. Raises ConfigurationError for an unknown flag or a wrong type."""
        return converse_dialect(overrides, base)
