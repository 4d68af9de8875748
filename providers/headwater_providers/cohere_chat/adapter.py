"""The cohere-chat adapter: request builder, translator and support table of one protocol, put together."""

from __future__ import annotations

from collections.abc import Mapping

from headwater_codecs.framing import Format
from headwater_codecs.neutral import Request
from headwater_providers.adapter import Support, Target, Translator
from headwater_providers.body import Json
from headwater_providers.cohere_chat.dialect import CohereDialect, cohere_dialect
from headwater_providers.cohere_chat.request import build_fields
from headwater_providers.cohere_chat.support import SUPPORTS
from headwater_providers.cohere_chat.translate import CohereTranslator
from headwater_providers.flags import Dialect
from headwater_providers.json_adapter import JsonAdapter


class CohereChatAdapter(JsonAdapter):
    """Speaks `POST .../v2/chat` with `stream: true`."""

    protocol = "cohere-chat"
    format: Format = "sse"
    supports: Mapping[str, Support] = SUPPORTS

    def fields(self, request: Request, target: Target, dialect: Dialect) -> Json:
        """The body's fields."""
        assert isinstance(dialect, CohereDialect)
        return build_fields(request, target, dialect)

    def flags(self, dialect: object) -> CohereDialect:
        """The dialect, the default one for None."""
        return cohere_dialect({}, dialect)

    def translator(self, dialect: object = None, *, provider: str | None = None, choices: int = 1, raw: bool = False) -> Translator:
        """A fresh translator for one response."""
        return CohereTranslator(cohere_dialect({}, dialect), provider=provider, choices=choices, raw=raw)

    def dialect(self, overrides: Mapping[str, object], base: object = None) -> CohereDialect:
        """`base` with some flags replaced. Raises ConfigurationError for an unknown flag or a wrong type."""
        return cohere_dialect(overrides, base)
