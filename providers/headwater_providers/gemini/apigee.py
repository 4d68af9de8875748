"""Models behind an Apigee proxy: what the name says of version and service, and the address that comes of it. Rows ADK-APG-01 to 08, AMB-15, 16.

A name is `apigee/` and then `MODEL`, `VERSION/MODEL`, `SERVICE/MODEL` or `SERVICE/VERSION/MODEL`; the services are `gemini` and `vertex_ai`, and a
version begins with a `v`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import quote

from msgspec import Struct

from headwater_codecs.neutral.errors import ConfigurationError

PREFIX = "apigee/"
PROXY = "APIGEE_PROXY_URL"
_SERVICES = ("gemini", "vertex_ai")
_VERSIONS = {"gemini": "v1beta", "vertex_ai": "v1beta1"}  # those of Google's own SDK, where the name says none
Look = Callable[[str], str | None]


class ApigeeName(Struct, frozen=True):
    """What a name says; None for what it leaves open."""

    model: str
    version: str | None = None
    service: str | None = None


class ApigeeRoute(Struct, frozen=True):
    """Where requests go: everything before `/models/MODEL:...`."""

    base_url: str
    model: str
    service: str
    version: str


def parse_name(name: str) -> ApigeeName:
    """The parts of a name. Raises ConfigurationError for any other form."""
    parts = name.removeprefix(PREFIX).split("/") if name.startswith(PREFIX) else []
    service = parts.pop(0) if len(parts) > 1 and parts[0] in _SERVICES else None
    version = parts.pop(0) if len(parts) > 1 and parts[0].startswith("v") else None
    if len(parts) != 1 or not parts[0].strip():
        raise ConfigurationError(f"invalid model string: {name}: write apigee/MODEL, with gemini/ or vertex_ai/ and a version before MODEL if needed")
    return ApigeeName(parts[0], version, service)


def route(name: str, env: Mapping[str, str] | Look, proxy: str | None = None) -> ApigeeRoute:
    """The address for a name. `proxy` goes before the environment's. Raises ConfigurationError, the name looked at first, for what is missing."""
    look = env if callable(env) else env.get
    parsed = parse_name(name)
    if not proxy and not (proxy := look(PROXY)):
        raise ConfigurationError(f"{PROXY} environment variable not set: set it, or pass Model(base_url=...)")
    service = parsed.service or ("vertex_ai" if (look("GOOGLE_GENAI_USE_VERTEXAI") or "").lower() in ("true", "1") else "gemini")
    version = parsed.version or _VERSIONS[service]
    base_url = f"{proxy.rstrip('/')}/{version}"
    if service == "vertex_ai":
        base_url += f"/projects/{_needed(look, 'GOOGLE_CLOUD_PROJECT')}/locations/{_needed(look, 'GOOGLE_CLOUD_LOCATION')}/publishers/google"
    return ApigeeRoute(base_url, parsed.model, service, version)


def _needed(look: Look, name: str) -> str:
    value = look(name)
    if not value:
        raise ConfigurationError(f"{name} environment variable must be set")
    return quote(value, safe="")


def locate(name: str, proxy: str | None, look: Look) -> tuple[str, str]:
    """The base URL and the model's own name, for a name that is told without its provider: a `ProviderSpec.locate`."""
    found = route(PREFIX + name, look, proxy)
    return found.base_url, found.model
