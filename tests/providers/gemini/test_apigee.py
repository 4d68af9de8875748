"""Names and addresses of models behind Apigee, and the addresses of Vertex."""

from __future__ import annotations

import pytest

from headwater_codecs.neutral import ConfigurationError, Model, Request, Secret, user
from headwater_providers import new_registries
from headwater_providers.gemini.apigee import ApigeeName, parse_name, route
from headwater_providers.resolve import Registries

PLACE = {"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "europe-west4"}


def registries(**env: str) -> Registries:
    """The built-in registries in an environment of these variables."""
    made = new_registries(plugins=False)
    made.env = env
    return made


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("apigee/gemini-2.5-pro", ApigeeName("gemini-2.5-pro")),
        ("apigee/v1/gemini-2.5-pro", ApigeeName("gemini-2.5-pro", "v1")),
        ("apigee/v1beta/m", ApigeeName("m", "v1beta")),
        ("apigee/vertex_ai/m", ApigeeName("m", None, "vertex_ai")),
        ("apigee/gemini/m", ApigeeName("m", None, "gemini")),
        ("apigee/vertex_ai/v1/m", ApigeeName("m", "v1", "vertex_ai")),
        ("apigee/gemini/v1beta/m", ApigeeName("m", "v1beta", "gemini")),
    ],
)
def test_names(name: str, expected: ApigeeName) -> None:
    """The grammar (ADK-APG-01, 03)."""
    assert parse_name(name) == expected


@pytest.mark.parametrize(
    "name",
    [
        *("apigee", "apigee/", "gemini-pro", "apigee/unknown/model", "apigee/openai/v1/gpt", "apigee/vertex_ai/v1/model/extra"),
        *("apigee/v1/", "apigee/gemini/", "apigee/gemini/v1/", "apigee/v1/v2/m", "apigee/gemini/1/m", ""),
    ],
)
def test_no_names(name: str) -> None:
    """Every other form is refused, and named (ADK-APG-02, AMB-15)."""
    with pytest.raises(ConfigurationError, match=f"^invalid model string: {name}:"):
        parse_name(name)


@pytest.mark.parametrize(
    ("name", "switch", "address"),
    [
        ("apigee/m", "", "https://proxy.example/base/v1beta"),
        ("apigee/v1/m", "false", "https://proxy.example/base/v1"),
        ("apigee/m", "TRUE", "https://proxy.example/base/v1beta1/projects/p/locations/europe-west4/publishers/google"),
        ("apigee/v1/m", "1", "https://proxy.example/base/v1/projects/p/locations/europe-west4/publishers/google"),
        ("apigee/gemini/m", "true", "https://proxy.example/base/v1beta"),
        ("apigee/vertex_ai/m", "0", "https://proxy.example/base/v1beta1/projects/p/locations/europe-west4/publishers/google"),
    ],
)
def test_service(name: str, switch: str, address: str) -> None:
    """Which service it is: the name says it, else the variable does (ADK-APG-04)."""
    env = {"APIGEE_PROXY_URL": "https://proxy.example/base/", "GOOGLE_GENAI_USE_VERTEXAI": switch, **PLACE}
    found = route(name, env)
    assert (found.base_url, found.model) == (address, "m")


@pytest.mark.parametrize(
    ("name", "env", "message"),
    [
        ("apigee/x/y", {}, "invalid model string: apigee/x/y"),
        ("apigee/m", {}, "APIGEE_PROXY_URL environment variable not set"),
        ("apigee/vertex_ai/m", {"APIGEE_PROXY_URL": "https://p.example"}, "GOOGLE_CLOUD_PROJECT environment variable must be set"),
        (
            "apigee/vertex_ai/m",
            {"APIGEE_PROXY_URL": "https://p.example", "GOOGLE_CLOUD_PROJECT": "p"},
            "GOOGLE_CLOUD_LOCATION environment variable must be set",
        ),
    ],
)
def test_what_is_missing(name: str, env: dict[str, str], message: str) -> None:
    """The name is looked at first, then the variables in this order (ADK-APG-05, 06)."""
    with pytest.raises(ConfigurationError, match=message):
        route(name, env)


@pytest.mark.parametrize(
    ("model", "url", "key_header"),
    [
        (Model("apigee/v1/gemini-2.5-pro"), "https://proxy.example/v1/models/gemini-2.5-pro:streamGenerateContent?alt=sse", "x-goog-api-key"),
        (
            Model("apigee/vertex_ai/v1/gemini-2.5-pro", api_key=lambda: "token"),
            "https://proxy.example/v1/projects/p/locations/europe-west4/publishers/google/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
            "authorization",
        ),
        (
            Model("apigee/gemini/m", base_url="https://other.example"),
            "https://other.example/v1beta/models/m:streamGenerateContent?alt=sse",
            "x-goog-api-key",
        ),
    ],
)
def test_requests_through_apigee(model: Model, url: str, key_header: str) -> None:
    """The provider `apigee`: the name on the wire is bare, a key and a token have headers of their own (ADK-APG-07, AMB-16)."""
    made = registries(APIGEE_PROXY_URL="https://proxy.example", GEMINI_API_KEY="k", **PLACE)
    target = made.resolve(model)
    built = made.adapter("gemini").build(Request(model=model, messages=[user("Hi")]), target, Secret("k"))
    assert (built.url, target.provider) == (url, "apigee")
    assert key_header in dict(built.headers)


def test_a_bad_name_of_apigee_is_told_whole() -> None:
    """The error has the name as it was given."""
    with pytest.raises(ConfigurationError, match="invalid model string: apigee/openai/v1/gpt:"):
        registries(APIGEE_PROXY_URL="https://proxy.example").resolve("apigee/openai/v1/gpt")


@pytest.mark.parametrize(
    ("location", "host"),
    [
        ("europe-west4", "europe-west4-aiplatform.googleapis.com"),
        ("global", "aiplatform.googleapis.com"),
        ("eu", "aiplatform.eu.rep.googleapis.com"),
    ],
)
def test_vertex_hosts(location: str, host: str) -> None:
    """A region has a host, and so has what spans regions."""
    target = registries(GOOGLE_CLOUD_PROJECT="p", GOOGLE_CLOUD_LOCATION=location).resolve("vertex/gemini-2.5-pro")
    assert target.base_url == f"https://{host}/v1/projects/p/locations/{location}/publishers/google"


def test_vertex_variables_are_looked_at() -> None:
    """What is no part of an address is refused; an address that is given needs no variables."""
    with pytest.raises(ConfigurationError, match="GOOGLE_CLOUD_LOCATION or GOOGLE_CLOUD_REGION holds what cannot be a part of an address"):
        registries(GOOGLE_CLOUD_PROJECT="p", GOOGLE_CLOUD_LOCATION="evil.example/").resolve("vertex/m")
    given = Model("vertex/m", base_url="https://gateway.example/v1")
    assert registries().resolve(given).base_url == "https://gateway.example/v1"


def test_vertex_express() -> None:
    """Express mode has a key, and no project."""
    made = registries(VERTEX_API_KEY="k")
    target = made.resolve("vertex-express/gemini-2.5-flash")
    built = made.adapter("gemini").build(Request(model="m", messages=[user("Hi")]), target, Secret("k"))
    assert built.url == "https://aiplatform.googleapis.com/v1/publishers/google/models/gemini-2.5-flash:streamGenerateContent?alt=sse"
    assert dict(built.headers)["x-goog-api-key"] == "k"
