"""The openai-chat adapter: request builder, translator, error reader and support table of one protocol, put together."""

from __future__ import annotations

from collections.abc import Mapping

from headwater_codecs.framing import Format
from headwater_codecs.neutral import ErrorInfo, Request, Secret
from headwater_providers.adapter import HttpRequest, Support, Target, Translator
from headwater_providers.errors import read_error
from headwater_providers.http import JSON_HEADERS, add_headers, authorization, join_url
from headwater_providers.openai_chat.dialect import ChatDialect, chat_dialect
from headwater_providers.openai_chat.request import build_body
from headwater_providers.openai_chat.support import SUPPORTS
from headwater_providers.openai_chat.translate import ChatTranslator


class OpenAIChatAdapter:
    """Speaks `POST .../chat/completions` with `stream: true`."""

    protocol = "openai-chat"
    format: Format = "sse"
    supports: Mapping[str, Support] = SUPPORTS

    def build(self, request: Request, target: Target, api_key: Secret | None) -> HttpRequest:
        """The request as HTTP. Raises ConfigurationError, naming the field, for what the protocol or the vendor cannot say."""
        headers, query = self.envelope(target, api_key)
        if request.extra_headers:
            add_headers(headers, request.extra_headers)
        dialect = chat_dialect({}, target.dialect)
        url = join_url(target.base_url, dialect.path, target.model if "{model}" in dialect.path else "", tuple(query.items()))
        return HttpRequest("POST", url, tuple(headers.items()), build_body(request, target, dialect))

    def envelope(self, target: Target, api_key: Secret | None) -> tuple[dict[str, str], Mapping[str, str]]:
        """The headers and the query of everything that goes to this target, plain calls too: the key, the version, the vendor's own."""
        dialect = chat_dialect({}, target.dialect)
        headers = dict(JSON_HEADERS)
        if api_key is not None:
            headers.update(authorization(api_key, dialect.auth, callable(target.api_key)))
        if target.headers:
            add_headers(headers, target.headers)
        return headers, dialect.query

    def translator(self, dialect: object = None, *, provider: str | None = None, choices: int = 1, raw: bool = False) -> Translator:
        """A fresh translator for one response."""
        flags = dialect if type(dialect) is ChatDialect else chat_dialect({}, dialect)
        return ChatTranslator(flags, provider=provider, choices=choices, raw=raw)

    def dialect(self, overrides: Mapping[str, object], base: object = None) -> ChatDialect:
        """`base` with some flags replaced. Raises ConfigurationError for an unknown flag or a wrong type."""
        return chat_dialect(overrides, base)

    def read_error(self, status: int, headers: Mapping[str, str], body: bytes) -> ErrorInfo:
        """What an answer other than 2xx says, as the provider means it; `body` may be cut."""
        return read_error(status, headers, body)
