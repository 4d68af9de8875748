"""The page of what each protocol supports says what the adapters do."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_page_is_made_of_the_tables() -> None:
    """`python scripts/support_table.py` was run after the last change of a table."""
    made = runpy.run_path(str(ROOT / "scripts" / "support_table.py"))["page"]()
    assert (ROOT / "docs" / "support.md").read_text(encoding="utf-8") == made
