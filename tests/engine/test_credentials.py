"""Keys and tokens: every form in which they may be given, and every way in which they fail."""

from __future__ import annotations

import traceback
from collections.abc import Awaitable, Callable

import anyio
import anyio.lowlevel
import pytest

import headwater
from engine.upstream import KEY, Answer, good, model, run
from headwater.credentials import reveal
from headwater.stream import Topology
from headwater_codecs.neutral import ConfigurationError, Request, Secret, user

pytestmark = pytest.mark.anyio

Provider = Callable[[], str | Awaitable[str]]


def gives() -> str:
    """A token."""
    return KEY


async def gives_later() -> str:
    """A token, after a while."""
    await anyio.lowlevel.checkpoint()
    return KEY


class Renewing:
    """A token provider with a state of its own."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self) -> str:
        self.asked += 1
        return f"token-number-{self.asked}"


@pytest.mark.parametrize("key", [Secret(KEY), KEY, gives, gives_later, lambda: gives_later(), lambda: Secret(KEY)])
async def test_every_form(key: Secret | str | Provider) -> None:
    """A string, a Secret, a function, a coroutine function."""
    assert await reveal(key) == Secret(KEY)


async def test_no_key() -> None:
    """A server of one's own may need none."""
    assert await reveal(None) is None


@pytest.mark.parametrize(("value", "what"), [("", "str"), (None, "NoneType"), (7, "int"), (b"token", "bytes")])
async def test_what_is_no_token(value: object, what: str) -> None:
    """The error says what was returned, not its value."""
    with pytest.raises(ConfigurationError, match=f"the token provider given as api_key returned {what}, not a non-empty string"):
        await reveal(lambda: value)  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize("later", [False, True])
async def test_a_provider_that_raises(later: bool) -> None:
    """The cause is chained; its message is not quoted, since it may hold what it must not."""

    def fails() -> str:
        raise OSError(f"no access to {KEY}")

    async def fails_later() -> str:
        await anyio.lowlevel.checkpoint()
        return fails()

    with pytest.raises(ConfigurationError, match=r"^the token provider given as api_key failed: OSError$") as caught:
        await reveal(fails_later if later else fails)
    assert type(caught.value.__cause__) is OSError
    assert caught.value.info.kind == "configuration"


async def test_a_provider_is_cancelled_with_its_stream() -> None:
    """Cancellation is no failure of the provider."""

    async def never() -> str:
        await anyio.sleep_forever()
        return ""

    with anyio.move_on_after(0.01) as scope:
        await reveal(never)
    assert scope.cancelled_caught


@pytest.mark.parametrize("key", [KEY, Secret(KEY), gives, gives_later])
async def test_the_key_is_sent(topology: Topology, key: Secret | str | Provider) -> None:
    """And nowhere but in its header."""
    async with run(Answer(good("a")), topology=topology) as (engine, upstream):
        await engine.generate(Request(model=model(api_key=key), messages=[user("hi")]))
    (sent,) = upstream.requests
    assert [(name, value) for name, value in sent.headers if KEY in value] == [("authorization", f"Bearer {KEY}")]
    assert KEY not in sent.url
    assert KEY.encode() not in sent.body


async def test_a_provider_is_asked_for_each_request() -> None:
    """A token may be renewed; none is asked for before it is needed."""
    renewing = Renewing()
    async with run(Answer(good("a")), Answer(good("a"))) as (engine, upstream):
        asked = Request(model=model(api_key=renewing), messages=[user("hi")])
        engine.stream(asked)
        assert renewing.asked == 0
        for _ in range(2):
            await engine.generate(asked)
    assert [dict(sent.headers)["authorization"] for sent in upstream.requests] == ["Bearer token-number-1", "Bearer token-number-2"]


async def test_a_token_that_no_header_can_carry(topology: Topology) -> None:
    """Refused without being shown."""
    async with run(topology=topology) as (engine, upstream):
        response = await engine.generate(Request(model=model(api_key=lambda: f"{KEY}\r\nx: y"), messages=[user("hi")]), raise_on_error=False)
    assert response.error is not None
    assert (response.error.kind, upstream.requests) == ("configuration", [])
    assert KEY not in response.error.message


async def test_the_traceback_of_a_failed_provider_is_readable() -> None:
    """Who wrote the provider sees where it failed."""
    with pytest.raises(headwater.ConfigurationError) as caught:
        await reveal(lambda: str(1 // 0))
    assert "ZeroDivisionError" in "".join(traceback.format_exception(caught.value))
