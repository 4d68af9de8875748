"""Retries: the pure decision, and what a stream makes of it."""

from __future__ import annotations

import math

import anyio
import pytest

import headwater
from engine.upstream import Answer, Clock, Reader, collect, delta, error_body, failure, good, in_band, request, run, settle, text_of
from headwater.retry import Retry
from headwater.stream import Topology
from headwater_codecs.neutral import ErrorInfo, Finish, NetworkError, StreamStart, TruncatedError, error_info

ALL_KINDS = [
    "configuration", "auth", "permission", "not_found", "invalid_request", "context_overflow", "rate_limit", "quota", "overloaded", "server",
    "network", "malformed", "truncated", "aborted", "internal",
]  # fmt: skip
RETRIED = {"rate_limit", "overloaded", "server", "network", "truncated"}


def delay(error: ErrorInfo, failed: int = 1, remaining: float = math.inf, random: float = 0.5, retry: Retry | None = None) -> float | None:
    """The wait after this failure."""
    return (retry or Retry()).delay(error, failed, remaining, lambda: random)


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_which_kinds(kind: str) -> None:
    """Only what may go better next time is tried again."""
    assert (delay(error_info(kind, "x")) is not None) == (kind in RETRIED)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", sorted(RETRIED))
def test_never_what_is_said_not_to_be_retryable(kind: str) -> None:
    """A certificate that is not trusted is of kind network, and stays so."""
    assert delay(error_info(kind, "x", retryable=False)) is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("deadline", "again", "asked_for"), [("connect", True, True), ("first_content", False, True), ("idle", False, False), ("total", False, False)]
)
def test_which_deadlines(deadline: str, again: bool, asked_for: bool) -> None:
    """A connection that did not come; a first content only when asked for, since the prompt is paid for again."""
    error = error_info("timeout", "x", deadline=deadline)
    assert (delay(error) is not None) == again
    assert (delay(error, retry=Retry(on_first_content=True)) is not None) == asked_for


@pytest.mark.parametrize(("failed", "most"), [(1, 0.5), (2, 1.0), (3, 2.0), (4, 4.0), (5, 8.0), (6, 8.0), (5000, 8.0)])
def test_full_jitter(failed: int, most: float) -> None:
    """A random part of base x 2^n, up to the cap."""
    error, retry = error_info("server", "x"), Retry(attempts=10_000)
    assert [delay(error, failed, random=part, retry=retry) for part in (0.0, 0.25, 1.0)] == [0.0, most / 4, most]


@pytest.mark.parametrize(("random", "wait"), [(0.0, 4.0), (0.5, 4.5), (1.0, 5.0)])
def test_a_hint_is_waited_for_and_a_little_more(random: float, wait: float) -> None:
    """Never less than the provider asked for, and not everybody at once (B265)."""
    assert delay(error_info("rate_limit", "x", retry_after=4.0), random=random) == wait


@pytest.mark.rows("ISS-49")
@pytest.mark.parametrize(("hint", "wait"), [(0.0, 0.0), (60.0, 60.0), (60.1, None), (3600.0, None)])
def test_a_hint_above_the_limit_fails_at_once(hint: float, wait: float | None) -> None:
    """It is neither slept in full nor cut (B264)."""
    assert delay(error_info("rate_limit", "x", retry_after=hint), random=0.0) == wait


@pytest.mark.parametrize(("remaining", "wait"), [(4.1, 4.0), (4.0, None), (-1.0, None)])
def test_no_wait_beyond_total(remaining: float, wait: float | None) -> None:
    """An attempt that could only begin after `total` is not waited for."""
    assert delay(error_info("overloaded", "x", retry_after=4.0), remaining=remaining, random=0.0) == wait


@pytest.mark.rows("OR-OPT-04")
def test_two_retries_by_default() -> None:
    """Three attempts in all."""
    assert [delay(error_info("server", "x"), failed) is not None for failed in (1, 2, 3)] == [True, True, False]
    assert delay(error_info("server", "x"), retry=Retry(attempts=0)) is None


@pytest.mark.parametrize("field", ["attempts", "base", "cap", "max_hint"])
def test_settings_are_checked(field: str) -> None:
    """A negative number is named."""
    with pytest.raises(headwater.ConfigurationError, match=f"Retry.{field} is -1"):
        Retry(**{field: -1})  # type: ignore[arg-type]  # the name is checked by the class


# From here on: streams. The waits are real, and zero.

QUICK = Retry(base=0.0)
SERVER = {"status": 500}


def refused() -> Answer:
    """A connection that is refused."""
    return Answer(refuses=NetworkError("refused"))


@pytest.mark.anyio
@pytest.mark.parametrize(
    "first",
    [
        lambda: refused(),
        lambda: Answer(error_body("down"), status=500),
        lambda: Answer(error_body("full"), status=503),
        lambda: Answer(error_body("slower"), status=429, headers={"retry-after": "0"}),
        lambda: Answer(),  # an empty body
        lambda: Answer(b": ping\n\n" + delta("")),  # a role chunk, a ping, and the end (B260)
        lambda: Answer(delta(""), TruncatedError("reset")),
        lambda: Answer(b"data: {"),
        lambda: Answer(in_band("overloaded", code=503)),
    ],
    ids=["refused", "500", "503", "429", "empty", "role-then-end", "role-then-reset", "half-a-frame", "in-band"],
)  # fmt: skip
async def test_a_failure_before_content_is_tried_again(topology: Topology, first: object) -> None:
    """Nothing of the dropped attempt is seen: one start, one answer, and the number of attempts."""
    answer = first()  # type: ignore[operator]
    async with run(answer, Answer(good("a", "b")), retry=QUICK, topology=topology) as (engine, upstream), engine.stream(request()) as stream:
        events = await collect(stream)
    assert (text_of(events), type(events[-1])) == ("ab", Finish)
    assert [type(event) for event in events].count(StreamStart) == 1
    assert (stream.response.attempts, len(upstream.requests), stream.response.error) == (2, 2, None)
    assert answer.closed in ([], ["closed"])  # exactly once, if there was anything to close


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, error_body("no"), "invalid_request"),
        (401, error_body("who"), "auth"),
        (403, error_body("not you"), "permission"),
        (404, error_body("where"), "not_found"),
        (402, error_body("pay"), "quota"),
        (429, error_body("pay", code="insufficient_quota"), "quota"),
        (400, error_body("too long", code="context_length_exceeded"), "context_overflow"),
        (200, in_band("no", code=400), "invalid_request"),
        (200, in_band("no", code="context_length_exceeded"), "context_overflow"),
        (200, b"data: [}\n\n", "malformed"),
        (200, b"<html>hello</html>", "malformed"),
        (302, b"", "server"),
    ],
)
async def test_what_is_not_tried_again(topology: Topology, status: int, body: bytes, kind: str) -> None:
    """A refusal is final, by its status as in the stream (B261)."""
    async with run(Answer(body, status=status), retry=QUICK, topology=topology) as (engine, upstream), engine.stream(request()) as stream:
        error = failure(await collect(stream))
    if status == 302:
        assert error.status == 302
        return
    assert (error.kind, len(upstream.requests), stream.response.attempts) == (kind, 1, 1)


@pytest.mark.rows("AMB-39")
@pytest.mark.anyio
@pytest.mark.parametrize("then", [TruncatedError("reset"), in_band("overloaded", code=503), None], ids=["reset", "in-band", "end"])
async def test_never_after_content(topology: Topology, then: Exception | bytes | None) -> None:
    """A second attempt would repeat what was handed out (B259)."""
    answer = Answer(delta("Hel"), *([then] if then is not None else []))
    async with run(answer, retry=QUICK, topology=topology) as (engine, upstream), engine.stream(request()) as stream:
        events = await collect(stream)
    error = failure(events)
    assert (text_of(events), error.retryable, len(upstream.requests)) == ("Hel", True, 1)
    assert stream.response.text == "Hel"


@pytest.mark.anyio
async def test_attempts_are_counted(topology: Topology) -> None:
    """A server that always fails is asked exactly three times (B267), and the last failure is told."""
    answers = [Answer(error_body(f"down {number}"), status=503, headers={"x-request-id": f"r{number}"}) for number in (1, 2, 3)]
    async with run(*answers, retry=QUICK, topology=topology) as (engine, upstream), engine.stream(request()) as stream:
        error = failure(await collect(stream))
    assert (error.kind, error.message, error.status, error.phase, error.request_id) == ("overloaded", "down 3", 503, "headers", "r3")
    assert (stream.response.attempts, len(upstream.requests), stream.response.request_id) == (3, 3, "r3")


@pytest.mark.anyio
async def test_nothing_of_an_earlier_attempt_is_said_of_the_last(topology: Topology) -> None:
    """Headers, request id and cause are those of the attempt that failed, not of one before it."""
    first = Answer(error_body("down"), status=503, headers={"x-request-id": "r1", "retry-after": "0"})
    async with run(first, refused(), retry=Retry(attempts=1, base=0), topology=topology) as (engine, _), engine.stream(request()) as stream:
        error = failure(await collect(stream))
    assert (error.kind, error.request_id, stream.response.request_id, stream.response.headers) == ("network", None, None, {})
    async with run(refused(), Answer(in_band("no", code=400)), retry=QUICK, topology=topology) as (engine, _), engine.stream(request()) as stream:
        with pytest.raises(headwater.InvalidRequestError) as caught:
            await stream.result()
    assert caught.value.__cause__ is None


@pytest.mark.anyio
async def test_the_request_is_built_anew(topology: Topology) -> None:
    """Each attempt sends the same body and asks the token provider again."""
    tokens = iter(["first-token-1", "second-token-2"])
    asked = headwater.Request(
        model=headwater.Model("m", provider="custom", base_url="http://h/v1", api_key=lambda: next(tokens)), messages=[headwater.user("hi")]
    )
    async with run(refused(), Answer(good("a")), retry=QUICK, topology=topology) as (engine, upstream):
        assert (await engine.generate(asked)).text == "a"
    first, second = upstream.requests
    assert (first.url, first.body) == (second.url, second.body)
    assert [dict(sent.headers)["authorization"] for sent in upstream.requests] == ["Bearer first-token-1", "Bearer second-token-2"]


@pytest.mark.anyio
@pytest.mark.rows("OR-OPT-05")
async def test_first_content_is_tried_again_when_asked_for(topology: Topology) -> None:
    """`on_first_content` drops the silent attempt; its deadline counts anew for the next."""
    clock = Clock()
    silent, slow = Answer(open=True), Answer(open=True)
    options = {"clock": clock, "retry": Retry(base=0, on_first_content=True), "timeouts": headwater.Timeouts(first_content=2), "topology": topology}
    async with run(silent, slow, **options) as (engine, _), engine.stream(request()) as stream:
        reader = Reader(stream)
        async with anyio.create_task_group() as group:
            group.start_soon(reader)
            await settle()
            clock.now += 2
            engine.look(clock())
            while not slow.waiting:
                await settle()
            clock.now += 1.9
            engine.look(clock())
            slow.send(good("a"))
            await reader.done.wait()
    assert (reader.text, stream.response.attempts, silent.closed) == ("a", 2, ["aborted"])


@pytest.mark.rows("ISS-49")
@pytest.mark.anyio
@pytest.mark.parametrize(("hint", "attempts", "sent"), [("61", 3, 1), ("0.01", 2, 3)])
async def test_hints(topology: Topology, hint: str, attempts: int, sent: int) -> None:
    """A long hint is reported at once; a short one is waited for."""
    answers = [Answer(error_body("slower"), status=429, headers={"retry-after": hint}) for _ in range(3)]
    async with run(*answers, retry=Retry(), topology=topology) as (engine, upstream), engine.stream(request()) as stream:
        started = anyio.current_time()
        error = failure(await collect(stream))
        waited = anyio.current_time() - started
    assert (error.kind, error.retry_after, len(upstream.requests)) == ("rate_limit", float(hint), sent)
    assert waited >= (sent - 1) * float(hint)


@pytest.mark.anyio
async def test_a_hint_beyond_total_fails_at_once(topology: Topology) -> None:
    """There is no point in waiting for an attempt that cannot begin in time."""
    hint = Answer(error_body("slower"), status=429, headers={"retry-after": "30"})
    async with run(hint, retry=Retry(), topology=topology, timeouts=headwater.Timeouts(total=10)) as (engine, _), engine.stream(request()) as stream:
        error = failure(await collect(stream))
    assert (error.kind, error.retry_after, error.deadline) == ("rate_limit", 30.0, None)


@pytest.mark.anyio
async def test_the_stream_takes_its_own_retry(topology: Topology) -> None:
    """`retry=` of the call stands before that of the engine."""
    async with run(refused(), Answer(good("a")), topology=topology) as (engine, _):
        assert (await engine.generate(request(), retry=QUICK)).attempts == 2
