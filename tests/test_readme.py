"""What README shows is code that this version understands."""

from __future__ import annotations

import ast
import pathlib
import re

import pytest

import headwater

ROOT = pathlib.Path(__file__).parent.parent
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS)
def test_an_example_is_code_and_uses_names_that_exist(block: str) -> None:
    """Every `hw.name` in a block is a public name."""
    tree = compile(block, "README.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST)
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "hw"}
    assert used <= set(headwater.__all__)


def test_the_commands_that_it_names_exist() -> None:
    """`headwater X` in README is a command of the application."""
    from headwater.cli.app import app

    named = set(re.findall(r"^headwater (\w+)", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE))
    assert named
    assert named <= set(app.commands)


def test_the_views_in_it_run() -> None:
    """Each is an example of the view's own page, where a test runs it."""
    views = [block for block in BLOCKS if "headwater.views" in block]
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md"))
    assert views
    assert all(block in pages and len(block.splitlines()) <= 15 for block in views)
