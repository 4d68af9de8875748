"""The command line: `headwater generate | batch | decode | bench | models | sim`.

`app` declares the commands and their options and imports next to nothing, so that `--help` is quick and works offline; each command's own
module is imported when it runs. `console` holds what they share: exit codes, messages, logs, Ctrl-C.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

_NEEDED = ("click", "rich")  # what the extra `cli` installs

__all__ = ["main"]


def main() -> None:
    """Run the command line and exit: 0 done, 1 something failed, 2 wrong use or configuration, 130 stopped by Ctrl-C."""
    missing = [name for name in _NEEDED if not _installed(name)]
    if missing:
        sys.stderr.write(f"headwater: the command line needs {' and '.join(missing)}, which its extra brings: pip install 'headwater[cli]'\n")
        raise SystemExit(2)
    try:
        from headwater.cli.app import app

        app(prog_name="headwater")
    except KeyboardInterrupt:  # before or after the part that handles it
        raise SystemExit(130) from None


def _installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ValueError:  # switched off in `sys.modules`
        return False
