"""Keys of AWS from botocore's chain: variables, profiles, roles. Extra `bedrock`."""

from __future__ import annotations

from datetime import datetime
from threading import Lock
from typing import Any

from headwater_codecs.neutral import ConfigurationError
from headwater_providers.adapter import HttpRequest
from headwater_providers.aws_signing import AwsCredential, sign


class AwsSigner:
    """Signs requests with one set of keys."""

    def __init__(self, credential: AwsCredential, region: str | None = None) -> None:
        self._credential = credential
        self._region = region

    def sign(self, request: HttpRequest, now: datetime) -> HttpRequest:
        """The request with its signature."""
        return sign(request, self._credential, now, self._region)


class AwsKeys:
    """A provider for `api_key=`: each call gives a signer with keys that are valid now. It may block, so the engine calls it in a worker thread."""

    def __init__(self, profile: str | None = None, region: str | None = None) -> None:
        self._profile = profile
        self._region = region
        self._chain: Any = None
        self._lock = Lock()

    def __call__(self) -> AwsSigner:
        """Raises ConfigurationError without botocore, and where its chain finds no keys."""
        with self._lock:
            if self._chain is None:
                self._chain = self._find()
            keys = self._chain.get_frozen_credentials()  # renews what has expired
        return AwsSigner(AwsCredential(keys.access_key, keys.secret_key, keys.token), self._region)

    def _find(self) -> Any:
        try:
            from botocore.session import Session
        except ImportError:
            raise ConfigurationError("credentials of AWS need botocore: pip install headwater[bedrock]") from None
        found = Session(profile=self._profile).get_credentials()
        if found is None:
            raise ConfigurationError("no credentials for AWS: set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
        return found

    def __repr__(self) -> str:
        return "AwsKeys(***)"


def aws_keys(profile: str | None = None, region: str | None = None) -> AwsKeys:
    """Keys for Bedrock from the usual places. `region` is needed where the address does not tell it: behind a proxy of one's own."""
    return AwsKeys(profile, region)
