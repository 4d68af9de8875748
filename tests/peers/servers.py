"""Independent servers as child processes, each on a free port of loopback: started once per test run, ended with it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

NODE_PACKAGES = Path(sys.prefix) / "peers" / "node_modules"  # where scripts/setup.sh installs them
AIMOCK = NODE_PACKAGES / "@copilotkit" / "aimock"
WIREMOCK = NODE_PACKAGES / "wiremock" / "build" / "wiremock-standalone-3.13.2.jar"


def java() -> str | None:
    """The path of Java, if it is installed."""
    return shutil.which("java")


def node() -> str | None:
    """The path of Node.js, if it is installed."""
    return shutil.which("node")


@contextmanager
def running(command: Sequence[str], announces: str, env: Mapping[str, str] | None = None) -> Iterator[str]:
    """Run a server for the length of the block; its address is what the pattern `announces` finds in its output."""
    child = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **(env or {})}
    )
    try:
        assert child.stdout is not None
        said = []
        for line in child.stdout:
            said.append(line)
            if found := re.search(announces, line):
                yield found.group(1)
                return
        raise AssertionError(f"{command[0]} did not start:\n{''.join(said)}")
    finally:
        child.kill()
        child.communicate()


@contextmanager
def llmock() -> Iterator[str]:
    """llmock: a scripted server of several protocols, which also judges its clients."""
    arguments = ("serve", "--host", "127.0.0.1", "--port", "0", "--response-style", "echo")
    command = [sys.executable, "-c", "from llmock.cli import app; app()", *arguments]
    with running(command, r"running on (http://127\.0\.0\.1:\d+)", {"PYTHONUNBUFFERED": "1", "NO_COLOR": "1"}) as address:
        yield address


@contextmanager
def aimock(fixtures: Path) -> Iterator[str]:
    """aimock: a scripted server that speaks more protocols than any other."""
    program = node()
    assert program is not None
    command = [program, str(AIMOCK / "dist" / "cli.js"), "-p", "0", "-h", "127.0.0.1", "-f", str(fixtures)]
    with running(command, r"listening on (http://127\.0\.0\.1:\d+)") as address:
        yield address


@contextmanager
def wiremock() -> Iterator[str]:
    """WireMock: any bytes, and every way to break a connection."""
    program = java()
    assert program is not None
    command = [program, "-Xmx128m", "-jar", str(WIREMOCK), "--port", "0", "--bind-address", "127.0.0.1", "--disable-banner"]
    with running(command, r"port:\s+(\d+)") as port:
        yield f"http://127.0.0.1:{port}"
