"""The page of faults says what the table says."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_is_made_of_the_table() -> None:
    """`python scripts/fault_table.py` was run after the last change of the table."""
    made = runpy.run_path(str(ROOT / "scripts" / "fault_table.py"))["page"]()
    assert (ROOT / "docs" / "faults.md").read_text(encoding="utf-8") == made
