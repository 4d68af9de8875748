"""The anthropic-messages adapter: request builder, translator, error reader and support table of one protocol, put together."""

from __future__ import annotations

from collections.abc import Mapping

from headwater_codecs.framing import Format
from headwater_codecs.neutral import ErrorInfo, Request, Secret
from headwater_providers.adapter import HttpRequest, Support, Target, Translator
from headwater_providers.anthropic_messages.dialect import MessagesDialect, messages_dialect
from headwater_providers.anthropic_messages.request import build_body
from headwater_providers.anthropic_messages.support import SUPPORTS
from headwater_providers.anthropic_messages.translate import MessagesTranslator
from headwater_providers.errors import read_error
from headwater_providers.http import JSON_HEADERS, add_headers, join_url, key_text

_VERSION = "/v1"


class AnthropicMessagesAdapter:
    """Speaks `POST .../v1/messages` with `stream: true`."""

    protocol = "anthropic-messages"
    format: Format = "sse"
    supports: Mapping[str, Support] = SUPPORTS

    def build(self, request: Request, target: Target, api_key: Secret | None) -> HttpRequest:
        """The request as HTTP. Raises ConfigurationError, naming the field, for what the protocol or the vendor cannot say."""
        dialect = messages_dialect({}, target.dialect)
        headers, _ = self.envelope(target, api_key)
        add_headers(headers, request.extra_headers)
        return HttpRequest("POST", _url(target.base_url, dialect), tuple(headers.items()), build_body(request, target, dialect))

    def envelope(self, target: Target, api_key: Secret | None) -> tuple[dict[str, str], Mapping[str, str]]:
        """The headers and the query of everything that goes to this target, plain calls too: the key, the version, the vendor's own."""
        dialect = messages_dialect({}, target.dialect)
        headers = dict(JSON_HEADERS)
        if dialect.version is not None:
            headers["anthropic-version"] = dialect.version
        if api_key is not None:
            headers.update(_authorization(api_key, dialect))
        add_headers(headers, target.headers)
        return headers, dialect.query

    def translator(self, dialect: object = None, *, provider: str | None = None, choices: int = 1, raw: bool = False) -> Translator:
        """A fresh translator for one response."""
        return MessagesTranslator(messages_dialect({}, dialect), provider=provider, choices=choices, raw=raw)

    def dialect(self, overrides: Mapping[str, object], base: object = None) -> MessagesDialect:
        """`base` with some flags replaced. Raises ConfigurationError for an unknown flag or a wrong type."""
        return messages_dialect(overrides, base)

    def read_error(self, status: int, headers: Mapping[str, str], body: bytes) -> ErrorInfo:
        """What an answer other than 2xx says, as the provider means it; `body` may be cut."""
        return read_error(status, headers, body)


def _authorization(api_key: Secret, dialect: MessagesDialect) -> dict[str, str]:
    """The header that carries the key."""
    if dialect.auth == "none":
        return {}
    key = key_text(api_key)
    return {"x-api-key": key} if dialect.auth == "x-api-key" else {"authorization": f"Bearer {key}"}


def _url(base_url: str, dialect: MessagesDialect) -> str:
    """The address. Users write the base URL with and without its version."""
    base, path = base_url.partition("?")[0].rstrip("/"), dialect.path
    if base.endswith(_VERSION) and path.startswith(f"{_VERSION}/"):
        path = path[len(_VERSION) :]
    return join_url(base_url, path, query=tuple(dialect.query.items()))
