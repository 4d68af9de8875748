"""Signature Version 4 of a finished request, by botocore (extra `bedrock`). Pure: nothing is fetched, the time is given."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from headwater_codecs.neutral.errors import ConfigurationError
from headwater_providers.adapter import HttpRequest

SERVICE = "bedrock"
_REGION = re.compile(r"(?:^|\.)bedrock(?:-runtime)?(?:-fips)?\.([a-z0-9-]+)\.(?:amazonaws|api\.aws)")
_STAMP = "%Y%m%dT%H%M%SZ"
_SIGNED = frozenset({"content-type", "host"})  # with the headers whose names begin with x-amz-


class AwsCredential(Struct, frozen=True):
    """Keys of an AWS account. Its repr shows none of them."""

    access_key: str
    secret_key: str
    token: str | None = None

    def __repr__(self) -> str:
        return "AwsCredential(***)"


def sign(request: HttpRequest, credential: AwsCredential, now: datetime, region: str | None = None) -> HttpRequest:
    """The request with its signature, valid for some minutes around `now`. Raises ConfigurationError without botocore, and without a region.

    `region` is told by the address unless given.
    """
    try:
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest
        from botocore.credentials import Credentials
    except ImportError:
        raise ConfigurationError("signing for AWS needs botocore: pip install headwater[bedrock]") from None
    region = region or region_of(request.url)
    headers = {name: value for name, value in request.headers if name != "authorization"}
    signed = {name: value for name, value in headers.items() if name in _SIGNED or name.startswith("x-amz-")}
    asked = AWSRequest(method=request.method, url=request.url, data=request.body, headers=signed)
    auth = SigV4Auth(Credentials(credential.access_key, credential.secret_key, credential.token), SERVICE, region)
    # What `add_auth` does, at the time that is given instead of the clock's.
    asked.context["timestamp"] = now.astimezone(UTC).strftime(_STAMP)
    auth._modify_request_before_signing(asked)
    signature = auth.signature(auth.string_to_sign(asked, auth.canonical_request(asked)), asked)
    auth._inject_signature_to_request(asked, signature)
    added = {name.lower(): str(value) for name, value in asked.headers.items()}
    return replace(request, headers=tuple({**headers, **added}.items()))


def region_of(url: str) -> str:
    """The region in an address of Bedrock's. Raises ConfigurationError where there is none."""
    match = _REGION.search(urlsplit(url).hostname or "")
    if match is None:
        raise ConfigurationError("the address tells no AWS region: give one with aws_keys(region=...)")
    return match[1]
