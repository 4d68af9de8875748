"""Where Gemini is spoken: the Gemini API, Vertex AI with its projects and regions (and its express mode, which has keys), and Apigee proxies."""

from __future__ import annotations

from headwater_providers.gemini import apigee, vertex
from headwater_providers.vendors import Endpoint, ProviderSpec

_LEVELS = ((r"gemini-[3-9]", {"thinking_levels": True, "results_hold_parts": True, "signed_calls": True}),)
VENDORS: tuple[ProviderSpec, ...] = (
    ProviderSpec(
        id="google",
        name="Google Gemini",
        protocol="gemini",
        base_url="https://generativelanguage.googleapis.com/v1beta",
        env_keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        env_base_url=("GEMINI_BASE_URL",),
        models=(r"^(?:models/)?gemini-", r"^(?:models/)?gemma-"),
        hosts=("generativelanguage.googleapis.com",),
        aliases=("gemini", "google-genai"),
        dialect={"unsupported": ("metadata",)},
        model_dialect=_LEVELS,
        also={"gemini-interactions": Endpoint()},
    ),
    ProviderSpec(
        id="vertex",
        name="Vertex AI",
        protocol="gemini",
        locate=vertex.locate,
        credential="google",
        env_keys=("VERTEX_ACCESS_TOKEN", "GOOGLE_ACCESS_TOKEN"),
        env_base_url=("VERTEX_BASE_URL",),
        hosts=("aiplatform.googleapis.com",),
        models=(r"^projects/[^/]+/locations/[^/]+/(?:endpoints|publishers)/",),
        dialect={"auth": "bearer", "call_ids": False},
        model_dialect=_LEVELS,
        aliases=("google-vertex", "vertexai"),
    ),
    ProviderSpec(
        id="vertex-express",
        name="Vertex AI in express mode",
        protocol="gemini",
        base_url="https://aiplatform.googleapis.com/v1/publishers/google",
        env_keys=("VERTEX_API_KEY", "GOOGLE_VERTEX_API_KEY"),
        dialect={"call_ids": False},
        model_dialect=_LEVELS,
    ),
    ProviderSpec(
        id="apigee",
        name="Apigee",
        protocol="gemini",
        locate=apigee.locate,
        env_base_url=(apigee.PROXY,),
        env_keys=("APIGEE_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY"),
        needs_key=False,
        dialect={"auth": "x-goog-api-key-or-token", "call_ids": False},
        model_dialect=_LEVELS,
    ),
)
