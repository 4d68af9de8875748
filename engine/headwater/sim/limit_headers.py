"""How the vendors tell of their limits: headers with every answer, and what a refusal says of the time to wait."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Literal

import msgspec

from headwater_codecs.neutral import ErrorInfo


def no_limits(what: str, limit: int, left: int, reset: float) -> Mapping[str, str]:
    """The vendor has no such headers."""
    return {}


def no_headers(error: ErrorInfo) -> Mapping[str, str]:
    """The body alone names the kind of an error."""
    return {}


def openai_limits(what: str, limit: int, left: int, reset: float) -> Mapping[str, str]:
    """OpenAI's: the reset is a duration such as `120ms`, `1.5s` or `1m0s`."""
    return {f"x-ratelimit-limit-{what}": str(limit), f"x-ratelimit-remaining-{what}": str(left), f"x-ratelimit-reset-{what}": _duration(reset)}


def anthropic_limits(what: str, limit: int, left: int, reset: float) -> Mapping[str, str]:
    """Anthropic's: the reset is a moment."""
    name = f"anthropic-ratelimit-{what}"
    moment = datetime.now(UTC) + timedelta(seconds=reset)
    return {f"{name}-limit": str(limit), f"{name}-remaining": str(left), f"{name}-reset": moment.strftime("%Y-%m-%dT%H:%M:%SZ")}


def say_retry_after(body: bytes, wait: float) -> tuple[bytes, Mapping[str, str]]:
    """The usual header."""
    return body, retry_after(max(1, math.ceil(wait)), "seconds")


def say_retry_info(body: bytes, wait: float) -> tuple[bytes, Mapping[str, str]]:
    """Google's: a detail of the error in the body, and no header."""
    error = msgspec.json.decode(body, type=dict[str, dict[str, object]])
    error["error"]["details"] = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{max(1, math.ceil(wait))}s"}]
    return msgspec.json.encode(error), {}


def say_nothing(body: bytes, wait: float) -> tuple[bytes, Mapping[str, str]]:
    """Amazon's: the client is left to guess."""
    return body, {}


def retry_after(wait: float, form: Literal["seconds", "date", "ms"]) -> dict[str, str]:
    """The headers that ask for this many seconds. A date comes with the `date` that it is to be read against, since it knows whole seconds only."""
    if form == "seconds":
        return {"retry-after": f"{wait:g}"}
    if form == "ms":
        return {"retry-after-ms": f"{wait * 1000:g}"}
    now = datetime.now(UTC).replace(microsecond=0)
    return {"date": format_datetime(now, usegmt=True), "retry-after": format_datetime(now + timedelta(seconds=wait), usegmt=True)}


def _duration(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.0f}ms"
    minutes, rest = divmod(round(seconds, 3), 60)
    return f"{minutes:.0f}m{rest:g}s" if minutes else f"{rest:g}s"
