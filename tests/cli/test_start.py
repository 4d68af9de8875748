"""How the command line starts: without its extra, without imports that nobody needs, and at the end of a Ctrl-C that came early."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("rich", "structlog", "httpx", "trio", "starlette")  # each costs more than all that --help needs


def python(code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)


def test_without_the_extra() -> None:
    """What is missing is named, and how to get it; exit code 2."""
    done = python("import sys; sys.modules['click'] = None\nfrom headwater.cli import main\nmain()")
    assert (done.returncode, done.stderr) == (2, "headwater: the command line needs click, which its extra brings: pip install 'headwater[cli]'\n")


def test_help_imports_little() -> None:
    """--help loads none of the libraries that only running commands needs, and no network is there to ask."""
    code = f"""
import sys
sys.argv = ["headwater", "batch", "--help"]
from headwater.cli import main
try:
    main()
except SystemExit as end:
    print("exit", end.code, [name for name in {HEAVY!r} if name in sys.modules])
"""
    done = python(code)
    assert done.stdout.splitlines()[-1] == "exit 0 []"


def test_early_interrupt() -> None:
    """Ctrl-C before a command runs is exit code 130 without a traceback."""
    code = """
import headwater.cli.app
def app(**_): raise KeyboardInterrupt
headwater.cli.app.app = app
headwater.cli.main()
"""
    done = python(code)
    assert (done.returncode, done.stderr) == (130, "")


def test_as_a_module() -> None:
    """`python -m headwater` is the same command."""
    done = subprocess.run([sys.executable, "-m", "headwater", "--version"], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.split()[0]) == (0, "headwater,")
