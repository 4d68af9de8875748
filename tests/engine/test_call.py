"""`engine.call`: plain JSON calls. Where they go, what comes back, and that keys, retries, deadlines and errors are those of streams."""

from __future__ import annotations

import gzip
from collections.abc import Mapping

import pytest

import headwater
from engine.upstream import KEY, Answer, Upstream, model, run
from headwater.credentials.aws import AwsSigner
from headwater_codecs.neutral import ConfigurationError, Model
from headwater_providers.aws_signing import AwsCredential
from headwater_providers.builtin import new_registries

pytestmark = pytest.mark.anyio

THREAD = b'{"id": "thread_1", "object": "thread", "metadata": {}}'
JSON = {"content-type": "application/json"}
PAGE = b"<!DOCTYPE html><html><body>Sign in to the hotel's network</body></html>"
TWICE = headwater.Retry(attempts=1, base=0, cap=0)


def answer(*data: bytes | Exception, status: int = 200, headers: Mapping[str, str] | None = None, **options: bool) -> Answer:
    """An answer of JSON."""
    return Answer(*data, status=status, headers={**JSON, **(headers or {})}, **options)  # type: ignore[arg-type]


async def failed(*answers: Answer, method: str = "GET", **options: object) -> tuple[headwater.HeadwaterError, Upstream]:
    """The error of a call that is answered so."""
    async with run(*answers, **options) as (engine, upstream):
        with pytest.raises(headwater.HeadwaterError) as caught:
            await engine.call(method, "/threads/thread_1", model=model())
        return caught.value, upstream


def azure() -> Model:
    """A model whose vendor puts its version into the query."""
    return Model("m", base_url="http://h/openai", provider="custom", api_key=KEY, dialect={"query": {"api-version": "2024-10-21"}})


# --- where it goes


@pytest.mark.parametrize(
    ("asked", "path", "url"),
    [
        (model(), "/threads", "http://upstream.test/v1/threads"),
        (model(), "/v1/threads", "http://upstream.test/v1/threads"),
        (model(), "/v2/threads", "http://upstream.test/v1/v2/threads"),
        (model(), "/threads/t/messages?limit=5&order=asc", "http://upstream.test/v1/threads/t/messages?limit=5&order=asc"),
        (model(), "/models/{model}", "http://upstream.test/v1/models/scripted-1"),
        (Model("a/b", provider="custom", base_url="http://h/", api_key=KEY), "/models/{model}", "http://h/models/a%2Fb"),
        (Model("m", provider="anthropic", base_url="http://h", api_key=KEY), "/v1/models", "http://h/v1/models"),
        (Model("m", provider="anthropic", base_url="http://h/v1", api_key=KEY), "/v1/models", "http://h/v1/models"),
        (Model("m", provider="gemini", base_url="http://h/v1beta", api_key=KEY), "/v1beta/models?pageSize=9", "http://h/v1beta/models?pageSize=9"),
        (azure(), "/models", "http://h/openai/models?api-version=2024-10-21"),
        (
            azure(),
            "/models?api-version=2025-01-01",
            "http://h/openai/models?api-version=2025-01-01",
        ),
    ],
)
async def test_the_address(asked: Model, path: str, url: str) -> None:
    """The path behind the base URL, the version once, the query of the vendor beside the path's own."""
    async with run(answer(b"{}")) as (engine, upstream):
        await engine.call("GET", path, model=asked)
    assert [(request.method, request.url, request.body) for request in upstream.requests] == [("GET", url, b"")]


@pytest.mark.parametrize(
    ("asked", "headers"),
    [
        (Model("m", provider="custom", base_url="http://h/v1", api_key=KEY), {"authorization": f"Bearer {KEY}"}),
        (
            Model("asst_1", provider="openai", protocol="openai-assistants", base_url="http://h/v1", api_key=KEY),
            {"openai-beta": "assistants=v2", "authorization": f"Bearer {KEY}"},
        ),
        (Model("m", provider="anthropic", base_url="http://h", api_key=KEY), {"anthropic-version": "2023-06-01", "x-api-key": KEY}),
        (Model("m", provider="gemini", base_url="http://h/v1beta", api_key=KEY), {"x-goog-api-key": KEY}),
        (Model("m", provider="custom", base_url="http://h/v1", api_key=lambda: "token-of-the-hour"), {"authorization": "Bearer token-of-the-hour"}),
    ],
)
async def test_the_headers_of_the_vendor(asked: Model, headers: dict[str, str]) -> None:
    """Key, version and beta headers are those of a stream; JSON is asked for, and said only where there is any; one's own go over them."""
    async with run(answer(b"{}"), answer(b"{}")) as (engine, upstream):
        await engine.call("GET", "/models", model=asked)
        await engine.call("POST", "/models", {"a": [1, None]}, model=asked, headers={"X-Mine": "1"})
    got, posted = upstream.requests
    assert dict(got.headers) == {"accept": "application/json", **headers}
    assert dict(posted.headers) == {"content-type": "application/json", "accept": "application/json", "x-mine": "1", **headers}
    assert posted.body == b'{"a":[1,null]}'


async def test_a_call_to_bedrock_is_signed() -> None:
    """By the credential that signs streams."""
    keys = AwsCredential("AKIDEXAMPLE", "secret-of-the-account")
    asked = Model("m", provider="bedrock", base_url="https://bedrock.eu-west-1.amazonaws.com", api_key=lambda: AwsSigner(keys))
    async with run(answer(b"{}")) as (engine, upstream):
        await engine.call("GET", "/foundation-models", model=asked)
    signed = dict(upstream.requests[0].headers)["authorization"]
    assert signed.startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
    assert "/eu-west-1/bedrock/aws4_request" in signed


async def test_a_provider_without_a_model() -> None:
    """Its name is enough, and its key comes from the environment as ever."""
    registries = new_registries(plugins=False)
    registries.env = {"OPENAI_API_KEY": KEY}
    async with run(answer(b'{"data": []}'), registries=registries) as (engine, upstream):
        reply = await engine.call("GET", "/models", provider="openai")
    assert reply.json == {"data": []}
    assert (upstream.requests[0].url, dict(upstream.requests[0].headers)["authorization"]) == ("https://api.openai.com/v1/models", f"Bearer {KEY}")


@pytest.mark.parametrize(
    ("method", "path", "options", "message"),
    [
        ("get", "/threads", {"model": "openai/m"}, "the method is 'get': use one of GET, POST, DELETE, PUT, PATCH"),
        ("GET", "threads", {"model": model()}, "the path 'threads' is none"),
        ("GET", "https://elsewhere.test/v1/threads", {"model": model()}, "is none: it begins with one slash"),
        ("GET", "//elsewhere.test/v1", {"model": model()}, "is none"),
        ("GET", "/a b", {"model": model()}, "is none"),
        ("GET", "/a\r\nx: y", {"model": model()}, "is none"),
        ("GET", "/threads/../files", {"model": model()}, "is none"),
        ("GET", "/threads/.%2E/files", {"model": model()}, "is none"),
        ("GET", "/a#b", {"model": model()}, "is none"),
        ("GET", "/threads", {"model": model(), "json": {}}, "a GET carries no JSON"),
        ("POST", "/threads", {"model": model(), "json": {"a": [float("nan")]}}, "json.a[0] is nan: JSON has no such number"),
        ("POST", "/threads", {"model": model(), "json": {"a": object()}}, "something that JSON cannot say"),
        ("POST", "/threads", {"model": model(), "headers": {"a": "b\nc"}}, "the value of the header 'a'"),
        ("GET", "/threads", {}, "give either model= or provider="),
        ("GET", "/threads", {"model": model(), "provider": "openai"}, "give either model= or provider="),
        ("GET", "/threads", {"provider": "nobody"}, "unknown provider 'nobody'"),
    ],
)
async def test_what_cannot_be_sent(method: str, path: str, options: dict[str, object], message: str) -> None:
    """It is said before a byte is sent."""
    registries = new_registries(plugins=False)
    registries.env = {"OPENAI_API_KEY": KEY}
    async with run(registries=registries) as (engine, upstream):
        with pytest.raises(ConfigurationError) as caught:
            await engine.call(method, path, **options)  # type: ignore[arg-type]
    assert message in str(caught.value)
    assert upstream.requests == []


async def test_an_engine_that_is_not_running() -> None:
    """It says so, as for a stream."""
    with pytest.raises(ConfigurationError, match="the engine is not running"):
        await headwater.Engine(transport=Upstream()).call("GET", "/models", model=model())


# --- what comes back


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (THREAD, {"id": "thread_1", "object": "thread", "metadata": {}}),
        (b" \r\n\xef\xbb\xbf [1, 2.5, null, true] \n", [1, 2.5, None, True]),
        (b'"text"', "text"),
        (b"7", 7),
        (b"null", None),
        (b"", None),
        (b" \n", None),
        (b'{"a": NaN, "b": "\xff"}', {"a": None, "b": "\ufffd"}),  # as some servers write it
        (b'{"error": null, "id": "r"}', {"error": None, "id": "r"}),
        (b'{"id": "resp_1", "status": "failed", "error": {"code": "x"}}', {"id": "resp_1", "status": "failed", "error": {"code": "x"}}),
        (b'{"last_error": {"code": "x"}}', {"last_error": {"code": "x"}}),
    ],
)
async def test_the_document(body: bytes, value: object) -> None:
    """Decoded, however the reads cut it; an object that tells of an error that is past is no error."""
    for pieces in ([body] if body else [], [bytes([byte]) for byte in body]):
        async with run(answer(*pieces)) as (engine, _):
            assert (await engine.call("GET", "/x", model=model())).json == value


async def test_a_reply() -> None:
    """Its bytes, the headers that are kept of a stream, the request id, and how many requests it took."""
    headers = {"x-request-id": "req_1", "x-ratelimit-remaining": "9", "set-cookie": "secret"}
    async with run(answer(b"oops", status=500), answer(THREAD, headers=headers), retry=TWICE) as (engine, _):
        reply = await engine.call("GET", "/threads/thread_1", model=model())
    assert reply == headwater.Reply(
        {"id": "thread_1", "object": "thread", "metadata": {}}, THREAD, {"x-request-id": "req_1", "x-ratelimit-remaining": "9"}, "req_1", 2
    )


async def test_a_compressed_answer() -> None:
    """Its content encoding is undone."""
    async with run(answer(gzip.compress(THREAD), headers={"content-encoding": "gzip"})) as (engine, _):
        assert (await engine.call("GET", "/x", model=model())).body == THREAD


async def test_an_answer_that_is_too_long() -> None:
    """It is given up at the engine's limit for a frame, and not read on."""
    error, upstream = await failed(answer(*[b"[" + b"1," * 500] * 10, open=True), max_frame=4000)
    assert (error.info.kind, error.info.message) == ("malformed", "the body passed the limit of 4000 bytes: raise max_frame if this is expected")
    assert upstream.given[0].reads == 4
