"""What the adapters of most protocols share: one POST with a JSON body. A protocol says its fields, its translator and its table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from headwater_codecs.framing import Format
from headwater_codecs.neutral import ErrorInfo, Request, Secret
from headwater_providers.adapter import HttpRequest, Support, Target
from headwater_providers.body import Json, encode_body, merged, with_extra_body
from headwater_providers.checks import check_rejected, check_types, check_unsupported
from headwater_providers.errors import read_error
from headwater_providers.flags import Dialect
from headwater_providers.http import JSON_HEADERS, add_headers, authorization, join_url


class JsonAdapter(ABC):
    """Builds the request; subclasses give `fields`, and may change `path` and `headers`."""

    protocol: str
    format: Format = "sse"
    supports: Mapping[str, Support]

    def build(self, request: Request, target: Target, api_key: Secret | None) -> HttpRequest:
        """The request as HTTP. Raises ConfigurationError, naming the field, for what the protocol or the vendor cannot say."""
        dialect = self.flags(target.dialect)
        check_types(request)
        check_rejected(request, self.supports, self.protocol)
        check_unsupported(request, dialect.unsupported, target.provider)
        headers, _ = self.envelope(target, api_key)
        add_headers(headers, request.extra_headers)
        body = self.fields(request, target, dialect)
        if dialect.extra_body:
            body = merged(dialect.extra_body, body)
        body = with_extra_body(body, request)
        path = self.path(request, target, dialect, body)
        url = join_url(target.base_url, path, target.model if "{model}" in path else "", tuple(dialect.query.items()))
        return HttpRequest("POST", url, tuple(headers.items()), encode_body(body))

    def envelope(self, target: Target, api_key: Secret | None) -> tuple[dict[str, str], Mapping[str, str]]:
        """The headers and the query of everything that goes to this target, plain calls too: the key, the version, the vendor's own."""
        dialect = self.flags(target.dialect)
        headers = {**JSON_HEADERS, **self.headers(dialect)}
        if api_key is not None:
            headers.update(authorization(api_key, dialect.auth, callable(target.api_key)))
        add_headers(headers, target.headers)
        return headers, dialect.query

    @abstractmethod
    def fields(self, request: Request, target: Target, dialect: Dialect) -> Json:
        """The body's fields."""

    def path(self, request: Request, target: Target, dialect: Dialect, body: Json) -> str:
        """The path behind the base URL. What of the body belongs into the path is taken out of it."""
        return dialect.path

    def headers(self, dialect: Dialect) -> Mapping[str, str]:
        """Headers of the protocol's own."""
        return {}

    @abstractmethod
    def flags(self, dialect: object) -> Dialect:
        """The dialect, the default one for None. Raises ConfigurationError for another protocol's."""

    def read_error(self, status: int, headers: Mapping[str, str], body: bytes) -> ErrorInfo:
        """What an answer other than 2xx says, as the provider means it; `body` may be cut."""
        return read_error(status, headers, body)


SENT = Support("supported")
EXTRAS: Mapping[str, Support] = {
    "extra_body": Support("supported", "merged over the body, key by key"),
    "extra_headers": Support("supported", "merged over the headers"),
    "timeouts": Support("ignored", "deadlines are kept by the engine, not sent"),
}


def support_table(
    rejected: Mapping[str, str], supported: Mapping[str, str] | None = None, ignored: Mapping[str, str] | None = None
) -> dict[str, Support]:
    """A table for every field of Request: what is not named is sent as it is. The values are the reasons."""
    table: dict[str, Support] = {}
    for name in Request.__struct_fields__:
        if name in EXTRAS:
            table[name] = EXTRAS[name]
        elif name in rejected:
            table[name] = Support("rejected", rejected[name])
        elif ignored is not None and name in ignored:
            table[name] = Support("ignored", ignored[name])
        else:
            table[name] = Support("supported", (supported or {}).get(name, ""))
    return table
