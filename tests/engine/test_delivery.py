"""Attempts: what is read of a refusal, what a broken connection means, times, cancelled pulls, and faulty parts."""

from __future__ import annotations

import gzip

import anyio
import pytest
from msgspec.structs import replace

import headwater
from engine.upstream import (
    KEY,
    Answer,
    Clock,
    Reader,
    Upstream,
    collect,
    delta,
    error_body,
    failure,
    finish_only,
    good,
    model,
    request,
    run,
    settle,
    text_of,
)
from headwater.retry import Retry
from headwater.stream import Topology
from headwater_codecs.neutral import ConfigurationError, ErrorInfo, Finish, NetworkError, StreamStart, TruncatedError
from headwater_providers.adapter import HttpRequest
from loopback import Asked, Reply, loopback

pytestmark = pytest.mark.anyio

PAGE = b"<html><body><h1>502 Bad Gateway</h1></body></html>"


async def events_of(answer: Answer, topology: Topology, **options: object) -> tuple[list[headwater.Event], headwater.Response]:
    """All events of a stream with this answer, and its response."""
    async with run(answer, topology=topology, **options) as (engine, _), engine.stream(request()) as stream:
        return await collect(stream), stream.response


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (401, error_body("bad key"), ErrorInfo("auth", "bad key", status=401, phase="headers", events=2)),
        (
            404,
            error_body("no such model", code="model_not_found"),
            ErrorInfo("not_found", "no such model", "model_not_found", 404, "headers", events=2),
        ),
        (500, error_body("oops"), ErrorInfo("server", "oops", status=500, phase="headers", retryable=True, events=2)),
    ],
)
async def test_a_refusal(topology: Topology, status: int, body: bytes, expected: ErrorInfo) -> None:
    """The provider's own words, its status, and that nothing was delivered but the start and the end."""
    events, response = await events_of(Answer(body, status=status), topology)
    assert events == [StreamStart(provider="custom"), events[1]]
    assert failure(events) == response.error == expected


async def test_a_refusal_that_is_a_page(topology: Topology) -> None:
    """HTML is quoted, not parsed."""
    error = failure((await events_of(Answer(PAGE, status=502, headers={"content-type": "text/html"}), topology))[0])
    assert (error.kind, error.status, error.retryable) == ("server", 502, True)
    assert "502" in error.message


async def test_a_refusal_that_a_proxy_compressed(topology: Topology) -> None:
    """Its content encoding is undone as that of a stream is."""
    answer = Answer(gzip.compress(error_body("bad key")), status=401, headers={"content-encoding": "gzip"})
    assert failure((await events_of(answer, topology))[0]).message == "bad key"


async def test_a_refusal_whose_body_breaks_off(topology: Topology) -> None:
    """The status is told with what came of the body."""
    error = failure((await events_of(Answer(b'{"error": {"mess', TruncatedError("reset"), status=500), topology))[0])
    assert (error.kind, error.status) == ("server", 500)


async def test_a_refusal_whose_body_never_ends(monkeypatch: pytest.MonkeyPatch, topology: Topology) -> None:
    """It is given up after a moment, and told without the rest (B234)."""
    monkeypatch.setattr("headwater.attempt.ERROR_BODY_TIME", 0.05)
    answer = Answer(b"ten bytes.", status=500, open=True)
    error = failure((await events_of(answer, topology))[0])
    assert (error.kind, error.status, error.message.endswith("ten bytes.")) == ("server", 500, True)
    assert len(answer.closed) == 1


async def test_a_refusal_without_an_end_is_bounded(topology: Topology) -> None:
    """So much is read of it, and no more."""
    answer = Answer(*[b"x" * 1024] * 100, status=500, open=True)
    await events_of(answer, topology)
    assert answer.reads == 64


@pytest.mark.parametrize(
    ("raised", "kind", "cause"),
    [
        (NetworkError("refused"), "network", NetworkError),
        (ConnectionRefusedError(111, "Connection refused"), "network", ConnectionRefusedError),
        (OSError(113, "No route to host"), "network", OSError),
        (headwater.ConfigurationError("a header is wrong"), "configuration", None),
        (KeyError("x"), "internal", KeyError),
    ],
)
async def test_what_opening_raises(topology: Topology, raised: Exception, kind: str, cause: type[Exception] | None) -> None:
    """Typed, with the phase, and never raw; the exception stays in the chain."""
    async with run(Answer(refuses=raised), topology=topology) as (engine, _):
        with pytest.raises(headwater.HeadwaterError) as caught:
            await engine.generate(request())
    assert caught.value.info.kind == kind
    assert caught.value.info.phase == (None if kind == "configuration" else "headers")
    chain: list[BaseException | None] = [caught.value]
    while chain[-1] is not None:
        chain.append(chain[-1].__cause__)
    assert cause is None or any(type(error) is cause for error in chain)


@pytest.mark.rows("ISS-08")
@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (TruncatedError("reset"), "truncated"),
        (ConnectionResetError(104, "reset"), "truncated"),
        (anyio.BrokenResourceError(), "truncated"),
        (anyio.ClosedResourceError(), "truncated"),
        (headwater.MalformedError("no HTTP"), "malformed"),
        (KeyError("x"), "internal"),
    ],
)
async def test_what_reading_raises(topology: Topology, raised: Exception, kind: str) -> None:
    """A body that breaks off never looks like an end; what came before is kept, the cause is chained (B235, B242)."""
    async with run(Answer(delta("a"), raised), topology=topology) as (engine, _), engine.stream(request()) as stream:
        with pytest.raises(headwater.HeadwaterError) as caught:
            await stream.result()
    assert (caught.value.info.kind, caught.value.info.phase, caught.value.response.text) == (kind, "stream", "a")  # type: ignore[union-attr]
    cause = caught.value.__cause__
    assert raised in (cause, cause.__cause__ if cause is not None else None)


async def test_an_eof_dialect_is_not_fooled_by_a_close(topology: Topology) -> None:
    """Where the plain end of the bytes is the end, a connection closed under us is none."""
    asked = headwater.Request(model=model(dialect={"eof_is_end": True}), messages=[headwater.user("hi")])
    async with run(Answer(delta("a"), anyio.ClosedResourceError()), Answer(delta("a")), topology=topology) as (engine, _):
        assert (await engine.generate(asked, raise_on_error=False)).error is not None
        assert (await engine.generate(asked)).text == "a"


async def test_a_break_after_the_finish_reason_is_an_end(topology: Topology) -> None:
    """The answer was whole, only its usage is missing; a diagnostic says so."""
    events, response = await events_of(Answer(delta("a"), finish_only(), TruncatedError("reset")), topology)
    assert events[-1] == Finish("stop", "stop")
    assert [diagnostic.code for diagnostic in response.diagnostics] == ["broken_after_finish"]


async def test_kept_headers(topology: Topology) -> None:
    """Limits and ids are kept; nothing that may hold a secret."""
    headers = {"x-ratelimit-remaining-tokens": "9", "x-request-id": "r1", "set-cookie": "s", "authorization": KEY, "cf-ray": "c", "date": "d"}
    _, response = await events_of(Answer(good("a"), headers=headers), topology)
    assert response.headers == {"x-ratelimit-remaining-tokens": "9", "x-request-id": "r1", "date": "d"}
    assert response.request_id == "r1"


async def test_timing() -> None:
    """Seconds from the call for each step; what did not happen stays None."""
    clock = Clock()
    connects, answers = anyio.Event(), anyio.Event()
    answer = Answer(open=True, connects=connects, answers=answers)
    async with run(answer, clock=clock) as (engine, _), engine.stream(request()) as stream:
        reader = Reader(stream)
        async with anyio.create_task_group() as group:
            group.start_soon(reader)
            for step in (
                connects.set,
                answers.set,
                lambda: answer.send(delta("")),
                lambda: answer.send(delta("a")),
                lambda: answer.send(finish_only()),
            ):
                await settle()
                clock.now += 1
                step()
            await settle()
            clock.now += 1
            answer.end()
    timing = stream.response.timing
    assert (timing.pool, timing.connected, timing.headers, timing.first_byte) == (0, 1, 2, 3)
    assert (timing.first_content, timing.last_content, timing.end, timing.consumer) == (4, 4, 6, 0)


async def test_a_failure_is_no_content() -> None:
    """An attempt that brought nothing has no time of a first content."""
    events, response = await events_of(Answer(refuses=NetworkError("refused")), "fused")
    assert failure(events).kind == "network"
    assert (response.timing.first_content, response.timing.last_content, response.timing.first_byte) == (None, None, None)
    assert response.timing.end is not None


async def test_nothing_is_sent_before_the_first_pull(topology: Topology) -> None:
    """Entering a stream asks nobody for anything."""
    async with run(Answer(good("a")), topology=topology) as (engine, upstream), engine.stream(request()) as stream:
        await settle()
        assert upstream.requests == []
        assert text_of(await collect(stream)) == "a"


async def test_a_frame_without_an_end(topology: Topology) -> None:
    """It is malformed at the engine's bound, not collected for ever (B255)."""
    answer = Answer(delta("a"), *[b"data: " + b"x" * 100] * 100, open=True)
    events, _ = await events_of(answer, topology, max_frame=1000)
    assert (failure(events).kind, text_of(events), answer.reads < 20) == ("malformed", "a", True)


@pytest.mark.rows("B255")
async def test_an_answer_without_an_end(topology: Topology) -> None:
    """The same token for ever: with a bound it is an error of its own class, told once, and what came until then is kept."""
    answer = Answer(*[delta("a")] * 100, open=True)
    events, response = await events_of(answer, topology, max_answer=10 * len(delta("a")) + 7)
    said = f"the answer passed the limit of {10 * len(delta('a')) + 7} bytes: raise max_answer if this is expected"
    assert (failure(events).kind, failure(events).code, failure(events).message) == ("malformed", "answer_too_large", said)
    assert (text_of(events), response.text, answer.reads < 20) == ("a" * 10, "a" * 10, True)
    with pytest.raises(headwater.AnswerTooLarge) as caught:
        response.raise_for_error()
    assert caught.value.response is response


async def test_the_class_of_a_frame_that_is_too_large() -> None:
    """Who catches FrameTooLarge gets it, from every convenience."""
    async with run(Answer(b"data: " + b"x" * 100), max_frame=50) as (engine, _):
        with pytest.raises(headwater.FrameTooLarge):
            await engine.generate(request())


@pytest.mark.parametrize("bounds", [{"max_frame": 0}, {"max_answer": 0}, {"max_answer": -1}])
def test_bounds_that_are_none(bounds: dict[str, int]) -> None:
    """Nothing fits into less than a byte."""
    with pytest.raises(ConfigurationError, match="max_answer=None is no limit"):
        headwater.Engine(**bounds)  # type: ignore[arg-type]


# Faulty parts.


class Silent:
    """A translator that never says that the stream has ended."""

    progress = 0
    done = settled = False

    def __init__(self) -> None:
        self.diagnostics: list[headwater.Diagnostic] = []

    def feed(self, frames: object, /) -> list[headwater.Event]:
        return []

    def finish(self) -> list[headwater.Event]:
        return []

    def fail(self, error: ErrorInfo) -> list[headwater.Event]:
        return []


@pytest.mark.rows("ISS-27")
async def test_a_translator_without_a_terminal(monkeypatch: pytest.MonkeyPatch, topology: Topology) -> None:
    """The engine ends the stream in its place."""
    async with run(Answer(good("a")), topology=topology) as (engine, _):
        stream = engine.stream(request())
        monkeypatch.setattr(stream._delivery._plan, "translator", Silent)
        async with stream:
            events = await collect(stream)
    assert (failure(events).kind, len(events)) == ("internal", 2)
    assert "the translator ended without a terminal event" in failure(events).message


class Broken(Silent):
    """A translator that raises."""

    def feed(self, frames: object, /) -> list[headwater.Event]:
        raise ZeroDivisionError("division by zero")


async def test_a_translator_that_raises(monkeypatch: pytest.MonkeyPatch, topology: Topology) -> None:
    """Its exception is the cause of a failure of kind internal."""
    async with run(Answer(good("a")), topology=topology) as (engine, _):
        stream = engine.stream(request())
        monkeypatch.setattr(stream._delivery._plan, "translator", Broken)
        async with stream:
            events = await collect(stream)
        with pytest.raises(headwater.HeadwaterError) as caught:
            stream.raise_for_error()
    assert failure(events).kind == "internal"
    assert type(caught.value.__cause__) is ZeroDivisionError


# Hooks.


@pytest.mark.rows("OR-OPT-06", "OR-OPT-08")
async def test_hooks(topology: Topology) -> None:
    """They see every attempt: method, address and body, then status and the kept headers."""
    seen: list[object] = []
    options = {
        "on_request": lambda method, url, body: seen.append((method, url, b'"messages"' in body)),
        "on_response": lambda status, headers: seen.append((status, headers)),
        "retry": Retry(base=0),
    }
    first = Answer(error_body("down"), status=503, headers={"x-request-id": "r1", "authorization": KEY})
    async with run(first, Answer(good("a")), topology=topology, **options) as (engine, _):
        await engine.generate(request())
    post = ("POST", "http://upstream.test/v1/chat/completions", True)
    assert seen == [post, (503, {"x-request-id": "r1"}), post, (200, {})]


@pytest.mark.rows("OR-OPT-06", "OR-OPT-07")
async def test_another_body_in_place_of_ours() -> None:
    """`rewrite_request` is asked for every attempt, with the body as it was built, and `on_request` sees that one too; None keeps it."""
    seen: list[bytes] = []
    answers = iter([b'{"first":1}', None])
    options = {
        "on_request": lambda method, url, body: seen.append(body),
        "rewrite_request": lambda method, url, body: seen.append(body) or next(answers),
        "retry": Retry(base=0),
    }
    async with run(Answer(error_body("down"), status=503), Answer(good("a")), **options) as (engine, upstream):
        await engine.generate(request())
    assert len(set(seen)) == 1
    assert len(seen) == 4
    assert [asked.body for asked in upstream.requests] == [b'{"first":1}', seen[0]]


@pytest.mark.rows("OR-OPT-07")
async def test_what_was_rewritten_is_what_is_signed() -> None:
    """A signature covers the body that is sent."""

    class Signs:
        def sign(self, built: HttpRequest, now: object) -> HttpRequest:
            return replace(built, headers=(("x-signed", built.body.decode()),))

    signing = replace(request(), model=replace(request().model, api_key=Signs))  # type: ignore[arg-type, type-var]
    async with run(Answer(good("a")), rewrite_request=lambda method, url, body: b'{"mine":1}') as (engine, upstream):
        await engine.generate(signing)
    assert [(asked.headers, asked.body) for asked in upstream.requests] == [((("x-signed", '{"mine":1}'),), b'{"mine":1}')]


async def test_a_body_that_is_none() -> None:
    """What is no bytes is told, and nothing is sent."""
    async with run(rewrite_request=lambda method, url, body: "text") as (engine, upstream), engine.stream(request()) as stream:
        error = failure(await collect(stream))
    assert (error.kind, error.message) == ("internal", "the hook rewrite_request gave a str: give bytes, or None to keep the body")
    assert upstream.requests == []


@pytest.mark.rows("OR-OPT-09")
@pytest.mark.parametrize("hook", ["on_request", "on_response", "rewrite_request"])
async def test_a_hook_that_raises(topology: Topology, hook: str) -> None:
    """It ends its stream with a readable error, names itself, and nothing stays open."""

    def bad(*args: object) -> None:
        raise ValueError("oops")

    async with run(Answer(good("a")), topology=topology, **{hook: bad}) as (engine, _), engine.stream(request()) as stream:
        error = failure(await collect(stream))
        with pytest.raises(headwater.HeadwaterError) as caught:
            stream.raise_for_error()
    assert (error.kind, error.message) == ("internal", f"the hook {hook} raised ValueError: oops")
    assert type(caught.value.__cause__.__cause__) is ValueError  # type: ignore[union-attr]


async def test_real_refusals(anyio_backend: str, topology: Topology) -> None:
    """Over real sockets: a page, a refused connection, an answer that stops half-way."""

    async def script(asked: Asked, reply: Reply) -> None:
        if asked.prompt == "page":
            await reply.whole(502, PAGE, "text/html")
        else:
            await reply.begin()
            await reply.send(delta("a"))

    async def error_of(engine: headwater.Engine, url: str, prompt: str) -> tuple[str, str]:
        asked = headwater.Request(model=model(url), messages=[headwater.user(prompt)])
        response = await engine.generate(asked, raise_on_error=False)
        assert response.error is not None
        return response.error.kind, response.text

    with anyio.fail_after(5):
        async with headwater.Engine(topology=topology, retry=headwater.Retry(attempts=0)) as engine:
            async with loopback(script) as server:
                assert await error_of(engine, server.base_url, "page") == ("server", "")
                assert await error_of(engine, server.base_url, "half") == ("truncated", "a")
            assert await error_of(engine, server.base_url, "gone") == ("network", "")


def test_requests_have_no_repr_of_their_headers() -> None:
    """What is kept of a request shows no key."""
    sent = HttpRequest("POST", "http://h", [("authorization", KEY)], b"{}")
    assert KEY not in repr(sent)
    assert KEY not in repr(Upstream())
