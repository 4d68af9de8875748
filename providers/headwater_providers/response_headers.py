"""Response headers that mean something to a caller: which are kept, and which one names the request. Vendors' names, so they are data here."""

from __future__ import annotations

from collections.abc import Mapping

# Limits, request ids, times. Nothing that could hold a secret. Each stands for all names that begin with it.
KEPT_HEADERS = (
    "x-ratelimit-",
    "ratelimit-",
    "anthropic-ratelimit-",
    "x-request-id",
    "request-id",
    "x-amzn-requestid",
    "apim-request-id",
    "retry-after",
    "openai-processing-ms",
    "date",
)
REQUEST_ID_HEADERS = ("x-request-id", "request-id", "apim-request-id", "x-ms-request-id", "x-amzn-requestid", "x-generation-id", "cf-ray")


def kept_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers that a `Response` keeps. Names are lower case."""
    return {name: value for name, value in headers.items() if name.startswith(KEPT_HEADERS)}


def request_id(headers: Mapping[str, str]) -> str | None:
    """The provider's own name for the request, None where it gives none."""
    return next((headers[name] for name in REQUEST_ID_HEADERS if headers.get(name)), None)
