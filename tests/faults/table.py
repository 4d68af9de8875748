"""The table of faults: what a provider does wrong, and what a caller gets. The matrix tests hold it, docs/faults.md is made from it.

Every script answers with three pieces of text. The engine of these tests makes one retry.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from headwater_codecs.neutral.errors import Deadline, ErrorKind, Phase

WHOLE = "token0 token1 token2 "
TWO = "token0 token1 "
MAX_FRAME = 64 << 10  # of the tests' engine: a frame over the limit need not be a large one


class Outcome(Struct, frozen=True):
    """How an answer ended. `kind` None is a whole answer; `attempts` counts the requests that were sent."""

    kind: ErrorKind | None = None
    phase: Phase | None = None
    deadline: Deadline | None = None
    attempts: int = 1
    text: str = ""


class Fault(Struct, frozen=True):
    """One fault: the sim's script, what comes of it, and the words for the page.

    `waits`: the deadlines that it can run into. `twice`: a second request follows on the same engine, and it is the one that is looked at.
    `tls`: it is asked over TLS, with a certificate that nobody trusts. `racy`: the kernel may drop what came just before the fault, so that a
    part of the text may be missing, or all of it, and then the request is made again.
    """

    script: str
    outcome: Outcome
    says: str
    waits: tuple[Deadline, ...] = ()
    twice: bool = False
    tls: bool = False
    racy: bool = False


def _fault(kind: str, **options: object) -> str:
    return "&".join([f"sim/fault?kind={kind}&n=3", *(f"{name}={value}" for name, value in options.items())])


WELL = Outcome(text=WHOLE)
WELL_AGAIN = Outcome(attempts=2, text=WHOLE)

FAULTS: dict[str, Fault] = {
    "connection refused": Fault(_fault("refuse"), Outcome("network", "connect", attempts=2), "nobody listens at the address"),
    "TLS failure": Fault(_fault("close"), Outcome("network", "connect"), "the certificate is not trusted", tls=True),
    "closed before the headers": Fault(_fault("close"), Outcome("network", "headers", attempts=2), "the connection is closed instead of an answer"),
    "reset before the headers": Fault(_fault("reset"), Outcome("network", "headers", attempts=2), "the connection is reset instead of an answer"),
    "no HTTP": Fault(_fault("no_http"), Outcome("malformed", "headers"), "the answer is not HTTP"),
    "no headers in time": Fault(
        "sim/tokens?n=3&headers_ms=60000",
        Outcome("timeout", "headers", "first_content"),
        "the request is taken and nothing comes",
        ("first_content",),
    ),
    "429": Fault(_fault("status", status=429, retry_after=0), Outcome("rate_limit", "headers", attempts=2), "every attempt is refused with 429"),
    "429, hint beyond patience": Fault(
        _fault("status", status=429, retry_after=3600), Outcome("rate_limit", "headers"), "429 with a `Retry-After` above `max_hint`"
    ),
    "429, then success": Fault(_fault("status", status=429, retry_after=0, times=1), WELL_AGAIN, "one 429, then all is well"),
    "503, then success": Fault(_fault("status", status=503, times=1), WELL_AGAIN, "one 503, then all is well"),
    "401": Fault(_fault("status", status=401), Outcome("auth", "headers"), "the key is refused"),
    "429 whose body stalls, then success": Fault(
        _fault("status_stall", status=429, times=1), WELL_AGAIN, "the body of a refusal never ends", ("idle",)
    ),
    "HTML with 200": Fault(_fault("html"), Outcome("malformed", "stream"), "a web page with status 200"),
    "JSON error with 200": Fault(_fault("json_error"), Outcome("server", "stream", attempts=2), "an error object with status 200"),
    "error before content": Fault(_fault("error"), Outcome("server", "stream", attempts=2), "an error in the stream, before any content"),
    "error after content": Fault(_fault("error", after=2), Outcome("server", "stream", text=TWO), "an error in the stream, after content"),
    "error, then success": Fault(_fault("error", times=1), WELL_AGAIN, "one stream that fails before its content, then all is well"),
    "truncated before content": Fault(_fault("truncate"), Outcome("truncated", "stream", attempts=2), "a clean end of the body before any content"),
    "truncated after content": Fault(
        _fault("truncate", after=2), Outcome("truncated", "stream", text=TWO), "a clean end of the body without the protocol's end"
    ),
    "truncated, compressed": Fault(
        _fault("truncate", after=2, gzip=1), Outcome("truncated", "stream", text=TWO), "the same, through a proxy that compresses"
    ),
    "cut before content": Fault(
        _fault("cut"), Outcome("truncated", "stream", attempts=2), "the connection is closed in the body, before any content"
    ),
    "cut after content": Fault(_fault("cut", after=2), Outcome("truncated", "stream", text=TWO), "the connection is closed in the body"),
    "reset in the body": Fault(
        _fault("reset_body", after=2), Outcome("truncated", "stream", text=TWO), "the connection is reset in the body", racy=True
    ),
    "wrong content length": Fault(_fault("length", after=2), Outcome("truncated", "stream", text=TWO), "`content-length` promises more than comes"),
    "cut UTF-8": Fault(_fault("cut_utf8", after=2), Outcome("truncated", "stream", text=TWO), "the body ends inside of a character"),
    "garbage frame": Fault(_fault("garbage", after=2), Outcome("malformed", "stream", text=TWO), "bytes that are no frame of the protocol"),
    "broken chunk": Fault(_fault("bad_chunk", after=2), Outcome("malformed", "stream", text=TWO), "bytes that break HTTP's own framing"),
    "frame over the limit": Fault(
        _fault("huge", after=2, size=1 << 20), Outcome("malformed", "stream", text=TWO), "a frame larger than `Engine(max_frame=)`"
    ),
    "stall before content": Fault(
        _fault("stall"), Outcome("timeout", "stream", "first_content"), "headers, and then nothing", ("first_content", "idle")
    ),
    "stall after content": Fault(
        _fault("stall", after=2), Outcome("timeout", "stream", "idle", text=TWO), "some content, and then nothing", ("idle",)
    ),
    "endless pings before content": Fault(
        _fault("pings", ping_ms=10), Outcome("timeout", "stream", "first_content"), "nothing but keep-alives", ("first_content", "idle")
    ),
    "endless pings after content": Fault(
        _fault("pings", after=2, ping_ms=10), Outcome("timeout", "stream", "idle", text=TWO), "some content, then nothing but keep-alives", ("idle",)
    ),
    "longer than total": Fault(
        "sim/tokens?n=100000&gap_ms=2",
        Outcome("timeout", "stream", "total", text=TWO),
        "content that does not end in the time that the whole may take",
        ("total",),
    ),
    "slow drip": Fault("sim/tokens?n=3&split=40&drip_ms=0.1", WELL, "the body comes a few bytes at a time"),
    "gzip unasked": Fault("sim/tokens?n=3&gzip=1", WELL, "a proxy compresses although it was asked not to"),
    "keep-alives between": Fault("sim/tokens?n=3&gap_ms=6&ping_ms=2", WELL, "keep-alives between the pieces"),
    "cut behind the end": Fault(_fault("cut", late=1), WELL, "the connection is closed behind the protocol's end"),
    "idle connection closed": Fault(
        _fault("idle_close"), WELL, "the server closes the pooled connection without a word; then the next request", twice=True
    ),
}
# An item or block that opens is progress: from there on it is `idle` that counts, though nothing of the answer has come.
OPENS = {"anthropic-messages", "openai-responses", "openai-assistants", "gemini-interactions", "bedrock-invoke", "cohere-chat"}
MORE_TEXT = {"longer than total"}  # how much more came is a matter of time


def expected(protocol: str) -> dict[str, Outcome]:
    """What a caller gets for each fault."""
    return {name: _expected(fault, protocol) for name, fault in FAULTS.items()}


def _expected(fault: Fault, protocol: str) -> Outcome:
    if len(fault.waits) > 1 and protocol in OPENS:
        return replace(fault.outcome, deadline="idle")
    return fault.outcome
