"""The seam between the engine and a wire protocol: what an adapter is, and what passes through it.

An adapter is stateless. Per call it builds one `HttpRequest` and makes one `Translator`; both are pure. Vendors are data (`Target` holds
what the registries resolved), so an adapter never asks which vendor it talks to, only what the dialect says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, Protocol

from msgspec import Struct

from headwater_codecs.framing import Fault, Format
from headwater_codecs.neutral import Diagnostic, ErrorInfo, Event, Request, Secret
from headwater_codecs.neutral.request import KeyProvider
from headwater_codecs.sse import Frame


class HttpRequest(Struct, frozen=True):
    """One HTTP request, ready to be sent. Header names are lower case; `headers` may carry a key, so the repr leaves them out."""

    method: str
    url: str
    headers: Sequence[tuple[str, str]]
    body: bytes

    def __repr__(self) -> str:
        return f"HttpRequest({self.method} {self.url}, {len(self.body)} bytes)"


class Target(Struct, frozen=True, kw_only=True):
    """Where a request goes: a model with everything looked up. `dialect` is the adapter's own struct of flags.

    `launcher` names the engine's part that starts the server for this model; `base_url` is "" until it did. `credential` names the engine's part
    that gets a token where there is no key. `modalities` is what the model reads, None where nobody knows.
    """

    model: str
    provider: str
    protocol: str
    base_url: str
    api_key: Secret | KeyProvider | None = None
    headers: Mapping[str, str] = {}
    dialect: object = None
    launcher: str | None = None
    credential: str | None = None
    modalities: frozenset[str] | None = None

    def __repr__(self) -> str:
        return f"Target({self.provider}/{self.model}, {self.protocol}, {self.base_url})"


class Signer(Protocol):
    """A credential that is no text for a header: it signs the finished request. What a token provider may return instead of a token."""

    def sign(self, request: HttpRequest, now: datetime) -> HttpRequest:
        """The request with its signature. Pure: the same request, credential and time give the same signature."""


class Support(Struct, frozen=True):
    """What an adapter does with one `Request` field: sends it, rejects it by name, or ignores it for a reason."""

    how: Literal["supported", "rejected", "ignored"]
    reason: str = ""


class Translator(Protocol):
    """A pure stage from frames to events; its writer holds the laws of the event stream."""

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """What was odd and did not stop the stream."""

    @property
    def progress(self) -> int:
        """Grows with every sign of the model at work that is no event: a call that has no name yet, a signature."""

    @property
    def done(self) -> bool:
        """True once the terminal event is out: nothing more is read."""

    @property
    def settled(self) -> bool:
        """True once the finish reason is known and only trailing usage may follow."""

    def feed(self, frames: Sequence[Frame | Fault], /) -> list[Event]:
        """Events of these frames. Never raises for what a provider sends: a fault becomes the terminal event."""

    def finish(self) -> list[Event]:
        """The bytes ended cleanly: close what is open and say by the protocol's contract whether the stream was whole."""

    def fail(self, error: ErrorInfo) -> list[Event]:
        """The stream broke outside of the protocol (network, deadline): close what is open and end with StreamFailed."""


class Adapter(Protocol):
    """One wire protocol."""

    protocol: str
    format: Format
    supports: Mapping[str, Support]

    def build(self, request: Request, target: Target, api_key: Secret | None) -> HttpRequest:
        """The request as HTTP. Raises ConfigurationError, naming the field, for what the protocol cannot say."""

    def envelope(self, target: Target, api_key: Secret | None) -> tuple[dict[str, str], Mapping[str, str]]:
        """The headers and the query of everything that goes to this target, plain calls too: the key, the version, the vendor's own."""

    def translator(self, dialect: object = None, *, provider: str | None = None, choices: int = 1, raw: bool = False) -> Translator:
        """A fresh translator for one response."""

    def dialect(self, overrides: Mapping[str, object], base: object = None) -> object:
        """The dialect struct with some flags replaced. Raises ConfigurationError for an unknown flag or a wrong type."""

    def read_error(self, status: int, headers: Mapping[str, str], body: bytes) -> ErrorInfo:
        """What an answer other than 2xx says, as the provider means it; `body` may be cut."""
