"""Everything that a run writes, shows or keeps is searched for the key."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable

import anyio
import msgspec
import pytest

import headwater
from engine.test_telemetry import Logger
from engine.upstream import KEY, Answer, collect, error_body, good, in_band, model, request, run
from headwater.plain import json_line, response_as_dict
from headwater.stream import Topology
from headwater_codecs.neutral import HeadwaterError, NetworkError, Request, Secret, TruncatedError, user
from loopback import Asked, Reply, loopback

pytestmark = pytest.mark.anyio


def written(response: headwater.Response, *errors: BaseException) -> str:
    """Every form of what is left of a run."""
    texts = [repr(response), str(response_as_dict(response)), json_line(response_as_dict(response)).decode(), repr(response.diagnostics)]
    for error in errors:
        texts += [str(error), repr(error), "".join(traceback.format_exception(error)), repr(getattr(error, "info", None))]
    return "\n".join(texts)


ANSWERS: dict[str, Callable[[], Answer]] = {
    "good": lambda: Answer(good("a")),
    "401 that quotes it": lambda: Answer(error_body(f"Incorrect API key provided: {KEY}.", code=f"bad-{KEY}"), status=401),
    "401 that quotes the header": lambda: Answer(error_body(f"bad header: Bearer {KEY}"), status=401),
    "page that quotes it": lambda: Answer(f"<html>authorization: Bearer {KEY}</html>".encode(), status=500, headers={"content-type": "text/html"}),
    "in the stream": lambda: Answer(in_band(f"no quota for {KEY}", code=400)),
    "after content": lambda: Answer(good("a").partition(b"\n\n")[0] + b"\n\n" + in_band(f"no quota for {KEY}")),
    "malformed": lambda: Answer(f"data: [{KEY}\n\n".encode()),
    "refused": lambda: Answer(refuses=NetworkError("refused")),
    "cut": lambda: Answer(TruncatedError("reset")),
}  # fmt: skip


@pytest.mark.parametrize("case", ANSWERS)
async def test_a_run(topology: Topology, capfd: pytest.CaptureFixture[str], case: str) -> None:
    """Response, events, errors with their chains, log, hooks, output: the key was sent, and is in none of them."""
    log, hooks = Logger(), list[object]()
    options = {"log": log, "on_request": lambda *seen: hooks.append(seen), "on_response": lambda *seen: hooks.append(seen)}
    errors: list[HeadwaterError] = []
    async with run(*[ANSWERS[case]() for _ in range(2)], topology=topology, **options) as (engine, upstream):
        async with engine.stream(request()) as stream:
            events = await collect(stream)
        try:
            await engine.generate(request())
        except HeadwaterError as error:
            errors.append(error)
        try:
            stream.raise_for_error()
        except HeadwaterError as error:
            errors.append(error)
        shown = [repr(engine), repr(stream), repr(events), repr(log.lines), repr(hooks), repr(upstream.requests)]
    assert all(KEY in dict(sent.headers)["authorization"] for sent in upstream.requests)
    everything = written(stream.response, *errors) + "\n".join(shown) + "".join(capfd.readouterr())
    assert KEY not in everything
    assert (case == "good") == (not errors)
    assert ("***" in everything) == ("quotes" in case or "stream" in case or "content" in case or case == "malformed")


def test_what_holds_it() -> None:
    """No repr, no encoding of what a key is given in shows it."""
    given = Request(model=model(headers={"x-my-key": KEY}), messages=[user("hi")])
    for shown in (repr(given), str(given.model), repr(Secret(KEY)), str(Secret(KEY)), f"{Secret(KEY)}"):
        assert KEY not in shown
    for encode in (msgspec.json.encode, msgspec.msgpack.encode):
        with pytest.raises(TypeError) as caught:
            encode(given)
        assert KEY not in str(caught.value)
    assert KEY not in repr(pickle.PickleError("unused"))


@pytest.mark.parametrize("transport", ["socket", "httpx", "httpx2"])
async def test_over_real_transports(anyio_backend: str, transport: str, capfd: pytest.CaptureFixture[str]) -> None:
    """A refusal that quotes the key, garbage, a hang-up, a refused connection: nothing of the libraries below shows it either."""
    log = Logger()

    async def script(asked: Asked, reply: Reply) -> None:
        if asked.prompt == "refuse":
            await reply.whole(401, error_body(f"bad key {asked.headers['authorization']}"))
        elif asked.prompt == "garbage":
            await reply.send(f"{asked.headers['authorization']}\r\n\r\n".encode())

    if transport == "httpx2":
        import httpx2

        made: object = httpx2.AsyncClient()
    else:
        made = transport
    errors: list[HeadwaterError] = []
    with anyio.fail_after(10):
        async with headwater.Engine(transport=made, retry=headwater.Retry(attempts=1, base=0), log=log) as engine:
            async with loopback(script) as server:
                for prompt in ("refuse", "garbage", "hang up"):
                    try:
                        await engine.generate(Request(model=model(server.base_url), messages=[user(prompt)]))
                    except HeadwaterError as error:
                        errors.append(error)
            try:
                await engine.generate(Request(model=model(server.base_url), messages=[user("gone")]))
            except HeadwaterError as error:
                errors.append(error)
        if transport == "httpx2":
            await made.aclose()  # type: ignore[attr-defined]
    assert [error.info.kind for error in errors][::3] == ["auth", "network"]
    assert len(errors) == 4
    everything = "\n".join(written(error.response, error) for error in errors if error.response is not None) + repr(log.lines)
    assert KEY not in everything + "".join(capfd.readouterr())
    assert "bad key ***" in everything
