"""Plain JSON calls: one request, one JSON document, no stream. Retrieving a run, listing models, counting tokens.

`PlainCall` is an adapter for one such call, so that it runs through the same attempts, deadlines and retries as a stream. Address, key
and headers are those of the protocol's own adapter; the answer is one opaque block that holds the document.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from headwater_codecs import tolerant_json
from headwater_codecs.framing import Format, snippet
from headwater_codecs.neutral.errors import ConfigurationError, ErrorInfo, error_info
from headwater_codecs.neutral.request import Request, Secret
from headwater_codecs.sse import Frame
from headwater_codecs.tolerant_json import clean, encode_json
from headwater_providers.adapter import Adapter, HttpRequest, Support, Target
from headwater_providers.bare_error import says_error
from headwater_providers.body import encode_body
from headwater_providers.checks import check_json
from headwater_providers.event_translator import EventTranslator, Json
from headwater_providers.flags import Dialect
from headwater_providers.http import add_headers, join_url

METHODS = ("GET", "POST", "DELETE", "PUT", "PATCH")
_VERSION = re.compile(r"v\d+\w*")
_PATH = re.compile(r"/(?:[!$&-;=@-~]|%[0-9A-Fa-f]{2})*(?:\?[!$&-;=?-~%]*)?")  # printable ASCII without quotes, #, < and >
_CUT = "truncated"  # what msgspec says of a document that ends too early
# An object of nothing but these is an error, whatever the status says. Objects that tell of a failure that is past (a response, a job) have more.
_ENVELOPE = frozenset({"error", "type", "request_id", "user_id", "status", "code", "message"})


class PlainCall:
    """An adapter for one plain call to where `adapter` sends its streams. Raises ConfigurationError for what cannot be sent."""

    protocol = "json"
    format: Format = "json"
    supports: Mapping[str, Support] = {}

    def __init__(self, adapter: Adapter, method: str, path: str, json: object = None, headers: Mapping[str, str] | None = None) -> None:
        if method not in METHODS:
            raise ConfigurationError(f"the method is {method!r}: use one of {', '.join(METHODS)}")
        if not _PATH.fullmatch(path) or path.startswith("//") or _leads_elsewhere(path):
            raise ConfigurationError(f"the path {path!r} is none: it begins with one slash, as /threads does, and is percent-encoded")
        if json is not None and method == "GET":
            raise ConfigurationError("a GET carries no JSON: put it behind the path, as in /threads?limit=5")
        self._adapter = adapter
        self._method = method
        self._path = path
        self._body = b"" if json is None else _encoded(json)
        self._more = headers or {}

    def build(self, request: Request, target: Target, api_key: Secret | None) -> HttpRequest:
        """The call as HTTP; of the request nothing is read, its model is resolved in the target."""
        headers, query = self.envelope(target, api_key)
        headers["accept"] = "application/json"
        if not self._body:
            headers.pop("content-type", None)
        add_headers(headers, self._more)
        return HttpRequest(self._method, plain_url(target.base_url, self._path, target.model, query), tuple(headers.items()), self._body)

    def envelope(self, target: Target, api_key: Secret | None) -> tuple[dict[str, str], Mapping[str, str]]:
        """The protocol's own."""
        return self._adapter.envelope(target, api_key)

    def translator(self, dialect: object = None, *, provider: str | None = None, choices: int = 1, raw: bool = False) -> DocumentTranslator:
        """A fresh translator for one answer."""
        return DocumentTranslator(Dialect(), provider=provider, raw=raw)

    def dialect(self, overrides: Mapping[str, object], base: object = None) -> object:
        """The protocol's own."""
        return self._adapter.dialect(overrides, base)

    def read_error(self, status: int, headers: Mapping[str, str], body: bytes) -> ErrorInfo:
        """What an answer other than 2xx says, as the provider means it; `body` may be cut."""
        return self._adapter.read_error(status, headers, body)


class DocumentTranslator(EventTranslator):
    """One JSON document, whole, as one opaque block; no block where the body is empty. An answer that is an error, and nothing else, is one."""

    protocol = "json"

    def _event(self, value: Json, frame: Frame) -> None:
        self._document(value, frame.data)

    def _frame(self, frame: Frame) -> None:
        try:
            self._document(msgspec.json.decode(frame.data), frame.data)
        except (ValueError, RecursionError) as error:  # also msgspec's own errors
            try:
                value = clean(tolerant_json.decode(frame.data))
            except ValueError:
                self._fail(_unreadable(frame.data, cut=_CUT in str(error)))
            else:
                self._document(value, encode_json(value))

    def _document(self, value: object, raw: bytes) -> None:
        if isinstance(value, dict) and says_error(value.get("error")) and value.keys() <= _ENVELOPE:
            self._in_band(value)
            return
        self._blocks.open_opaque("document", "json").raw = raw
        self._end()

    def _ended_well(self) -> bool:
        return True  # nothing at all: the answer of many a DELETE; whether bytes are missing is the transport's to know

    def _end(self) -> None:
        self._finish_with("stop", None)


def plain_url(base_url: str, path: str, model: str, query: Mapping[str, str]) -> str:
    """The address of a call: the path, as vendors write it, behind the base URL. A version that both name is said once.

    A query in the path outranks `query`.
    """
    path, _, own = path.partition("?")
    first, last = path[1:].partition("/")[0], base_url.partition("?")[0].rstrip("/").rpartition("/")[2]
    if first == last and _VERSION.fullmatch(first):
        path = path[len(first) + 1 :]
    named = {pair.partition("=")[0] for pair in own.split("&")}
    url = join_url(base_url, path, model if "{model}" in path else "", tuple((name, value) for name, value in query.items() if name not in named))
    return f"{url}{'&' if '?' in url else '?'}{own}" if own else url


def _leads_elsewhere(path: str) -> bool:
    """Whether a part of the path is made of dots: an id that is one would change the address."""
    return not {".", ".."}.isdisjoint(path.partition("?")[0].lower().replace("%2e", ".").split("/"))


def _encoded(value: object) -> bytes:
    check_json(value, "json")
    return encode_body(value)


def _unreadable(data: bytes, cut: bool) -> ErrorInfo:
    if cut:
        return error_info("truncated", f"the answer ended inside its JSON: {snippet(data)}", phase="stream")
    return error_info("malformed", f"the answer is not JSON: {snippet(data)}", phase="stream")


__all__ = ["METHODS", "DocumentTranslator", "PlainCall", "plain_url"]
