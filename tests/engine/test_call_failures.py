"""How a call of `engine.call` fails, is tried again, times out, is cancelled: as a stream. And all of it over real sockets."""

from __future__ import annotations

import traceback
from collections.abc import Awaitable, Callable, Mapping

import anyio
import pytest

import headwater
from engine.upstream import KEY, NO_RETRY, Answer, Clock, Upstream, error_body, model, run, settle
from headwater_codecs.neutral import NetworkError, Timeouts, TruncatedError
from loopback import Asked, Reply, loopback, refused_url

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


# --- errors


@pytest.mark.parametrize(
    ("status", "body", "kind", "code"),
    [
        (400, error_body("no such field", code="unknown_parameter"), headwater.InvalidRequestError, "unknown_parameter"),
        (401, error_body("bad key", code="invalid_api_key"), headwater.AuthenticationError, "invalid_api_key"),
        (404, error_body("No thread found", type="invalid_request_error"), headwater.NotFoundError, "invalid_request_error"),
        (429, error_body("pay first", code="insufficient_quota"), headwater.QuotaError, "insufficient_quota"),
        (500, error_body("oops"), headwater.ServerError, None),
        (502, PAGE, headwater.ServerError, None),
        (200, error_body("overloaded", type="overloaded_error"), headwater.OverloadedError, "overloaded_error"),
        (200, b'{"type": "error", "error": {"type": "api_error", "message": "m"}, "request_id": "req_9"}', headwater.ServerError, "api_error"),
    ],
)
async def test_a_refusal(status: int, body: bytes, kind: type[headwater.HeadwaterError], code: str | None) -> None:
    """The typed error with status, code and request id, and the response with its headers; in an answer of 200 too, where it is nothing else."""
    error, _ = await failed(answer(body, status=status, headers={"x-request-id": "req_9"}))
    assert (type(error), error.info.code, error.info.request_id) == (kind, code, "req_9")
    assert error.info.status == (status if status != 200 else None)
    assert error.response is not None
    assert error.response.headers == {"x-request-id": "req_9"}


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        (PAGE, "malformed", "the answer is not JSON: <!DOCTYPE html>"),
        (b"upstream down", "malformed", "the answer is not JSON: upstream down"),
        (b"data: {}\n\n", "malformed", "the answer is not JSON: data: {}"),
        (b'{"a": oops}', "malformed", "the answer is not JSON"),
        (b"{} {}", "malformed", "the answer is not JSON"),
        (b'{"a": [1, 2', "truncated", "the answer ended inside its JSON"),
        (b'{"a": "half a te', "truncated", "the answer ended inside its JSON"),
    ],
)
async def test_what_is_no_document(body: bytes, kind: str, message: str) -> None:
    """A page and broken JSON are malformed, JSON that ends too early is truncated."""
    error, _ = await failed(answer(body))
    assert (error.info.kind, error.info.message[: len(message)], error.info.status) == (kind, message, None)


async def test_an_answer_whose_connection_breaks() -> None:
    """Truncated, however much of it had come."""
    error, _ = await failed(answer(b'{"id": "thr', TruncatedError("reset")))
    assert type(error) is TruncatedError


async def test_no_error_shows_the_key() -> None:
    """Not where the provider quotes it, and not in what is chained."""
    error, _ = await failed(answer(error_body(f"bad key {KEY}"), status=401))
    assert KEY not in "".join(traceback.format_exception(error))
    assert "***" in str(error)


# --- retries


@pytest.mark.parametrize(
    ("first", "again"),
    [
        (answer(error_body("slow down"), status=429, headers={"retry-after": "0"}), True),
        (answer(error_body("oops"), status=500), True),
        (answer(b"", status=503), True),
        (Answer(refuses=NetworkError("reset")), True),
        (answer(b'{"id": "thr', TruncatedError("reset")), True),
        (answer(error_body("no"), status=400), False),
        (answer(error_body("no"), status=404), False),
        (answer(PAGE), False),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_what_is_tried_again(first: Answer, again: bool, method: str) -> None:
    """What a stream tries again before its first content, and nothing else."""
    first = Answer(*[piece for piece in first._data if piece is not None], status=first.status, headers=first.headers, refuses=first.refuses)
    async with run(first, answer(THREAD), retry=TWICE) as (engine, upstream):
        if again:
            assert (await engine.call(method, "/threads", model=model())).attempts == 2
        else:
            with pytest.raises(headwater.HeadwaterError):
                await engine.call(method, "/threads", model=model())
        assert len(upstream.requests) == 1 + again


async def test_a_hint_that_is_too_far_off() -> None:
    """It is handed over at once."""
    error, upstream = await failed(answer(error_body("slow down"), status=429, headers={"retry-after": "3600"}), answer(THREAD), retry=TWICE)
    assert (error.info.kind, error.info.retry_after, len(upstream.requests)) == ("rate_limit", 3600, 1)


# --- deadlines


@pytest.mark.parametrize(
    ("first", "timeouts", "deadline", "phase"),
    [
        (Answer(connects=anyio.Event()), Timeouts(connect=3), "connect", "connect"),
        (Answer(answers=anyio.Event()), Timeouts(first_content=3), "first_content", "headers"),
        (Answer(b'{"id": ', headers=JSON, open=True), Timeouts(first_content=3), "first_content", "stream"),
        (Answer(b'{"id": ', headers=JSON, open=True), Timeouts(total=3), "total", "stream"),
    ],
)
async def test_a_deadline(first: Answer, timeouts: Timeouts, deadline: str, phase: str) -> None:
    """Each fires in its time, with a given clock, also while the body stalls."""
    first = Answer(
        *[piece for piece in first._data if piece is not None],
        headers=first.headers,
        open=True,
        connects=anyio.Event() if first.connects else None,
        answers=anyio.Event() if first.answers else None,
    )
    clock, errors = Clock(), []
    async with run(first, clock=clock) as (engine, _), anyio.create_task_group() as group:

        async def ask() -> None:
            with pytest.raises(headwater.DeadlineExceeded) as caught:
                await engine.call("GET", "/x", model=model(), timeouts=timeouts)
            errors.append(caught.value.info)

        group.start_soon(ask)
        await settle()
        clock.now += 2.9
        engine.look(clock())
        await settle()
        assert errors == []
        clock.now += 0.2
        engine.look(clock())
        await settle()
        assert [(error.deadline, error.phase) for error in errors] == [(deadline, phase)]


# --- over real sockets


@pytest.mark.parametrize("transport", ["socket", "httpx"])
async def test_on_real_sockets(transport: str) -> None:
    """A thread is made, read and deleted; a refusal, a broken body, a page and nothing at all are told as they are."""

    async def script(asked: Asked, reply: Reply) -> None:
        await _ANSWERS[asked.line](reply)

    with anyio.fail_after(10):
        async with loopback(script) as server, headwater.Engine(transport=transport, retry=NO_RETRY) as engine:
            asked = model(server.base_url)
            made = await engine.call("POST", "/threads", {"metadata": {"a": "b"}}, model=asked)
            assert (made.json, made.request_id) == ({"id": "thread_1", "object": "thread", "metadata": {}}, "req_1")
            assert (await engine.call("GET", "/threads/thread_1?x=1", model=asked)).body == THREAD
            assert (await engine.call("DELETE", "/threads/thread_1", model=asked)).json is None
            for path, kind in (("/gone", "not_found"), ("/cut", "truncated"), ("/page", "malformed")):
                with pytest.raises(headwater.HeadwaterError) as caught:
                    await engine.call("GET", path, model=asked)
                assert caught.value.info.kind == kind
    assert [(one.line, one.body) for one in server.asked[:3]] == [
        ("POST /v1/threads", {"metadata": {"a": "b"}}),
        ("GET /v1/threads/thread_1?x=1", {}),
        ("DELETE /v1/threads/thread_1", {}),
    ]


@pytest.mark.parametrize("transport", ["socket", "httpx"])
@pytest.mark.parametrize(
    ("path", "kind", "requests"),
    [
        ("/unauthorized", "auth", 1),
        ("/busy", None, 2),
        ("/ill", None, 2),
        ("/broken", "malformed", 1),
        ("/huge", "malformed", 1),
        ("/stalls", "timeout", 1),
        ("/refusal-stalls", "server", 1),
    ],
)
async def test_faults_on_real_sockets(transport: str, path: str, kind: str | None, requests: int) -> None:
    """What is tried again succeeds then; the total deadline ends a body that stalls, and a refusal that does; a huge body is not read to its end."""
    seen = 0

    async def script(asked: Asked, reply: Reply) -> None:
        nonlocal seen
        seen += 1
        await _faulty(path if seen == 1 else "/whole", reply)

    timeouts = Timeouts(total=0.3) if "stalls" in path else None
    with anyio.fail_after(10):
        async with (
            loopback(script) as server,
            headwater.Engine(transport=transport, retry=TWICE, max_frame=100_000) as engine,
        ):
            started = anyio.current_time()
            if kind is None:
                assert (await engine.call("GET", path, model=model(server.base_url), timeouts=timeouts)).attempts == 2
            else:
                with pytest.raises(headwater.HeadwaterError) as caught:
                    await engine.call("GET", path, model=model(server.base_url), timeouts=timeouts)
                assert caught.value.info.kind == kind
            assert anyio.current_time() - started < 3
    assert len(server.asked) == requests


@pytest.mark.parametrize("transport", ["socket", "httpx"])
async def test_refused_on_real_sockets(transport: str) -> None:
    """Nobody listens: a network error of the phase `connect`."""
    url = await refused_url()
    async with headwater.Engine(transport=transport, retry=NO_RETRY) as engine:
        with pytest.raises(NetworkError) as caught:
            await engine.call("GET", "/models", model=model(url))
    assert caught.value.info.phase == "connect"


@pytest.mark.parametrize("transport", ["socket", "httpx"])
async def test_cancelled_on_real_sockets(transport: str) -> None:
    """The caller's own scope ends it, and the provider sees the hang-up."""

    async def script(asked: Asked, reply: Reply) -> None:
        await reply.send(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{")
        await anyio.sleep_forever()

    with anyio.fail_after(10):
        async with loopback(script) as server, headwater.Engine(transport=transport) as engine, anyio.create_task_group() as group:
            group.start_soon(lambda: engine.call("GET", "/models", model=model(server.base_url)))
            await server.busy(1)
            group.cancel_scope.cancel()
        await server.asked[0].hung_up.wait()


async def test_leaving_the_engine_ends_a_call() -> None:
    """Who waits in another task is told that it was given up."""
    errors: list[str] = []

    async def ask(engine: headwater.Engine) -> None:
        with pytest.raises(headwater.StreamAborted) as caught:
            await engine.call("GET", "/x", model=model())
        errors.append(caught.value.info.kind)

    async with anyio.create_task_group() as group, run(answer(b"{", open=True)) as (engine, _):
        group.start_soon(ask, engine)
        await settle()
    assert errors == ["aborted"]


@pytest.mark.parametrize("transport", ["socket", "httpx"])
async def test_connections_go_back_into_the_pool(transport: str) -> None:
    """Calls that end well, and refusals that were read to their end, leave one connection that serves the next."""
    connections = 0

    async def serve(stream: anyio.abc.ByteStream) -> None:
        nonlocal connections
        connections += 1
        async with stream:
            for _ in range(3):
                data = b""
                while not data.endswith(b"\r\n\r\n"):
                    data += await stream.receive()
                found = b"200 OK" if b" /v1/a " in data else b"404 Not Found"
                await stream.send(b"HTTP/1.1 %s\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}" % found)

    with anyio.fail_after(10):
        async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as group:
            group.start_soon(listener.serve, serve)
            url = f"http://127.0.0.1:{listener.extra(anyio.abc.SocketAttribute.local_port)}/v1"
            async with headwater.Engine(transport=transport, retry=NO_RETRY) as engine:
                assert (await engine.call("GET", "/a", model=model(url))).json == {}
                with pytest.raises(headwater.NotFoundError):
                    await engine.call("GET", "/b", model=model(url))
                assert (await engine.call("GET", "/a", model=model(url))).json == {}
            group.cancel_scope.cancel()
    assert connections == 1


async def _faulty(path: str, reply: Reply) -> None:
    match path:
        case "/unauthorized":
            await reply.whole(401, error_body("bad key"))
        case "/busy":
            await reply.whole(429, error_body("slow down"), retry_after="0")
        case "/ill":
            await reply.whole(500, error_body("oops"))
        case "/broken":
            await reply.whole(200, b'{"a": oops}')
        case "/huge":
            await reply.send(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n[")
            while True:
                await reply.send(b"1," * 10_000)
        case "/stalls" | "/refusal-stalls":
            status = b"200 OK" if path == "/stalls" else b"500 Oops"
            await reply.send(b"HTTP/1.1 %s\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{" % status)
            await anyio.sleep_forever()
        case _:
            await reply.whole(200, THREAD)


async def _cut(reply: Reply) -> None:
    await reply.send(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n" + THREAD)


_ANSWERS: dict[str, Callable[[Reply], Awaitable[None]]] = {
    "POST /v1/threads": lambda reply: reply.whole(200, THREAD, x_request_id="req_1"),
    "GET /v1/threads/thread_1?x=1": lambda reply: reply.whole(200, THREAD),
    "DELETE /v1/threads/thread_1": lambda reply: reply.send(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n"),
    "GET /v1/gone": lambda reply: reply.whole(404, error_body("no such thread")),
    "GET /v1/cut": _cut,
    "GET /v1/page": lambda reply: reply.whole(200, PAGE, "text/html"),
}
