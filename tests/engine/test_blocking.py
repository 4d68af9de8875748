"""The engine from plain threads: answers, errors, many threads at once, interrupts, and a script that just ends."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import anyio
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

import headwater
from engine.upstream import model, text_of
from headwater.blocking import _BACKGROUND
from headwater_codecs.neutral import Finish, Request, user
from loopback import Asked, Loopback, Reply, delta, ending, loopback

LIMIT = 5  # seconds


class Server:
    """The scripted provider, in a thread of its own. What it does is said by the prompt."""

    def __init__(self, portal: BlockingPortal, server: Loopback) -> None:
        self.base_url = server.base_url
        self._portal = portal
        self._server = server

    def request(self, prompt: str) -> Request:
        """A request for it."""
        return Request(model=model(self.base_url), messages=[user(prompt)])

    def wait_hung_up(self) -> None:
        """Wait until the client of the last request is gone."""

        async def wait() -> None:
            with anyio.fail_after(LIMIT):
                await self._server.asked[-1].hung_up.wait()

        self._portal.call(wait)

    def __len__(self) -> int:
        return len(self._server.asked)


async def script(asked: Asked, reply: Reply) -> None:
    """`refuse`, `stall`, `interrupt`, or an echo."""
    if asked.prompt == "refuse":
        await reply.whole(401, b'{"error": {"message": "bad key"}}')
        return
    await reply.begin()
    if asked.prompt in ("stall", "interrupt"):
        await reply.send(delta("a"))
        if asked.prompt == "interrupt":
            await anyio.sleep(0.05)  # the caller waits again by then; if not yet, its next wait is interrupted
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        await anyio.sleep_forever()
    await reply.send(b"".join(delta(word) for word in asked.prompt.split()) + ending())


@pytest.fixture
def server() -> Iterator[Server]:
    """A provider for the test; what it started in the background is stopped after it."""
    with ExitStack() as stack:
        portal = stack.enter_context(start_blocking_portal())
        running = stack.enter_context(portal.wrap_async_context_manager(loopback(script)))
        stack.callback(_BACKGROUND.stop)
        yield Server(portal, running)


def test_generate(server: Server) -> None:
    """An answer, and a second one from the same background engine."""
    assert headwater.generate_sync(server.request("a b")).text == "ab"
    first = _BACKGROUND.portal
    assert headwater.generate_sync(server.request("c")).text == "c"
    assert _BACKGROUND.portal is first


def test_generate_raises_the_typed_error(server: Server) -> None:
    """As `Engine.generate` does; or hands the response over."""
    with pytest.raises(headwater.AuthenticationError, match="bad key") as caught:
        headwater.generate_sync(server.request("refuse"))
    assert caught.value.response is not None
    assert headwater.generate_sync(server.request("refuse"), raise_on_error=False).error == caught.value.info


def test_a_wrong_request(server: Server) -> None:
    """What is wrong without the network is a ConfigurationError here too."""
    wrong = Request(model=headwater.Model("m", provider="nobody"), messages=[user("hi")])
    with pytest.raises(headwater.ConfigurationError, match="unknown provider 'nobody'"):
        headwater.generate_sync(wrong)
    with pytest.raises(headwater.ConfigurationError, match="unknown provider 'nobody'"):
        headwater.stream_sync(wrong)


def test_stream(server: Server) -> None:
    """All events, the terminal last; the response is there during and after."""
    with headwater.stream_sync(server.request("a b c")) as stream:
        events = list(stream)
        assert list(stream) == []
    assert (text_of(events), type(events[-1]), stream.response.text) == ("abc", Finish, "abc")


def test_text_deltas(server: Server) -> None:
    """The text, piece by piece; the typed error at the end of a failed stream."""
    with headwater.stream_sync(server.request("a b c")) as stream:
        assert list(stream.text_deltas()) == ["a", "b", "c"]
    with headwater.stream_sync(server.request("refuse")) as stream, pytest.raises(headwater.AuthenticationError):
        list(stream.text_deltas())


def test_leaving_early_hangs_up(server: Server) -> None:
    """`break` closes the connection."""
    with headwater.stream_sync(server.request("stall")) as stream:
        for event in stream:
            if isinstance(event, headwater.TextDelta):
                break
    server.wait_hung_up()
    assert (stream.response.text, stream.response.error.kind) == ("a", "aborted")  # type: ignore[union-attr]


def test_an_exception_in_the_block(server: Server) -> None:
    """It arrives as itself."""
    with pytest.raises(ZeroDivisionError), headwater.stream_sync(server.request("stall")) as stream:  # noqa: PT012  # it comes out of the block
        next(stream)
        raise ZeroDivisionError
    server.wait_hung_up()


def test_wrong_use(server: Server) -> None:
    """Reading outside of the block, entering twice: as with an asynchronous stream."""
    stream = headwater.stream_sync(server.request("a"))
    with pytest.raises(headwater.ConfigurationError, match="read a stream inside its block"):
        next(stream)
    with stream:
        assert text_of(list(stream)) == "a"
    with pytest.raises(headwater.ConfigurationError, match="a stream can be entered once"):
        stream.__enter__()
    assert len(server) == 1


def test_several_threads(server: Server) -> None:
    """They share one background engine, and each gets its own answers."""

    def ask(number: int) -> list[str]:
        generated = headwater.generate_sync(server.request(f"generate {number}")).text
        with headwater.stream_sync(server.request(f"stream {number}")) as stream:
            return [generated, text_of(list(stream))]

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(24), timeout=LIMIT))
    assert answers == [[f"generate{number}", f"stream{number}"] for number in range(24)]
    names = [thread.name for thread in threading.enumerate()]
    assert sum("portal" in name for name in names) == 2  # the server's and the engine's


@pytest.mark.parametrize("how", ["generate", "stream"])
def test_an_interrupt(server: Server, how: str) -> None:
    """Ctrl-C while waiting: KeyboardInterrupt at once, the provider sees the hang-up, and the next call works (B245)."""
    if how == "generate":
        with pytest.raises(KeyboardInterrupt):
            headwater.generate_sync(server.request("interrupt"))
    else:
        with pytest.raises(KeyboardInterrupt), headwater.stream_sync(server.request("interrupt")) as stream:
            list(stream)
        assert (stream.response.text, stream.response.error.kind) == ("a", "aborted")  # type: ignore[union-attr]
    server.wait_hung_up()
    assert headwater.generate_sync(server.request("b")).text == "b"


def test_reading_on_after_an_interrupt(server: Server) -> None:
    """A stream whose wait was interrupted is still a stream."""
    seen = []
    with headwater.stream_sync(server.request("interrupt")) as stream:
        try:
            seen += list(stream.text_deltas())
        except KeyboardInterrupt:
            seen.append(stream.response.text)
        assert stream.response.error is None
    assert seen == ["a"]


def test_stopping_and_starting_anew(server: Server) -> None:
    """`stop` ends the thread; the next use starts another one."""
    headwater.generate_sync(server.request("a"))
    _BACKGROUND.stop()
    _BACKGROUND.stop()
    assert sum("portal" in thread.name for thread in threading.enumerate()) == 1
    assert headwater.generate_sync(server.request("b")).text == "b"


SCRIPT = """
import sys
import headwater as hw
model = hw.Model("m", provider="custom", base_url=sys.argv[1])
print(hw.generate_sync(hw.Request(model=model, messages=[hw.user("a b")])).text)
stream = hw.stream_sync(hw.Request(model=model, messages=[hw.user("stall")])).__enter__()
print(type(next(stream)).__name__)
"""


def test_a_script_that_just_ends(server: Server) -> None:
    """It exits at once and silently, also with a stream open; the provider sees the hang-up."""
    done = subprocess.run([sys.executable, "-W", "error", "-c", SCRIPT, server.base_url], capture_output=True, text=True, timeout=20, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ab\nStreamStart\n", "")
    server.wait_hung_up()
