"""Run by an environment that has only the wheel and the core dependencies: everything that is imported comes from there, and it works."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import headwater
import headwater_codecs
import headwater_providers

BODY = (
    b'data: {"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":"hello"},"finish_reason":null}]}\n\n'
    b'data: {"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
    b"data: [DONE]\n\n"
)


def main() -> None:
    """Exit with an AssertionError when the wheel lacks something."""
    home = Path(sys.prefix).resolve()
    for package in (headwater, headwater_providers, headwater_codecs):
        folder = Path(package.__file__ or "").resolve().parent
        assert folder.is_relative_to(home), f"{package.__name__} comes from {folder}"
        assert (folder / "py.typed").is_file(), f"{package.__name__} has no py.typed"
    files = importlib.metadata.files("headwater") or []
    top = {file.parts[0] for file in files if file.suffix == ".py"}
    assert top == {"headwater", "headwater_providers", "headwater_codecs"}, f"top level names: {sorted(top)}"
    assert any(file.name == "LICENSE" for file in files), "the licence is missing"

    response = headwater.decode("openai-chat", [BODY])
    assert (response.text, response.finish_reason, response.error) == ("hello", "stop", None), repr(response)

    # Without the extra `cli` the command says what to install.
    command = subprocess.run([sys.executable, "-I", "-m", "headwater", "--help"], capture_output=True, text=True, timeout=30, check=False)
    assert "headwater[cli]" in command.stdout + command.stderr, f"{command.stdout}{command.stderr}"
    assert "Traceback" not in command.stderr, command.stderr
    print(f"headwater {importlib.metadata.version('headwater')}: the wheel works by itself on Python {sys.version.split()[0]}")


if __name__ == "__main__":
    main()
