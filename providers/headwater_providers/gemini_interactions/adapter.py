"""The gemini-interactions adapter: request builder, translator and support table of one protocol, put together."""

from __future__ import annotations

from collections.abc import Mapping

from headwater_codecs.framing import Format
from headwater_codecs.neutral import Request
from headwater_providers.adapter import Support, Target, Translator
from headwater_providers.body import Json
from headwater_providers.flags import Dialect
from headwater_providers.gemini_interactions.dialect import InteractionsDialect, interactions_dialect
from headwater_providers.gemini_interactions.request import build_fields
from headwater_providers.gemini_interactions.support import SUPPORTS
from headwater_providers.gemini_interactions.translate import InteractionsTranslator
from headwater_providers.json_adapter import JsonAdapter

REVISION = "2026-05-20"


class GeminiInteractionsAdapter(JsonAdapter):
    """Speaks `POST .../interactions` with `stream: true`."""

    protocol = "gemini-interactions"
    format: Format = "sse"
    supports: Mapping[str, Support] = SUPPORTS

    def fields(self, request: Request, target: Target, dialect: Dialect) -> Json:
        """The body's fields."""
        assert isinstance(dialect, InteractionsDialect)
        return build_fields(request, target, dialect)

    def headers(self, dialect: Dialect) -> Mapping[str, str]:
        """The revision of the API that has steps."""
        return {"api-revision": REVISION}

    def flags(self, dialect: object) -> InteractionsDialect:
        """The dialect, the default one for None."""
        return interactions_dialect({}, dialect)

    def translator(self, dialect: object = None, *, provider: str | None = None, choices: int = 1, raw: bool = False) -> Translator:
        """A fresh translator for one response."""
        return InteractionsTranslator(interactions_dialect({}, dialect), provider=provider, choices=choices, raw=raw)

    def dialect(self, overrides: Mapping[str, object], base: object = None) -> InteractionsDialect:
        """`base` with some flags replaced. Raises ConfigurationError for an unknown flag or a wrong type."""
        return interactions_dialect(overrides, base)
