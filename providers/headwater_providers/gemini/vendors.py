"""Where Gemini is spoken: the Gemini API, and Vertex AI with its projects and regions."""

from __future__ import annotations

from headwater_providers.vendors import Endpoint, ProviderSpec

_LEVELS = ((r"gemini-[3-9]", {"thinking_levels": True}),)
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
        model_dialect=_LEVELS,
        also={"gemini-interactions": Endpoint()},
    ),
    ProviderSpec(
        id="vertex",
        name="Vertex AI",
        protocol="gemini",
        address=(
            "https://{GOOGLE_CLOUD_LOCATION|GOOGLE_CLOUD_REGION:us-central1}-aiplatform.googleapis.com/v1/projects/{GOOGLE_CLOUD_PROJECT|GCLOUD_PROJECT}"
            "/locations/{GOOGLE_CLOUD_LOCATION|GOOGLE_CLOUD_REGION:us-central1}/publishers/google"
        ),
        credential="google",
        env_keys=("VERTEX_ACCESS_TOKEN", "GOOGLE_ACCESS_TOKEN"),
        env_base_url=("VERTEX_BASE_URL",),
        hosts=("aiplatform.googleapis.com",),
        dialect={"auth": "bearer"},
        model_dialect=_LEVELS,
        aliases=("google-vertex", "vertexai"),
    ),
)
