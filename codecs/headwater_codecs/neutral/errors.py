"""What went wrong, as data (`ErrorInfo`) and as exceptions.

    HeadwaterError
     +- ConfigurationError            wrong without the network: key, model, field, option
     +- TransportError
     |   +- DeadlineExceeded          one of the deadlines of `Timeouts` passed
     |   +- NetworkError              refused, reset, TLS, name resolution
     |   +- StreamAborted             somebody gave the stream up
     +- ProviderError                 the provider said no, by status or inside the stream
     |   +- AuthenticationError, PermissionDeniedError, NotFoundError, InvalidRequestError
     |   +- ContextOverflowError, RateLimitError, QuotaError, OverloadedError, ServerError
     +- ProtocolError                 the bytes broke the rules
     |   +- MalformedError            theirs: bytes that cannot be read
     |   |   +- FrameTooLarge, AnswerTooLarge
     |   +- TruncatedError            theirs: the stream ended before its end
     |   +- LocalProtocolError        ours: an event at a moment when it is illegal
     +- SubscriptionError
         +- SubscriberLagged          a listener with policy `disconnect` fell behind

`EXCEPTIONS` maps a kind to its class, `TOO_LARGE` the codes of our own limits to theirs; nothing else decides which exception is raised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from headwater_codecs.neutral.response import Response

ErrorKind = Literal[
    "configuration",
    "auth",
    "permission",
    "not_found",
    "invalid_request",
    "context_overflow",
    "rate_limit",
    "quota",
    "overloaded",
    "server",
    "timeout",
    "network",
    "malformed",
    "truncated",
    "aborted",
    "internal",
]
Phase = Literal["connect", "headers", "stream"]
Deadline = Literal["connect", "first_content", "idle", "total"]

# A fresh identical request may succeed. Whether one is sent is the engine's rule, not this table's.
RETRYABLE: frozenset[str] = frozenset({"rate_limit", "overloaded", "server", "timeout", "network", "truncated"})


class ErrorInfo(Struct, frozen=True, omit_defaults=True):
    """One failure. `retry_after` is in seconds; `events` and `bytes_received` say how far the stream got.

    `retryable` means that a fresh identical request may succeed, whatever was already delivered.
    """

    kind: ErrorKind
    message: str
    code: str | None = None
    status: int | None = None
    phase: Phase | None = None
    deadline: Deadline | None = None
    retryable: bool = False
    retry_after: float | None = None
    request_id: str | None = None
    events: int = 0
    bytes_received: int = 0

    def with_(self, **changes: object) -> ErrorInfo:
        """A copy with some fields replaced."""
        return replace(self, **changes)


def error_info(kind: ErrorKind, message: str, **fields: object) -> ErrorInfo:
    """An `ErrorInfo` whose `retryable` follows from its kind unless given."""
    fields.setdefault("retryable", kind in RETRYABLE)
    return ErrorInfo(kind, message, **fields)  # type: ignore[arg-type]  # checked by the callers' keyword names


class HeadwaterError(Exception):
    """Base of everything that Headwater raises. `info` says what happened, `response` what was received until then."""

    kind: ErrorKind = "internal"
    code: str | None = None  # of `info`, where the class itself says it

    def __init__(self, message: str | ErrorInfo, response: Response | None = None) -> None:
        self.info = message if isinstance(message, ErrorInfo) else error_info(self.kind, message, code=self.code)
        self.response = response
        super().__init__(self.info.message)


class ConfigurationError(HeadwaterError):
    """Something is wrong that no network can mend: a key, a model, a field, an option. Raised before a byte is sent."""

    kind: ErrorKind = "configuration"


class TransportError(HeadwaterError):
    """The way to the provider failed."""

    kind: ErrorKind = "network"


class NetworkError(TransportError):
    """Refused, reset, unreachable, or not to be trusted."""


class DeadlineExceeded(TransportError):
    """A deadline of `Timeouts` passed; `info.deadline` names it."""

    kind: ErrorKind = "timeout"


class StreamAborted(TransportError):
    """The stream was given up on our side."""

    kind: ErrorKind = "aborted"


class ProviderError(HeadwaterError):
    """The provider refused or failed, by its status or inside a stream."""

    kind: ErrorKind = "server"


class AuthenticationError(ProviderError):
    """The key is missing, wrong or expired."""

    kind: ErrorKind = "auth"


class PermissionDeniedError(ProviderError):
    """The key is good but may not do this."""

    kind: ErrorKind = "permission"


class NotFoundError(ProviderError):
    """No such model or address."""

    kind: ErrorKind = "not_found"


class InvalidRequestError(ProviderError):
    """The provider holds the request to be wrong."""

    kind: ErrorKind = "invalid_request"


class ContextOverflowError(ProviderError):
    """The conversation is longer than the model's context window."""

    kind: ErrorKind = "context_overflow"


class RateLimitError(ProviderError):
    """Too many requests or tokens; `info.retry_after` says how long to wait, if the provider did."""

    kind: ErrorKind = "rate_limit"


class QuotaError(ProviderError):
    """The account has run out; waiting a little will not help."""

    kind: ErrorKind = "quota"


class OverloadedError(ProviderError):
    """The provider has no capacity at the moment."""

    kind: ErrorKind = "overloaded"


class ServerError(ProviderError):
    """The provider failed inside."""

    kind: ErrorKind = "server"


class ProtocolError(HeadwaterError):
    """Bytes or events that break the rules."""

    kind: ErrorKind = "malformed"


class MalformedError(ProtocolError):
    """What came cannot be read."""


class FrameTooLarge(MalformedError):
    """One frame passed the size limit, `Engine(max_frame=)`."""

    code = "frame_too_large"


class AnswerTooLarge(MalformedError):
    """The whole answer passed the size limit, `Engine(max_answer=)`; what came until then is in the response."""

    code = "answer_too_large"


class TruncatedError(ProtocolError):
    """The stream ended without what its protocol ends with."""

    kind: ErrorKind = "truncated"


class LocalProtocolError(ProtocolError):
    """A translator or a stage of one's own sent an event at a moment when it is illegal."""

    kind: ErrorKind = "internal"


class SubscriptionError(HeadwaterError):
    """A listener asked for what the stream cannot give."""


class SubscriberLagged(SubscriptionError):
    """A listener with policy `disconnect` fell further behind than its buffer."""


EXCEPTIONS: dict[str, type[HeadwaterError]] = {
    "configuration": ConfigurationError,
    "auth": AuthenticationError,
    "permission": PermissionDeniedError,
    "not_found": NotFoundError,
    "invalid_request": InvalidRequestError,
    "context_overflow": ContextOverflowError,
    "rate_limit": RateLimitError,
    "quota": QuotaError,
    "overloaded": OverloadedError,
    "server": ServerError,
    "timeout": DeadlineExceeded,
    "network": NetworkError,
    "malformed": MalformedError,
    "truncated": TruncatedError,
    "aborted": StreamAborted,
    "internal": HeadwaterError,
}
TOO_LARGE: dict[str | None, type[HeadwaterError]] = {error.code: error for error in (FrameTooLarge, AnswerTooLarge)}


def exception_for(info: ErrorInfo, response: Response | None = None) -> HeadwaterError:
    """The typed exception for an `ErrorInfo`, carrying what was received."""
    kind = EXCEPTIONS[info.kind]
    return (TOO_LARGE.get(info.code, kind) if kind is MalformedError else kind)(info, response)
