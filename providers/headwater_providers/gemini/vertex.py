"""The address of Vertex AI: a host for each region, and others for what spans regions.

A model's name may say more than the model: `endpoints/ID` is a tuned model of the project, `publishers/P/models/M` one of another publisher, and
`projects/P/locations/L/...` has project and region too.
"""

from __future__ import annotations

import re

from headwater_codecs.neutral.errors import ConfigurationError
from headwater_providers.gemini.apigee import Look

PROJECTS = ("GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT")
LOCATIONS = ("GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_REGION")
_HOSTS = {"global": "aiplatform.googleapis.com", **{place: f"aiplatform.{place}.rep.googleapis.com" for place in ("us", "eu")}}
_GOOGLE = "/publishers/google"
_OF_PROJECT = ("endpoints/", "publishers/")  # names that stand beside Google's own models
_FULL = re.compile(r"projects/[A-Za-z0-9._:-]+/locations/(?P<location>[a-z0-9-]+)/(?:endpoints|publishers)/")
_PART = re.compile(r"[A-Za-z0-9._:-]+")


def locate(name: str, given: str | None, look: Look) -> tuple[str, str]:
    """The base URL, made of project and location unless it is given, and the model's name: a `ProviderSpec.locate`."""
    full = _FULL.match(name)
    if given is not None:
        if full is not None:
            return given.partition("/projects/")[0], name
        return given.removesuffix(_GOOGLE) if name.startswith(_OF_PROJECT) else given, name
    if full is not None:
        return f"https://{_host(full['location'])}/v1", name
    location = _variable(LOCATIONS, look) or "us-central1"
    project = _variable(PROJECTS, look)
    if project is None:
        raise ConfigurationError(f"the address is made of variables that are not set: set {' or '.join(PROJECTS)}, or pass Model(base_url=...)")
    base = f"https://{_host(location)}/v1/projects/{project}/locations/{location}"
    return base if name.startswith(_OF_PROJECT) else base + _GOOGLE, name


def _host(location: str) -> str:
    return _HOSTS.get(location, f"{location}-aiplatform.googleapis.com")


def _variable(names: tuple[str, ...], look: Look) -> str | None:
    value = next((value for name in names if (value := look(name))), None)
    if value is not None and not _PART.fullmatch(value):
        raise ConfigurationError(f"the variable {' or '.join(names)} holds what cannot be a part of an address")
    return value
