"""The ollama-chat adapter: request builder, translator and support table of one protocol, put together."""

from __future__ import annotations

from collections.abc import Mapping

from headwater_codecs.framing import Format
from headwater_codecs.neutral import Request
from headwater_providers.adapter import Support, Target, Translator
from headwater_providers.body import Json
from headwater_providers.flags import Dialect
from headwater_providers.json_adapter import JsonAdapter
from headwater_providers.ollama_chat.dialect import OllamaDialect, ollama_dialect
from headwater_providers.ollama_chat.request import build_fields
from headwater_providers.ollama_chat.support import SUPPORTS
from headwater_providers.ollama_chat.translate import OllamaTranslator


class OllamaChatAdapter(JsonAdapter):
    """Speaks `POST .../api/chat`."""

    protocol = "ollama-chat"
    format: Format = "ndjson"
    supports: Mapping[str, Support] = SUPPORTS

    def fields(self, request: Request, target: Target, dialect: Dialect) -> Json:
        """The body's fields."""
        assert isinstance(dialect, OllamaDialect)
        return build_fields(request, target, dialect)

    def flags(self, dialect: object) -> OllamaDialect:
        """The dialect, the default one for None."""
        return ollama_dialect({}, dialect)

    def translator(self, dialect: object = None, *, provider: str | None = None, choices: int = 1, raw: bool = False) -> Translator:
        """A fresh translator for one response."""
        return OllamaTranslator(ollama_dialect({}, dialect), provider=provider, choices=choices, raw=raw)

    def dialect(self, overrides: Mapping[str, object], base: object = None) -> OllamaDialect:
        """`base` with some flags replaced. Raises ConfigurationError for an unknown flag or a wrong type."""
        return ollama_dialect(overrides, base)
