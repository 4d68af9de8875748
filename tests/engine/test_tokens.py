"""Tokens of clouds: kept and renewed, signed requests, and who is asked when no key is found."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import anyio
import pytest

import headwater as hw
from headwater.credentials import CachedToken, automatic, aws_keys, azure_token, google_token, reveal
from headwater_codecs.neutral import ConfigurationError, Request, Secret, user
from headwater_providers import new_registries
from headwater_providers.adapter import HttpRequest
from headwater_providers.aws_signing import AwsCredential, region_of, sign

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
URL = "https://bedrock-runtime.eu-west-1.amazonaws.com/model/anthropic.claude%3A0/converse-stream"
REQUEST = HttpRequest("POST", URL, (("content-type", "application/json"), ("accept", "x"), ("authorization", "Bearer old")), b"{}")
KEYS = AwsCredential("AKIDEXAMPLE", "very-secret", "session-token")


def test_a_token_is_kept_until_shortly_before_its_end() -> None:
    """One fetch, until two minutes before the token ends."""
    now = [1000.0]
    asked: list[float] = []

    def fetch() -> tuple[str, float]:
        asked.append(now[0])
        return f"token-{len(asked)}", now[0] + 600

    provider = CachedToken(fetch, lambda: now[0])
    given = []
    for moment in (1000.0, 1479.0, 1480.0, 1481.0):
        now[0] = moment
        given.append(provider())
    assert (given, repr(provider)) == (["token-1", "token-1", "token-2", "token-2"], "CachedToken(***)")


@pytest.mark.anyio
async def test_one_fetch_at_a_time() -> None:
    """Many streams at once ask once, and nobody blocks the event loop."""
    started, go_on = threading.Event(), threading.Event()
    asked: list[int] = []

    def fetch() -> tuple[str, float]:
        asked.append(threading.get_ident())
        started.set()
        assert go_on.wait(5)
        return "token", 4e9

    provider = CachedToken(fetch)
    given: list[object] = []

    async def ask() -> None:
        given.append(await reveal(provider))

    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(ask)
        await anyio.to_thread.run_sync(started.wait)
        go_on.set()
    assert given == [Secret("token")] * 5
    assert len(asked) == 1
    assert asked[0] != threading.get_ident()


def test_azure() -> None:
    """Anything with `get_token` will do."""
    scopes: list[str] = []

    def get_token(scope: str) -> SimpleNamespace:
        scopes.append(scope)
        return SimpleNamespace(token="azure", expires_on=4e9)

    assert [azure_token(SimpleNamespace(get_token=get_token))() for _ in range(2)] == ["azure", "azure"]
    assert scopes == ["https://cognitiveservices.azure.com/.default"] * 2


def test_google() -> None:
    """Credentials of google-auth are refreshed; their expiry has no zone and is UTC."""
    pytest.importorskip("google.auth", reason="google-auth is not installed: pip install headwater[vertex]")
    refreshed: list[object] = []
    credentials = SimpleNamespace(token="google", expiry=datetime.now(UTC).replace(tzinfo=None) + timedelta(hours=1), refresh=refreshed.append)
    provider = google_token(credentials)
    assert (provider(), provider(), len(refreshed)) == ("google", "google", 1)


def test_signature_is_botocores_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pure way gives what botocore gives at that time; what was there before is replaced, and nothing secret is shown."""
    auth = pytest.importorskip("botocore.auth", reason="botocore is not installed: pip install headwater[bedrock]")
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    monkeypatch.setattr(auth, "get_current_datetime", lambda: NOW)
    theirs = AWSRequest("POST", URL, data=b"{}", headers={"content-type": "application/json"})
    auth.SigV4Auth(Credentials("AKIDEXAMPLE", "very-secret", "session-token"), "bedrock", "eu-west-1").add_auth(theirs)
    signed = dict(sign(REQUEST, KEYS, NOW).headers)
    assert signed["authorization"] == theirs.headers["Authorization"]
    assert signed["x-amz-date"] == "20260102T030405Z"
    assert signed["x-amz-security-token"] == "session-token"
    assert signed["accept"] == "x"
    assert sign(REQUEST, KEYS, NOW) == sign(REQUEST, KEYS, NOW)
    assert "secret" not in repr(KEYS) + repr(sign(REQUEST, KEYS, NOW))


@pytest.mark.parametrize(
    ("host", "region"),
    [("bedrock-runtime.eu-west-1.amazonaws.com", "eu-west-1"), ("bedrock-runtime-fips.us-gov-west-1.amazonaws.com", "us-gov-west-1")],
)
def test_region(host: str, region: str) -> None:
    """It is told by the address."""
    assert region_of(f"https://{host}/x") == region


def test_no_region() -> None:
    """An address of one's own needs it said."""
    with pytest.raises(ConfigurationError, match="region"):
        region_of("https://proxy.example/x")


@pytest.mark.anyio
async def test_a_signed_request_goes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A provider that gives a signer: the finished request is signed, once per attempt, and its secrets count as secrets."""
    pytest.importorskip("botocore", reason="botocore is not installed: pip install headwater[bedrock]")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "very-secret")
    sent: list[HttpRequest] = []

    class Transport:
        async def open(self, request: HttpRequest, trace: object) -> object:
            sent.append(request)
            raise ConfigurationError("enough")

        async def aclose(self) -> None:
            pass

    to = hw.Model("anthropic.claude-3-haiku", provider="bedrock", base_url="https://bedrock-runtime.eu-west-1.amazonaws.com", api_key=aws_keys())
    async with hw.Engine(transport=Transport()) as engine:
        await engine.generate(Request(model=to, messages=[user("hi")]), raise_on_error=False)
    assert dict(sent[0].headers)["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")


def test_who_is_asked_without_a_key() -> None:
    """Vertex and Bedrock have credentials of their own; their addresses are made of variables."""
    registries = new_registries(plugins=False)
    registries.env = {"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "europe-west4", "AWS_REGION": "eu-west-1"}
    vertex, bedrock = registries.resolve("vertex/gemini-2.5-pro"), registries.resolve("bedrock/anthropic.claude-3-haiku")
    assert (vertex.credential, vertex.api_key, bedrock.credential) == ("google", None, "aws")
    assert vertex.base_url == "https://europe-west4-aiplatform.googleapis.com/v1/projects/p/locations/europe-west4/publishers/google"
    assert bedrock.base_url == "https://bedrock-runtime.eu-west-1.amazonaws.com"
    registries.env = {"AWS_BEARER_TOKEN_BEDROCK": "token"}
    bedrock = registries.resolve("bedrock/anthropic.claude-3-haiku")
    assert (bedrock.credential, bedrock.api_key, bedrock.base_url) == (None, Secret("token"), "https://bedrock-runtime.us-east-1.amazonaws.com")
    with pytest.raises(ConfigurationError, match="set GOOGLE_CLOUD_PROJECT or GCLOUD_PROJECT"):
        registries.resolve("vertex/gemini-2.5-pro")
    registries.env = {"AWS_REGION": "eu/../x"}
    with pytest.raises(ConfigurationError, match="cannot be a part of an address"):
        registries.resolve("bedrock/anthropic.claude-3-haiku")


def test_automatic_is_one_for_the_process() -> None:
    """So its tokens are kept; an unknown name says what to do."""
    assert automatic("aws") is automatic("aws")
    with pytest.raises(ConfigurationError, match="api_key"):
        automatic("nobody")


@pytest.mark.anyio
async def test_tokens_go_where_the_dialect_says() -> None:
    """A token for Vertex is a bearer token, a key for Gemini has a header of its own."""
    registries = new_registries(plugins=False)
    registries.env = {}
    heads = []
    for name, key in (("google/gemini-2.5-pro", "k"), ("vertex/gemini-2.5-pro", "t")):
        target = registries.resolve(hw.Model(name, base_url="https://h/v1", api_key=key))
        assert isinstance(target.api_key, Secret)
        heads.append(dict(registries.adapter("gemini").build(Request(model="m", messages=[user("hi")]), target, target.api_key).headers))
    assert (heads[0]["x-goog-api-key"], heads[1]["authorization"]) == ("k", "Bearer t")
