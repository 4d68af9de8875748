"""The embedded server from our side: a child process that is started on first use, shared by every engine, and stopped with us.

Everything here is blocking and guarded by one lock; `ensure_local` is the awaiting face and runs it in a worker thread. The child hangs on
its standard input (see server.py), so it is gone when we are, also after a crash; atexit only makes the ordinary end quick and tidy.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import anyio.to_thread
import msgspec
from anyio import CapacityLimiter
from anyio.lowlevel import RunVar

from headwater.local.weights import EMBEDDED, Finder, LocalOptions, find_weights
from headwater_codecs.neutral import ConfigurationError, TransportError, error_info

STOP_TIMEOUT = 2.0  # seconds for the child to leave by itself before it is killed
LAST_WORDS = 2000  # bytes of the child's log that an error shows


class _Ready(msgspec.Struct):
    port: int | None = None
    error: str | None = None


_read_ready = msgspec.json.Decoder(_Ready).decode


class LocalServer:
    """One llama.cpp server in a child process. Blocking and safe to use from several threads; also a context manager.

    `name` is `smollm2` or the path of a `.gguf` file. Nothing runs before `start`.
    """

    def __init__(
        self,
        name: str = EMBEDDED,
        options: LocalOptions | None = None,
        *,
        env: Mapping[str, str] = os.environ,
        find_spec: Finder = importlib.util.find_spec,
    ) -> None:
        self.name = name.removeprefix("local/")
        self.options = options
        self._env = env
        self._find_spec = find_spec
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0  # the process that started the child: after a fork the copy must leave it alone
        self._base_url: str | None = None

    @property
    def base_url(self) -> str | None:
        """`http://127.0.0.1:PORT/v1` while the server runs, else None."""
        process = self._process
        if process is None or self._owner != os.getpid() or process.poll() is not None:
            return None
        return self._base_url

    @property
    def pid(self) -> int | None:
        """The child's process id; None before a start and after `stop`."""
        return self._process.pid if self._process else None

    def start(self) -> str:
        """Start the server unless it runs, wait for the model, and return the base URL.

        Raises ConfigurationError when a package, the file or an option is wrong, TransportError with the child's last words when it does
        not come up within `options.start_timeout`. A server that died is started anew.
        """
        with self._lock:
            if (url := self.base_url) is not None:
                return url
            self._stop()
            options = self.options or LocalOptions.from_env(self._env)
            weights = find_weights(self.name, self._env, self._find_spec)
            with _open_log(options.log) as log:
                process = _spawn(weights, self.name, options, log)
                self._process, self._owner = process, os.getpid()
                try:
                    port = _wait_until_ready(process, options.start_timeout, log)
                except BaseException:
                    self._stop()
                    raise
            self._base_url = f"http://127.0.0.1:{port}/v1"
            return self._base_url

    def stop(self) -> None:
        """End the child, within `STOP_TIMEOUT` by itself or else killed. Idempotent; a later `start` starts a new one.

        A start under way in another thread is broken off: it raises TransportError there.
        """
        process = self._process
        if process is not None and self._base_url is None and self._owner == os.getpid():
            process.kill()  # else the end of the program would wait for a model that still loads
        with self._lock:
            self._stop()

    def _stop(self) -> None:
        process, self._process, self._base_url = self._process, None, None
        if process is None:
            return
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        if self._owner != os.getpid():
            return
        try:
            process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.stop()


def _open_log(path: str | None) -> IO[bytes]:
    """Where the child's standard error goes: the given file, or an unnamed one that lives until the model is loaded."""
    if path is None:
        return tempfile.TemporaryFile()
    try:
        return Path(path).open("a+b")
    except OSError as error:
        raise ConfigurationError(f"cannot write the local server's log {path}: {error.strerror}") from error


def _spawn(weights: Path, alias: str, options: LocalOptions, log: IO[bytes]) -> subprocess.Popen[bytes]:
    # By its path, not with -m: importing the engine in the child would double the time to the first token. -P keeps the folder off sys.path.
    command = [sys.executable, "-P", str(Path(__file__).with_name("server.py"))]
    command += ["--model", str(weights.absolute()), "--alias", alias, "--parent", str(os.getpid())]
    command += ["--parallel", str(options.n_parallel), "--ctx", str(options.n_ctx), "--threads", str(options.threads)]
    command += ["--log"] if options.log else []
    try:
        # A session of its own: Ctrl-C in the terminal is ours to answer, the server goes on until we leave.
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, start_new_session=True)
    except OSError as error:
        raise _start_error(f"its process could not be started: {error.strerror}") from error


def _wait_until_ready(process: subprocess.Popen[bytes], seconds: float, log: IO[bytes]) -> int:
    """The port that the child announces. The pipe is closed afterwards: the child says nothing more."""
    assert process.stdout is not None
    expired = threading.Event()

    def expire() -> None:
        expired.set()
        process.kill()  # ends the read below

    timer = threading.Timer(seconds, expire)
    timer.daemon = True
    timer.start()
    try:
        line = process.stdout.readline()
    finally:
        timer.cancel()
        process.stdout.close()
    if line:
        with contextlib.suppress(msgspec.DecodeError):
            ready = _read_ready(line)
            if ready.port is not None:
                return ready.port
            raise _start_error(f"{ready.error or 'no reason given'}{_last_words(log)}")
        raise _start_error(f"it said {line[:200]!r} instead of its port")
    code = process.wait()
    if expired.is_set():
        raise _start_error(f"it was not ready within {seconds:g} s (LocalOptions.start_timeout){_last_words(log)}")
    raise _start_error(f"it ended with {_exit_text(code)} before it was ready{_last_words(log)}")


def _start_error(why: str) -> TransportError:
    # Not retryable: the next try would fail in the same way.
    return TransportError(error_info("network", f"the local model server did not start: {why}", phase="connect", retryable=False))


def _exit_text(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def _last_words(log: IO[bytes]) -> str:
    end = log.seek(0, os.SEEK_END)
    log.seek(max(0, end - LAST_WORDS))
    text = log.read().decode("utf-8", "replace").strip()
    return f". Its last words:\n{text}" if text else ""


class _Shared:
    """The servers of this process, one per model name and options."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._servers: dict[tuple[str, LocalOptions | None], LocalServer] = {}

    def base_url(self, name: str, options: LocalOptions | None) -> str | None:
        server = self._servers.get((name, options))
        return server.base_url if server else None

    def start(self, name: str, options: LocalOptions | None) -> str:
        with self._lock:
            if not self._servers:
                atexit.unregister(self.stop)  # once, also after `stop`
                atexit.register(self.stop)
            server = self._servers.setdefault((name, options), LocalServer(name, options))
        return server.start()

    def stop(self) -> None:
        with self._lock:
            servers, self._servers = self._servers, {}
        for server in servers.values():
            server.stop()


_SHARED = _Shared()
_LIMITER: RunVar[CapacityLimiter] = RunVar("headwater.local.limiter")


async def ensure_local(name: str = EMBEDDED, options: LocalOptions | None = None) -> str:
    """The base URL of this process's server for `name` (`smollm2`, or a path to a `.gguf` file), started on first use.

    Never blocks the event loop. Cancelled, it leaves the start to go on behind: the next call finds the server. Options default to the
    environment's (`LocalOptions.from_env`). Raises ConfigurationError and TransportError as `LocalServer.start` does.
    """
    name = name.removeprefix("local/")
    if (url := _SHARED.base_url(name, options)) is not None:
        return url
    return await anyio.to_thread.run_sync(_SHARED.start, name, options, abandon_on_cancel=True, limiter=_limiter())


def stop_local() -> None:
    """Stop every server that `ensure_local` started. It happens by itself at the end of the process."""
    _SHARED.stop()


def _limiter() -> CapacityLimiter:
    """One worker thread per event loop: a crowd of streams waits for the first start without holding a thread each."""
    try:
        return _LIMITER.get()
    except LookupError:
        limiter = CapacityLimiter(1)
        _LIMITER.set(limiter)
        return limiter
