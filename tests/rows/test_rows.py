"""The table of rows is what the tests say, and every id in it exists."""

from __future__ import annotations

import runpy
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts" / "row_table.py"


def test_the_page_is_new() -> None:
    """Run `python scripts/row_table.py` after naming a row in a test."""
    script = runpy.run_path(str(SCRIPT))
    assert script["PAGE"].read_text() == script["page"]()


def test_only_rows_that_exist_are_named() -> None:
    """A row that is named wrongly would be covered by nothing."""
    script = runpy.run_path(str(SCRIPT))
    rows = script["table"]("rows.tsv")
    behaviour = script["ID"]
    assert [row for row in script["covered"]() if behaviour.fullmatch(row) and row not in rows] == []
    assert [row for name in ("exceptions.tsv", "deviations.tsv") for row in script["table"](name) if row not in rows] == []


def test_no_row_has_a_test_and_a_reason_for_none() -> None:
    """One of the two is wrong."""
    script = runpy.run_path(str(SCRIPT))
    assert [row for row in script["table"]("exceptions.tsv") if row in script["covered"]()] == []
