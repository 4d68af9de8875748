"""The table of rows is what the tests say, and every id in it exists."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts" / "row_table.py"


def test_the_page_says_what_the_tests_say() -> None:
    """No old page, no row that does not exist, none with a test and a reason for having none."""
    done = subprocess.run([sys.executable, str(SCRIPT), "--check"], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
