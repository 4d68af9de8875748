"""The ollama-chat adapter."""

from __future__ import annotations

from collections.abc import Mapping

from headwater_codecs.framing import Format
from headwater_codecs.neutral import ErrorInfo, Request, Secret
from headwater_providers.adapter import HttpRequest, Support, Target, Translator
from headwater_providers.errors import read_error
from headwater_providers.ollama_chat.dialect import OllamaDialect, ollama_dialect
from headwater_providers.ollama_chat.translate import OllamaTranslator


class OllamaChatAdapter:
    """Speaks `POST .../api/chat`."""

    protocol = "ollama-chat"
    format: Format = "ndjson"
    supports: Mapping[str, Support] = {}

    def build(self, request: Request, target: Target, api_key: Secret | None) -> HttpRequest:
        """The request as HTTP."""
        raise NotImplementedError

    def translator(self, dialect: object = None, *, provider: str | None = None, choices: int = 1, raw: bool = False) -> Translator:
        """A fresh translator for one response."""
        return OllamaTranslator(ollama_dialect({}, dialect), provider=provider, choices=choices, raw=raw)

    def dialect(self, overrides: Mapping[str, object], base: object = None) -> OllamaDialect:
        """`base` with some flags replaced. Raises ConfigurationError for an unknown flag or a wrong type."""
        return ollama_dialect(overrides, base)

    def read_error(self, status: int, headers: Mapping[str, str], body: bytes) -> ErrorInfo:
        """What an answer other than 2xx says, as the provider means it; `body` may be cut."""
        return read_error(status, headers, body)
