"""What the commands share: the line that explains a failure, signals, the progress bar."""

from __future__ import annotations

import re
import signal

import anyio
import anyio.lowlevel
import pytest

from counted_rows import filled
from headwater.cli.console import Interrupt, explain
from headwater.cli.generate import status_line
from headwater.cli.progress import Bar, Lines, shown
from headwater_codecs.neutral import ErrorInfo, Response, Timing, Usage, error_info


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            error_info("quota", "no\n more  money", status=429),
            "quota: no more money (status 429); the account has run out: waiting a little will not help",
        ),
        (
            error_info("rate_limit", "429 slow", status=429, retry_after=2.5),
            "rate limit: 429 slow; it asks to wait 2.5 s; wait, or run fewer requests at once",
        ),
        (error_info("invalid_request", "bad field"), "invalid request: bad field"),
        (error_info("aborted", "stopped"), "aborted: stopped"),
    ],
)
def test_explain(error: ErrorInfo, line: str) -> None:
    """One line: kind, message, status where the message lacks it, the wait that was asked for, and what to do."""
    assert explain(error) == line


def test_status_line() -> None:
    """What a finished answer came to; the rate counts from the call to the last content."""
    response = Response()
    response.choice(0).finish_reason = "stop"
    response.usage = Usage(input_tokens=7, output_tokens=30, reasoning_tokens=10)
    response.timing = Timing(first_content=0.5, last_content=2.0)
    response.provider, response.model, response.attempts = "openai", "gpt", 2
    assert status_line(response) == "stop · 7 in, 30 out tokens (10 reasoning) · first after 0.50 s · 15.0 tokens/s · 2 attempts · openai/gpt"


@pytest.mark.anyio
async def test_first_and_second_signal(anyio_backend: str) -> None:
    """The first signal is told to the command, which goes on; the second one cancels it. The exit code is the first one's."""
    told: list[str] = []
    interrupt = Interrupt()
    interrupt.on_first = told.append
    went_on = False
    with anyio.fail_after(5):
        async with interrupt.watch():
            interrupt.signalled(signal.SIGINT)
            await anyio.lowlevel.checkpoint()
            went_on = True
            interrupt.signalled(signal.SIGTERM)
            await anyio.sleep_forever()
    assert (told, went_on, interrupt.exit_code, interrupt.why) == (["stopped by Ctrl-C"], True, 130, "stopped by Ctrl-C")


@pytest.mark.anyio
async def test_watch_lets_errors_through(anyio_backend: str) -> None:
    """What the command raises arrives as itself, not as a group."""
    with pytest.raises(ValueError, match="mine"):
        async with Interrupt().watch():
            raise ValueError("mine")


def test_bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """On a terminal a bar shows rows of the total, failures and tokens/s."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    bar = Bar(10)
    bar.draw(filled(), 4.0)
    bar.close()
    shown_text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().err)
    assert " 5/10 rows" in shown_text
    assert "2 failed 2.0 tokens/s" in shown_text


def test_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """Elsewhere a plain line is printed, without control codes."""
    Lines(10).draw(filled(), 4.0)
    assert capsys.readouterr().err == "5/10 rows, 2 failed, 2.0 tokens/s, 4 s\n"


@pytest.mark.anyio
async def test_shown_says_nothing_of_a_short_run(anyio_backend: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A run shorter than the interval prints no progress: its summary follows anyway."""
    with anyio.fail_after(5):
        async with shown(filled(), 10):
            await anyio.lowlevel.checkpoint()
    assert capsys.readouterr().err == ""
