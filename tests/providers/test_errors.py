"""What an error says, in every shape that providers give it."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater_codecs.neutral import ErrorInfo
from headwater_providers.errors import classify, hide_secrets, read_error, read_in_band


@pytest.mark.parametrize(
    ("status", "code", "type", "kind", "retryable"),
    [
        (400, None, None, "invalid_request", False),
        (401, None, None, "auth", False),
        (402, None, None, "quota", False),
        (403, None, None, "permission", False),
        (404, None, None, "not_found", False),
        (408, None, None, "server", True),
        (409, None, None, "server", True),
        (413, None, None, "invalid_request", False),
        (418, None, None, "invalid_request", False),
        (422, None, None, "invalid_request", False),
        (429, None, None, "rate_limit", True),
        (500, None, None, "server", True),
        (502, None, None, "server", True),
        (503, None, None, "overloaded", True),
        (504, None, None, "server", True),
        (529, None, None, "overloaded", True),
        (429, "insufficient_quota", "insufficient_quota", "quota", False),
        (429, "engine_overloaded", None, "overloaded", True),
        (429, None, "invalid_request_error", "rate_limit", True),
        (400, "context_length_exceeded", "invalid_request_error", "context_overflow", False),
        (400, "invalid_api_key", None, "auth", False),
        (400, "API_KEY_INVALID", None, "auth", False),
        (400, "model_not_found", None, "not_found", False),
        (400, "rate_limit_exceeded", None, "invalid_request", False),
        (400, "overloaded_error", None, "invalid_request", False),
        (413, "rate_limit_exceeded", "tokens", "invalid_request", False),
        (404, "model_not_found", "invalid_request_error", "not_found", False),
        (403, "insufficient_quota", None, "quota", False),
        (500, "overloaded_error", None, "overloaded", True),
        (503, "invalid_api_key", None, "overloaded", True),
        (None, 400, None, "invalid_request", False),
        (None, "429", None, "rate_limit", True),
        (None, 502, None, "server", True),
        (None, "rate_limit_exceeded", None, "rate_limit", True),
        (None, None, "overloaded_error", "overloaded", True),
        (None, "context_length_exceeded", None, "context_overflow", False),
        (None, "content_filter", None, "invalid_request", False),
        (None, "insufficient_quota", None, "quota", False),
        (None, "invalid_api_key", None, "auth", False),
        (None, "model_not_found", None, "not_found", False),
        (None, "server_error", None, "server", True),
        (None, "RESOURCE_EXHAUSTED", None, "rate_limit", True),
        (None, "tokens_rate_limit_hit", None, "rate_limit", True),
        (None, "InvalidParameter.Quota-Exceeded", None, "quota", False),
        (None, "brand_new_code", "invalid_request_error", "invalid_request", False),
        (None, "brand_new_code", None, "server", True),
        (None, 1302, None, "server", True),
        (None, None, None, "server", True),
        (None, True, [], "server", True),
    ],
)
def test_kinds(status: int | None, code: object, type: object, kind: str, retryable: bool) -> None:
    """Status, then a numeric code, then words; words sharpen a refusal but never make it worth repeating."""
    info = classify(status, code, type, "said")
    assert (info.kind, info.retryable) == (kind, retryable)


# Every word in a vendor's list of errors, as it comes inside a stream (without a status), and what it is.
WORDS: dict[str, dict[str, str]] = {
    "Anthropic": {
        "invalid_request_error": "invalid_request",
        "authentication_error": "auth",
        "billing_error": "quota",
        "permission_error": "permission",
        "not_found_error": "not_found",
        "conflict_error": "server",
        "request_too_large": "context_overflow",
        "rate_limit_error": "rate_limit",
        "api_error": "server",
        "timeout_error": "server",
        "overloaded_error": "overloaded",
    },
    "OpenAI": {
        "server_error": "server",
        "rate_limit_exceeded": "rate_limit",
        "insufficient_quota": "quota",
        "invalid_api_key": "auth",
        "model_not_found": "not_found",
        "context_length_exceeded": "context_overflow",
        "string_above_max_length": "invalid_request",
        "invalid_prompt": "invalid_request",
        "vector_store_timeout": "server",
        "invalid_image": "invalid_request",
        "invalid_image_format": "invalid_request",
        "invalid_base64_image": "invalid_request",
        "invalid_image_url": "invalid_request",
        "image_too_large": "invalid_request",
        "image_too_small": "invalid_request",
        "image_parse_error": "invalid_request",
        "image_content_policy_violation": "invalid_request",
        "invalid_image_mode": "invalid_request",
        "image_file_too_large": "invalid_request",
        "unsupported_image_media_type": "invalid_request",
        "empty_image_file": "invalid_request",
        "failed_to_download_image": "invalid_request",
        "image_file_not_found": "invalid_request",
    },
    "Google": {
        "INVALID_ARGUMENT": "invalid_request",
        "FAILED_PRECONDITION": "invalid_request",
        "OUT_OF_RANGE": "invalid_request",
        "ALREADY_EXISTS": "invalid_request",
        "UNIMPLEMENTED": "invalid_request",
        "UNAUTHENTICATED": "auth",
        "PERMISSION_DENIED": "permission",
        "NOT_FOUND": "not_found",
        "RESOURCE_EXHAUSTED": "rate_limit",
        "ABORTED": "server",
        "DATA_LOSS": "server",
        "INTERNAL": "server",
        "UNKNOWN": "server",
        "UNAVAILABLE": "overloaded",
        "DEADLINE_EXCEEDED": "server",
    },
    "Amazon": {
        "AccessDeniedException": "permission",
        "BadCScoreException": "permission",
        "FTUFormNotFilled": "permission",
        "IncompleteSignature": "auth",
        "InternalFailure": "server",
        "InternalServerException": "server",
        "InvalidAction": "invalid_request",
        "InvalidClientTokenId": "auth",
        "InvalidSignatureException": "auth",
        "MissingAuthenticationToken": "auth",
        "ModelErrorException": "server",
        "ModelNotReadyException": "overloaded",
        "ModelStreamErrorException": "server",
        "ModelTimeoutException": "server",
        "NotAuthorized": "permission",
        "OptInRequired": "permission",
        "RequestExpired": "auth",
        "ResourceNotFoundException": "not_found",
        "ServiceQuotaExceededException": "quota",
        "ServiceUnavailable": "overloaded",
        "ServiceUnavailableException": "overloaded",
        "ThrottlingException": "rate_limit",
        "UnrecognizedClientException": "auth",
        "ValidationError": "invalid_request",
        "ValidationException": "invalid_request",
    },
    "Azure": {
        "DeploymentNotFound": "not_found",
        "NoCapacity": "overloaded",
        "OperationNotSupported": "invalid_request",
        "PermissionDenied": "permission",
    },
    "Groq": {
        "capacity_exceeded": "overloaded",
        "over_capacity": "overloaded",
        "tool_use_failed": "invalid_request",
        "internal_server_error": "server",
    },
    "Mistral": {"invalid_model": "not_found", "rate_limited": "rate_limit", "service_tier_capacity_exceeded": "overloaded"},
    "DeepSeek": {"insufficient_balance": "quota", "authentication_error": "auth", "unknown_error": "server"},
    "routers": {
        "provider_error": "server",
        "upstream_error": "server",
        "bad_gateway": "server",
        "gateway_timeout": "server",
        "credit_limit": "quota",
    },
}


@pytest.mark.parametrize(("word", "kind"), [(word, kind) for words in WORDS.values() for word, kind in words.items()])
def test_every_word(word: str, kind: str) -> None:
    """As a code or as a type, alone; a refusal by its status stays one, whatever the word says."""
    assert classify(None, word, None, "sorry").kind == classify(None, None, word, "sorry").kind == kind
    assert classify(400, word, None, "sorry").retryable is False


@pytest.mark.parametrize(
    ("status", "word", "kind"),
    [
        (500, "api_error", "server"),
        (504, "timeout_error", "server"),
        (424, "ModelErrorException", "server"),
        (408, "ModelTimeoutException", "server"),
        (429, "ModelNotReadyException", "overloaded"),
        (404, "FTUFormNotFilled", "permission"),
        (403, "InvalidClientTokenId", "auth"),
        (400, "invalid_model", "not_found"),
        (429, "service_tier_capacity_exceeded", "overloaded"),
        (498, "capacity_exceeded", "overloaded"),
        (429, "api_error", "rate_limit"),
        (401, "api_error", "auth"),
    ],
)
def test_words_beside_their_status(status: int, word: str, kind: str) -> None:
    """As the vendors send them over HTTP."""
    assert classify(status, None, word, "sorry").kind == kind


@pytest.mark.rows("OR-OV-02")
@pytest.mark.parametrize(
    "message",
    [
        "prompt is too long: 210000 tokens > 200000 maximum",
        "Too many input tokens. Max input tokens: 8192, request input token count: 9000",
        "input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000, decrease input length or `max_tokens` and try again",
        "input is too long for requested model",
        "This request exceeds the context window of the model",
        "This model's maximum context length is 128,000 tokens. However, you requested more",
        "Your input exceeds the model's maximum context length of 8192 tokens",
        "The input token count (5000) exceeds the maximum number of tokens allowed (4096)",
        "This model's maximum prompt length is 131072 but the request contains 537812",
        "Please reduce the length of the messages or completion",
        "The input (5000 tokens) is longer than the model's context length (4096 tokens)",
        "prompt token count of 9 exceeds the limit of 8",
        "the request exceeds the available context size. try increasing the context size",
        "tokens to keep from the initial prompt is greater than the context length",
        "invalid params, context window exceeds limit",
        "Your request exceeded model token limit: 262144",
        "Prompt contains 5 tokens: too large for model with 4 maximum context length",
        "model_context_window_exceeded",
        "prompt too long; exceeded max context length by 4 tokens",
        "context length exceeded",
        "too many tokens in the prompt",
        "token limit exceeded",
        "413 status code (no body)",
        "400 (no body)",
    ],
)
def test_words_of_an_overflow(message: str) -> None:
    """A message that says that the conversation is too long is a context overflow, by status 400, 413, 500 or none (OR-OV-02)."""
    assert {classify(status, None, None, message).kind for status in (400, 413, 500, None)} == {"context_overflow"}


@pytest.mark.rows("OR-OV-03", "ISS-44")
@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (429, "too many tokens per minute", "rate_limit"),
        (400, "Rate limit: too many tokens", "invalid_request"),
        (None, "Throttling error: Too many tokens, please wait", "server"),
        (None, "Service unavailable: token limit exceeded", "overloaded"),
        (None, "Too many requests, token limit exceeded", "rate_limit"),
        (401, "token limit exceeded", "auth"),
    ],
)
def test_what_only_looks_like_an_overflow(status: int | None, message: str, kind: str) -> None:
    """Throttling speaks of tokens too (OR-OV-03)."""
    assert classify(status, None, None, message).kind == kind


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        (
            {"code": 502, "message": "Worker limit reached"},
            ErrorInfo("server", "Worker limit reached", status=502, phase="stream", retryable=True),
        ),
        (
            {"message": "tool call validation failed", "type": "invalid_request_error", "code": "tool_use_failed", "status_code": 400},
            ErrorInfo("invalid_request", "tool call validation failed", code="tool_use_failed", status=400, phase="stream"),
        ),
        ({"message": "upstream reset", "code": "502"}, ErrorInfo("server", "upstream reset", status=502, phase="stream", retryable=True)),
        ({"code": 400}, ErrorInfo("invalid_request", "the provider gave an error without a message (no code)", status=400, phase="stream")),
        (
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
            ErrorInfo("overloaded", "Overloaded", code="overloaded_error", phase="stream", retryable=True),
        ),
        (
            {"code": "context_length_exceeded"},
            ErrorInfo(
                "context_overflow",
                "the provider gave an error without a message (context_length_exceeded)",
                code="context_length_exceeded",
                phase="stream",
            ),
        ),
        ({"code": None, "message": "x", "type": None}, ErrorInfo("server", "x", phase="stream", retryable=True)),
        ("plain words", ErrorInfo("server", "plain words", phase="stream", retryable=True)),
        (
            {"code": 429, "message": "Provider returned error", "metadata": {"raw": '{"error":{"message":"slow down"}}', "provider_name": "X"}},
            ErrorInfo("rate_limit", "Provider returned error (X: slow down)", status=429, phase="stream", retryable=True),
        ),
        (
            {"message": "Rate limit reached, try again in 1.5s", "code": "rate_limit_exceeded", "request_id": "r-1"},
            ErrorInfo(
                "rate_limit",
                "Rate limit reached, try again in 1.5s",
                code="rate_limit_exceeded",
                phase="stream",
                retryable=True,
                retry_after=1.5,
                request_id="r-1",
            ),
        ),
        (
            {"base_resp": {"status_code": 1004, "status_msg": "login fail"}},
            ErrorInfo("server", "login fail", phase="stream", retryable=True),
        ),
        (None, ErrorInfo("server", "the provider gave an error without a message (no code)", phase="stream", retryable=True)),
    ],
)
def test_errors_inside_a_stream(payload: object, expected: ErrorInfo) -> None:
    """What stands under `error`, or the whole object of an `event: error` frame (B073, B075, B078, B261)."""
    assert read_in_band(payload) == expected


@pytest.mark.parametrize(
    ("body", "message", "code"),
    [
        (b'{"error":{"message":"No such model","type":"invalid_request_error","param":"model","code":"model_x"}}', "No such model", "model_x"),
        (b'{"error":"just words"}', "just words", None),
        (b'{"detail":"Not here"}', "Not here", None),
        (
            b'{"detail":[{"loc":["body","messages",0],"msg":"field required","type":"missing"},{"loc":["body"],"msg":"b"}]}',
            "body.messages.0: field required; body: b",
            None,
        ),
        (b'{"detail":{"message":"inner","code":"c1"}}', "inner", "c1"),
        (b'{"message":"top","type":"t1"}', "top", "t1"),
        (
            b'{"object":"error","message":{"detail":[{"loc":["body","seed"],"msg":"Extra inputs are not permitted"}]},'
            b'"type":"invalid_request_error","code":null}',
            "body.seed: Extra inputs are not permitted",
            "invalid_request_error",
        ),
        (b'[{"error":{"code":400,"message":"in a list","status":"INVALID_ARGUMENT"}}]', "in a list", "INVALID_ARGUMENT"),
        (b'{"errors":[{"message":"first"},{"message":"second"}]}', "first", None),
        (b'{"error":{"error":{"message":"deep"}}}', "deep", None),
        (b'"a string"', "a string", None),
        (b"", "HTTP 400 with an empty body", None),
        (b"  \n", "HTTP 400 with an empty body", None),
        (b"{}", "HTTP 400 (application/json): {}", None),
        (b"null", "HTTP 400 (application/json): null", None),
        (b'{"error":{"message":"cut', 'HTTP 400 (application/json): {"error":{"message":"cut', None),
        (b"\xff\xfe", "HTTP 400 (application/json): ��", None),
    ],
)
def test_bodies(body: bytes, message: str, code: str | None) -> None:
    """The message and the code are found wherever they stand; a body without either is quoted."""
    info = read_error(400, {"content-type": "application/json; charset=utf-8"}, body)
    assert (info.message, info.code, info.status, info.kind, info.phase) == (message, code, 400, "invalid_request", "headers")


def test_a_web_page_is_quoted_shortly() -> None:
    """The message of an HTML answer has status, content type and at most 200 characters of it."""
    page = b"<html>\n  <head><title>502 Bad Gateway</title></head>" + b"<p>x</p>" * 500
    info = read_error(502, {"content-type": "text/html"}, page)
    assert info.message.startswith("HTTP 502 (text/html): <html> <head><title>502 Bad Gateway</title></head><p>")
    assert len(info.message) == len("HTTP 502 (text/html): ") + 200
    assert (info.kind, info.retryable) == ("server", True)


def test_hints_and_ids_of_headers() -> None:
    """The wait and the request's id come from the headers."""
    info = read_error(429, {"retry-after": "7", "x-request-id": "req-1"}, b'{"error":{"message":"slow"}}')
    assert info == ErrorInfo("rate_limit", "slow", status=429, phase="headers", retryable=True, retry_after=7.0, request_id="req-1")
    assert read_error(401, {"retry-after": "7", "cf-ray": "ray"}, b"{}").retry_after is None
    assert read_error(500, {"x-should-retry": "false"}, b"{}").retryable is False
    assert read_error(400, {"x-should-retry": "true"}, b"{}").retryable is True


def test_a_status_in_the_body() -> None:
    """A gateway's 5xx around a refusal is a refusal (B261); an answer's own 4xx is not overruled."""
    info = read_error(503, {}, b'{"error":{"code":400,"message":"bad tool"}}')
    assert (info.kind, info.retryable, info.status) == ("invalid_request", False, 503)
    info = read_error(500, {}, b'{"error":{"status_code":429,"message":"slow"}}')
    assert (info.kind, info.retryable) == ("rate_limit", True)
    info = read_error(401, {}, b'{"error":{"code":500,"message":"no"}}')
    assert (info.kind, info.retryable) == ("auth", False)


def test_a_redirect_says_where_to() -> None:
    """Redirects are not followed; the error names the address without its query."""
    info = read_error(301, {"location": "https://h/v1/chat/completions?key=geheim"}, b"")
    assert info.message == "HTTP 301: the address redirects to https://h/v1/chat/completions; correct base_url (redirects are not followed)"
    assert (info.kind, info.retryable) == ("invalid_request", False)


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-proj-abcdef0123456789. Find it",
        "bad key gsk_0123456789abcdef",
        "Authorization: Bearer abc.def.ghi is wrong",
        "invalid api_key=0123456789abcdef",
        "key AIzaSyA0123456789abcdef is not valid",
        "hf_abcdefghijkl",
    ],
)
def test_keys_in_messages_are_hidden(text: str) -> None:
    """Providers quote the wrong key; errors do not."""
    assert "***" in hide_secrets(text)
    for secret in ("abcdef0123456789", "0123456789abcdef", "abc.def.ghi", "abcdefghijkl"):
        assert secret not in hide_secrets(text)
        assert secret not in read_error(401, {}, msgspec.json.encode({"error": {"message": text, "code": text}})).message
        assert secret not in repr(read_in_band({"message": text, "type": text}))
        assert secret not in repr(read_error(401, {}, text.encode()))


def test_ordinary_words_are_not_hidden() -> None:
    """What merely looks a little like a key stays readable."""
    for text in ("risk-averse sk-x", "the model gpt-4o-mini-2024-07-18 is not here", "a task_with_underscores", "fw is fine, hf too"):
        assert hide_secrets(text) == text


def test_long_messages_are_cut() -> None:
    """A gateway that quotes the whole request does not fill the log."""
    assert len(read_error(400, {}, msgspec.json.encode({"error": "x" * 100_000})).message) == 4000


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["error", "errors", "message", "detail", "code", "type", "status", "metadata", "raw", "base_resp", "msg", "loc"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(payload=_JSON, status=st.integers(300, 599))
def test_no_shape_breaks_the_reader(payload: object, status: int) -> None:
    """Any JSON at all gives an error with a message, and raises nothing."""
    assert read_in_band(payload).message
    assert read_error(status, {}, msgspec.json.encode(payload)).message


@given(body=st.binary(max_size=300))
def test_no_bytes_break_the_reader(body: bytes) -> None:
    """Any bytes at all give an error that can be encoded."""
    assert msgspec.json.encode(read_error(500, {}, body))
