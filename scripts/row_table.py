"""Write docs/rows.md anew from the rows that the tests name: python scripts/row_table.py

A test names a row with `@pytest.mark.rows("OR-TM-01")`, on itself, its class, its module or one of its parameters, or in its docstring.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
TESTS = ROOT / "tests"
PAGE = ROOT / "docs" / "rows.md"
ID = re.compile(r"\b(?:ADK|OR|PI|CK|WIRE)(?:-[A-Z]+)*-\d+[a-z]?\b")
REQUIRED = {"core", "edge"}  # a row with one of these tags needs a test, or a reason
HEAD = """# The three reference systems, row by row

Made by `python scripts/row_table.py` from the rows that the tests name; a test compares. Rows are those of the behaviour table: `ADK` for the model
layer of ADK-Go, `OR` and `PI` for or's and pi's `llm`, `CK` for CopilotKit's service adapters, `WIRE` for the formats below them.

"""


def table(name: str) -> dict[str, list[str]]:
    """One of the files beside the tests: the columns behind each id."""
    lines = (TESTS / "rows" / name).read_text().splitlines()
    return {row: columns for row, *columns in (line.split("\t") for line in lines if line and not line.startswith("#"))}


def named(node: ast.expr) -> Iterator[str]:
    """The ids in every `mark.rows(...)` of an expression."""
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "rows":
            yield from (argument.value for argument in call.args if isinstance(argument, ast.Constant) and isinstance(argument.value, str))


def tests_of(path: Path) -> Iterator[tuple[str, str]]:
    """Each row that a file names, with the test that names it: the file, and its function."""
    tree = ast.parse(path.read_text())
    where = path.relative_to(TESTS).as_posix()
    whole = {row for node in tree.body if isinstance(node, ast.Assign) and _is_mark(node) for row in named(node.value)}
    for row in whole:
        yield row, where
    yield from _inside(tree.body, where, set())


def _is_mark(node: ast.Assign) -> bool:
    return any(isinstance(target, ast.Name) and target.id == "pytestmark" for target in node.targets)


def _inside(body: list[ast.stmt], where: str, outer: set[str]) -> Iterator[tuple[str, str]]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            marked = outer | {row for decorator in node.decorator_list for row in named(decorator)}
            yield from _inside(node.body, where, marked)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            rows = outer | {row for decorator in node.decorator_list for row in named(decorator)}
            rows |= set(ID.findall(ast.get_docstring(node) or ""))
            for row in rows:
                yield row, f"{where}::{node.name}"


def covered() -> dict[str, list[str]]:
    """Every row that is named, with its tests."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in sorted(TESTS.rglob("test_*.py")):
        for row, test in tests_of(path):
            found[row].add(test)
    return {row: sorted(tests) for row, tests in found.items()}


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


if __name__ == "__main__":
    PAGE.write_text(page())
    print(f"{PAGE.relative_to(ROOT)}: {len(open_rows())} rows are open")
