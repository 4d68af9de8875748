"""Access tokens of Google and Azure for `api_key=`: fetched when they are needed, kept until shortly before they expire, one fetch at a time.

All of them may block, so the engine calls them in a worker thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import UTC
from threading import Lock
from typing import Any

from headwater_codecs.neutral import ConfigurationError

EARLY = 120.0  # seconds before its end at which a token is renewed
GOOGLE_SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)
AZURE_SCOPE = "https://cognitiveservices.azure.com/.default"
Fetch = Callable[[], tuple[str, float]]  # a token, and when it ends in seconds since 1970


class CachedToken:
    """A token provider that asks `fetch` only when it must. Safe to be called from several threads; the clock gives seconds since 1970."""

    def __init__(self, fetch: Fetch, clock: Callable[[], float] = time.time) -> None:
        self._fetch = fetch
        self._clock = clock
        self._lock = Lock()
        self._token = ""
        self._until = 0.0

    def __call__(self) -> str:
        """The token. What the fetch raises is raised; the next call tries again."""
        with self._lock:
            if not self._token or self._clock() >= self._until - EARLY:
                self._token, self._until = self._fetch()
            return self._token

    def __repr__(self) -> str:
        return "CachedToken(***)"


def google_token(credentials: Any = None, scopes: Sequence[str] = GOOGLE_SCOPES) -> CachedToken:
    """A token for Vertex by `google-auth` (extra `vertex`): of these credentials, or of the application's default ones."""

    def fetch() -> tuple[str, float]:
        try:
            import google.auth
            from google.auth.exceptions import GoogleAuthError
            from google.auth.transport.requests import Request
        except ImportError:
            raise ConfigurationError("tokens for Vertex need google-auth: pip install headwater[vertex]") from None
        nonlocal credentials
        try:
            if credentials is None:
                credentials, _ = google.auth.default(scopes=list(scopes))
            credentials.refresh(Request())
        except GoogleAuthError as error:
            said = f"google-auth found no usable credentials ({type(error).__name__})"
            raise ConfigurationError(f"{said}: run gcloud auth application-default login") from error
        expires = credentials.expiry
        return credentials.token, time.time() + 3600 if expires is None else expires.replace(tzinfo=UTC).timestamp()  # without a zone, but in UTC

    return CachedToken(fetch)


def azure_token(credential: Any = None, scope: str = AZURE_SCOPE) -> CachedToken:
    """A token for Azure OpenAI of anything with `get_token(scope)`, as `azure-identity` has it; of its default credential unless one is given."""

    def fetch() -> tuple[str, float]:
        nonlocal credential
        if credential is None:
            try:
                from azure.identity import DefaultAzureCredential
            except ImportError:
                raise ConfigurationError("tokens for Azure need azure-identity (pip install azure-identity), or a credential of your own") from None
            credential = DefaultAzureCredential()
        token = credential.get_token(scope)
        return token.token, float(token.expires_on)

    return CachedToken(fetch)
