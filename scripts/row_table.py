"""Write docs/rows.md anew from the rows that the tests name: python scripts/row_table.py

A test names a row with the marker `rows`, on itself, its class, its module or one of its parameters, or in its docstring. With `--check` nothing
is written, and what is wrong is told: a page that is old, an id that does not exist, a row with both a test and a reason for none.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TESTS = ROOT / "tests"
PAGE = ROOT / "docs" / "rows.md"
ID = re.compile(r"\b(?:ADK|OR|PI|CK|WIRE)(?:-[A-Z]+)*-\d+[a-z]?\b")
REQUIRED = {"core", "edge"}  # a row with one of these tags needs a test, or a reason
HEAD = """# The three reference systems, row by row

Made by `python scripts/row_table.py` from the rows that the tests name, and compared by one. Rows are those of the behaviour table: `ADK` for the
model layer of ADK-Go, `OR` and `PI` for or's and pi's `llm`, `CK` for CopilotKit's service adapters, `WIRE` for the formats below them.

"""


def table(name: str) -> dict[str, list[str]]:
    """One of the files beside the tests: the columns behind each id."""
    lines = (TESTS / "rows" / name).read_text().splitlines()
    return {row: columns for row, *columns in (line.split("\t") for line in lines if line and not line.startswith("#"))}


class Collector:
    """A pytest plugin: every row that a collected test names, with those tests."""

    def __init__(self) -> None:
        self.found: dict[str, set[str]] = defaultdict(set)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """The tests are known."""
        for item in session.items:
            name = item.nodeid.partition("[")[0].removeprefix("tests/")
            rows = {row for mark in item.iter_markers("rows") for row in mark.args}
            for row in rows | set(ID.findall(getattr(item, "function", item).__doc__ or "")):
                self.found[row].add(name)


@cache
def covered() -> dict[str, list[str]]:
    """Every row that is named, with its tests."""
    collector = Collector()
    with contextlib.redirect_stdout(io.StringIO()) as said:
        code = pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider", str(TESTS)], plugins=[collector])
    if code != pytest.ExitCode.OK:
        sys.exit(said.getvalue())
    return {row: sorted(tests) for row, tests in collector.found.items()}


def open_rows() -> list[str]:
    """Rows that need a test and have neither one nor a reason."""
    tests, reasons = covered(), table("exceptions.tsv")
    return [row for row, (tags,) in table("rows.tsv").items() if REQUIRED & set(tags.split()) and row not in tests and row not in reasons]


def page() -> str:
    """The whole page."""
    rows, tests, reasons, deviations = table("rows.tsv"), covered(), table("exceptions.tsv"), table("deviations.tsv")
    missing = set(open_rows())
    with_test = sum(row in tests for row in rows)
    lines = [f"{len(rows)} rows: {with_test} with a test, {len(reasons)} without one for a reason, {len(missing)} open.\n"]
    part = ""
    for row, (tags,) in rows.items():
        if (prefix := row.rpartition("-")[0]) != part:
            part = prefix
            lines.append(f"\n## {part}\n\n| row | tag | status | tests |\n| --- | --- | --- | --- |\n")
        if row in tests:
            status = f"deviates: {deviations[row][0]}" if row in deviations else "covered"
        elif row in reasons:
            status = ": ".join(reasons[row])
        else:
            status = "open" if row in missing else ""
        shown = [f"`{test}`" for test in tests.get(row, [])]
        more = f" and {len(shown) - 2} more" if len(shown) > 2 else ""
        lines.append(f"| {row} | {tags} | {status} | {', '.join(shown[:2])}{more} |\n")
    return HEAD + "".join(lines)


def wrong() -> list[str]:
    """What is wrong, in words."""
    rows, tests, reasons, deviations = table("rows.tsv"), covered(), table("exceptions.tsv"), table("deviations.tsv")
    unknown = {row for row in [*tests, *reasons, *deviations] if ID.fullmatch(row) and row not in rows}
    told = [f"{row}: there is no such row" for row in sorted(unknown)]
    told += [f"{row}: it has a test, and a reason for none" for row in reasons if row in tests]
    told += [f"{row}: a deviation that no test shows" for row in deviations if row not in tests]
    return told + ([] if PAGE.read_text() == page() else [f"{PAGE.relative_to(ROOT)} is old: run python scripts/row_table.py"])


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit("\n".join(wrong()) or 0)
    PAGE.write_text(page())
    print(f"{PAGE.relative_to(ROOT)}: {len(open_rows())} rows are open")
