"""What the commands share: exit codes, one readable line per failure, logs on standard error, Ctrl-C, and the way into the event loop."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TextIO, TypeVar

import anyio

from headwater.groups import open_task_group
from headwater_codecs.neutral import ConfigurationError, ErrorInfo

Answer = TypeVar("Answer")

DONE = 0
FAILED = 1
USAGE = 2
STOPPED = 130  # 128 + SIGINT, as shells have it
TERMINATED = 143
BACKENDS = ("asyncio", "uvloop", "trio")

# What to do about a failure, by its kind; "" where the message says it all.
ADVICE: dict[str, str] = {
    "auth": "check the provider's key: `headwater models` names its variables",
    "permission": "this key may not do that: check the account's rights and the model's name",
    "not_found": "check the model's name and the address (--base-url ends before /chat/completions)",
    "context_overflow": "shorten the prompt or take a model with a longer context",
    "rate_limit": "wait, or run fewer requests at once",
    "quota": "the account has run out: waiting a little will not help",
    "overloaded": "the provider has no capacity at the moment: try later",
    "server": "the provider failed inside: try again",
    "timeout": "try again, or allow more time",
    "network": "check that the server runs and that the address is right",
    "malformed": "the answer is not what the protocol says: check the address and the protocol",
    "truncated": "the connection broke before the end: try again",
    "internal": "this looks like a fault of Headwater: please report it",
}


def explain(error: ErrorInfo) -> str:
    """One line: what happened, and what to do about it."""
    said = " ".join(error.message.split())
    status = f" (status {error.status})" if error.status is not None and str(error.status) not in said else ""
    wait = f"; it asks to wait {error.retry_after:g} s" if error.retry_after is not None else ""
    advice = ADVICE.get(error.kind, "")
    return f"{error.kind.replace('_', ' ')}: {said}{status}{wait}" + (f"; {advice}" if advice else "")


def say(text: str) -> None:
    """A line on standard error."""
    print(text, file=sys.stderr, flush=True)


class _CurrentStderr:
    """Standard error as it is now: a progress bar replaces `sys.stderr` while it runs, so that lines come above it."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


def configure_logs(verbose: int) -> None:
    """Send the engine's log to standard error: -v retries and failures, -vv every stream. Without it nothing is logged (or imported)."""
    if not verbose:
        return
    import logging

    import structlog

    level = logging.INFO if verbose == 1 else logging.DEBUG
    stream: TextIO = _CurrentStderr()  # type: ignore[assignment]  # write and flush are all that is used
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="%H:%M:%S.%f", utc=False),
            structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(stream),
        cache_logger_on_first_use=True,
    )


class Interrupt:
    """The signals seen. The first calls `on_first` with a few words on why, so that the command ends well; the next one cancels everything."""

    def __init__(self) -> None:
        self.exit_code: int | None = None
        self.why = ""
        self.on_first: Callable[[str], object] | None = None
        self._scope = anyio.CancelScope()

    def signalled(self, number: int) -> None:
        """One signal came."""
        if self.exit_code is None:
            self.exit_code = STOPPED if number == signal.SIGINT else TERMINATED
            self.why = f"stopped by {'Ctrl-C' if number == signal.SIGINT else 'SIGTERM'}"
            if self.on_first is not None:
                self.on_first(self.why)
                return
        self._scope.cancel()

    @asynccontextmanager
    async def watch(self) -> AsyncIterator[None]:
        """Handle SIGINT and SIGTERM in this block. Where the platform cannot, Ctrl-C stays a KeyboardInterrupt."""
        async with open_task_group() as group:
            group.start_soon(self._receive, name="headwater signals")
            await anyio.lowlevel.checkpoint()
            with self._scope:
                yield
            group.cancel_scope.cancel()

    async def _receive(self) -> None:
        try:
            with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
                async for number in signals:
                    self.signalled(number)
        except (NotImplementedError, RuntimeError):  # Windows with asyncio; a thread that is not the main one
            await anyio.sleep_forever()


def run_async(work: Callable[[], Awaitable[Answer]], backend: str = "asyncio") -> Answer:
    """Run the coroutine function to its end on the event loop named."""
    options: dict[str, object] = {}
    if backend == "uvloop":
        if find_spec("uvloop") is None:
            raise ConfigurationError("--backend uvloop needs its extra: pip install 'headwater[uvloop]'")
        backend, options = "asyncio", {"use_uvloop": True}
    return anyio.run(_call, work, backend=backend, backend_options=options)


async def _call(work: Callable[[], Awaitable[Answer]]) -> Answer:
    return await work()


def write_out(text: str) -> None:
    """Text on standard output, at once. Characters that the terminal's encoding lacks are replaced."""
    try:
        sys.stdout.write(text)
    except UnicodeEncodeError:
        encoding = sys.stdout.encoding or "utf-8"
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
    sys.stdout.flush()


def drop_stdout() -> None:
    """Nobody reads standard output any more: let nothing complain about it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
