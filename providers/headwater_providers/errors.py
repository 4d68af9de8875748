"""What a provider's error says: status, code and message to an `ErrorInfo`, from HTTP answers and from errors inside a 200 stream.

The order of trust is: a status (of the answer, or in a `status_code` field), then a numeric code, then the words in `code` and `type`, then the
message. Words may sharpen what a status says (429 with `insufficient_quota` is no rate limit), but never turn a refusal into something worth
repeating: a 400 stays a 400 whatever its code is called (B075, B261). Codes are free text, bodies come in many shapes; nothing here raises.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec.structs import replace

from headwater_codecs.neutral.errors import RETRYABLE, ErrorInfo, ErrorKind
from headwater_providers.error_body import Said, body_of, read_said
from headwater_providers.error_words import BY_PART, BY_STATUS, BY_WORD
from headwater_providers.response_headers import request_id
from headwater_providers.retry_hints import retry_after

SNIPPET = 200  # characters of a body that is no JSON
MAX_MESSAGE = 4000  # characters; some gateways quote the whole request

# OR-OV-02
_OVERFLOW = re.compile(
    r"prompt is too long|request_too_large|input is too long for requested model|exceeds the context (?:window|length)"
    r"|exceeds? (?:the )?(?:model'?s )?maximum context length|maximum context length is [\d,]+ tokens|input token count.*exceeds the maximum"
    r"|maximum prompt length is [\d,]+|reduce the length of the messages|input \(?[\d,]+ tokens\)? is longer than the model'?s context length"
    r"|exceeds the limit of [\d,]+|exceeds the available context size|greater than the context length|context window exceeds limit"
    r"|exceeded model token limit|too large for model with [\d,]+ maximum context length|model_context_window_exceeded"
    r"|prompt too long; exceeded (?:max )?context length|context[_ ]length[_ ]exceeded|too many (?:input )?tokens|token limit exceeded"
    r"|`max_tokens` exceed context limit"
    r"|^4(?:00|13) (?:status code )?\(no body\)",
    re.IGNORECASE | re.DOTALL,
)
# OR-OV-03: words that look like an overflow and are none
_NO_OVERFLOW = re.compile(r"^(?:throttling error|service unavailable):|rate limit|too many requests", re.IGNORECASE)
_BY_MESSAGE: tuple[tuple[re.Pattern[str], ErrorKind], ...] = (
    (re.compile(r"rate[ -]?limit|too many requests", re.IGNORECASE), "rate_limit"),
    (re.compile(r"overloaded|at capacity|service unavailable|temporarily unavailable", re.IGNORECASE), "overloaded"),
    (re.compile(r"insufficient (?:balance|credits?|quota|funds)|exceeded your current quota", re.IGNORECASE), "quota"),
    (re.compile(r"(?:invalid|incorrect|missing|no) (?:api[ _]key|auth)|unauthorized", re.IGNORECASE), "auth"),
)
_MAY_OVERFLOW = frozenset({None, "invalid_request", "server"})
_SECRETS = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|hf|nvapi|pplx|csk|fw|tgp|r8|AIza)[-_][A-Za-z0-9_*.\-]{6,}|\bAIza[A-Za-z0-9_\-]{10,}|(?i:\bbearer\s+)[^\s\"',]+"
    r"|(?i:\bapi[ _-]?key(?: provided)?[:=]\s*)[^\s\"',]+"
)


def classify(status: int | None, code: object, type: object, message: str) -> ErrorInfo:
    """The error of this status, code, type and message. Each may be missing; a code that is a number from 400 to 599 counts as a status."""
    text = hide_secrets(message)[:MAX_MESSAGE]
    said = _word(code) or _word(type) or None
    shown = None if said is None else hide_secrets(str(code if _word(code) else type))
    effective = status if status is not None else _as_status(code)
    kind = _kind(effective, code, type, text)
    text = text or f"the provider gave an error without a message ({said or 'no code'})"
    return ErrorInfo(kind, text, code=shown, status=effective, retryable=kind in RETRYABLE)


def read_error(status: int, headers: Mapping[str, str], body: bytes) -> ErrorInfo:
    """What an HTTP answer other than 2xx says. Header names are lower case; the body may be cut, empty, or no JSON at all."""
    decoded = body_of(body)
    said = read_said(decoded) if decoded is not None else Said()
    if said.code is None and said.type is None and (kind := headers.get("x-amzn-errortype")):  # Amazon's place for it
        said = replace(said, type=kind.partition(":")[0])
    if not said.message:
        said = said.with_message(_describe(status, headers, body, said))
    # A status of the answer outranks one in its body, but a gateway's 500 around an upstream 4xx is a refusal all the same.
    inner = said.status if said.status is not None else _as_status(said.code)
    info = classify(inner if inner is not None and status >= 500 > inner else status, said.code, said.type, said.message)
    retryable = {"true": True, "false": False}.get(headers.get("x-should-retry", "").strip().lower(), info.retryable)
    wait = retry_after(headers, decoded, said.message) if retryable else None
    return info.with_(status=status, phase="headers", retryable=retryable, retry_after=wait, request_id=request_id(headers) or said.request_id)


def read_in_band(payload: object) -> ErrorInfo:
    """An error inside a stream: the value under `error`, or the whole object of an `event: error` frame."""
    said = read_said(payload)
    info = classify(said.status, said.code, said.type, said.message)
    wait = retry_after({}, payload, said.message) if info.retryable else None
    return info.with_(phase="stream", retry_after=wait, request_id=said.request_id)


def hide_secrets(text: str) -> str:
    """The text without what looks like a key: providers quote the wrong key in their answer."""
    return _SECRETS.sub("***", text)


def _kind(status: int | None, code: object, type: object, message: str) -> ErrorKind:
    """The kind: by status, sharpened by words; by words alone; by the message; else the provider failed."""
    worded = _by_words(code, type)
    base = _by_status(status)
    if base is not None:
        if worded is not None and worded != base and _sharpens(base, worded, status or 0):
            base = worded
    else:
        base = worded
    if base in _MAY_OVERFLOW and _OVERFLOW.search(message) and not _NO_OVERFLOW.search(message):
        return "context_overflow"
    if base is not None:
        return base
    return next((kind for pattern, kind in _BY_MESSAGE if pattern.search(message)), "server")


def _by_status(status: int | None) -> ErrorKind | None:
    if status is None or status < 300:
        return None
    return BY_STATUS.get(status) or ("server" if status >= 500 else "invalid_request")


def _by_words(code: object, type: object) -> ErrorKind | None:
    words = [word for word in (_word(code), _word(type)) if word]
    for word in words:
        if (kind := BY_WORD.get(word)) is not None:
            return kind
    return next((kind for word in words for part, kind in BY_PART if part in word), None)


def _sharpens(base: ErrorKind, worded: ErrorKind, status: int) -> bool:
    """Whether words may replace what the status says: a refusal by another refusal, a failure by what it really was."""
    if status == 429:
        return worded in ("quota", "overloaded", "context_overflow")
    if base in RETRYABLE:
        return worded in ("overloaded", "quota", "context_overflow", "rate_limit")
    return worded not in RETRYABLE and worded != "invalid_request"


def _word(value: object) -> str:
    """A code or type as a word to look up, "" for numbers and anything else."""
    if not isinstance(value, str):
        return ""
    word = value.strip().strip(".:").lower().replace("-", "_").replace(" ", "_")
    return "" if word.isdigit() else word


def _as_status(code: object) -> int | None:
    """A code that is an HTTP status in disguise."""
    if isinstance(code, str) and code.strip().isdigit():
        code = int(code.strip()[:9])
    return code if isinstance(code, int) and not isinstance(code, bool) and 400 <= code <= 599 else None


def _describe(status: int, headers: Mapping[str, str], body: bytes, said: Said) -> str:
    """Words for an answer that has none of its own."""
    if 300 <= status < 400:
        to = headers.get("location", "").partition("?")[0]
        return f"HTTP {status}: the address redirects{f' to {to}' if to else ''}; correct base_url (redirects are not followed)"
    content_type = headers.get("content-type", "").partition(";")[0].strip() or "no content type"
    text = " ".join(body[: SNIPPET * 8].decode("utf-8", "replace").split())[:SNIPPET]
    if not text:
        return f"HTTP {status} with an empty body"
    return f"HTTP {status} ({content_type}): {text}"


__all__ = ["classify", "hide_secrets", "read_error", "read_in_band", "request_id"]
