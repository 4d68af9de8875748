"""The gemini adapter: request builder, translator and support table of one protocol, put together."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from headwater_codecs.framing import Format
from headwater_codecs.neutral import Request, Secret
from headwater_providers.adapter import Support, Target, Translator
from headwater_providers.body import Json
from headwater_providers.flags import Dialect
from headwater_providers.gemini.dialect import GeminiDialect, gemini_dialect
from headwater_providers.gemini.request import build_fields
from headwater_providers.gemini.support import SUPPORTS
from headwater_providers.gemini.translate import GeminiTranslator
from headwater_providers.json_adapter import JsonAdapter

_PREFIXES = ("models/", "tunedModels/", "endpoints/", "publishers/", "projects/")


class GeminiAdapter(JsonAdapter):
    """Speaks `POST .../models/MODEL:streamGenerateContent?alt=sse`, of the Gemini API and of Vertex."""

    protocol = "gemini"
    format: Format = "sse-or-array"
    supports: Mapping[str, Support] = SUPPORTS

    def fields(self, request: Request, target: Target, dialect: Dialect) -> Json:
        """The body's fields."""
        assert isinstance(dialect, GeminiDialect)
        return build_fields(request, target, dialect)

    def path(self, request: Request, target: Target, dialect: Dialect, body: Json) -> str:
        """The path behind the base URL; a model's name may bring its own `models/`, or be a whole path."""
        return dialect.path.replace("models/{model}", quote(target.model, safe="/:@")) if target.model.startswith(_PREFIXES) else dialect.path

    def envelope(self, target: Target, api_key: Secret | None) -> tuple[dict[str, str], Mapping[str, str]]:
        """What every adapter's has; `alt=sse` asks for a stream, so a plain call goes without it."""
        headers, query = super().envelope(target, api_key)
        return headers, {name: value for name, value in query.items() if name != "alt"}

    def flags(self, dialect: object) -> GeminiDialect:
        """The dialect, the default one for None."""
        return gemini_dialect({}, dialect)

    def translator(self, dialect: object = None, *, provider: str | None = None, choices: int = 1, raw: bool = False) -> Translator:
        """A fresh translator for one response."""
        return GeminiTranslator(gemini_dialect({}, dialect), provider=provider, choices=choices, raw=raw)

    def dialect(self, overrides: Mapping[str, object], base: object = None) -> GeminiDialect:
        """`base` with some flags replaced. Raises ConfigurationError for an unknown flag or a wrong type."""
        return gemini_dialect(overrides, base)
