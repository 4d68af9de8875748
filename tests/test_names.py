"""The public names of headwater_codecs: listed, sorted, and all there."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from pathlib import Path
from types import ModuleType

import pytest

import headwater_codecs
from headwater_codecs import neutral

MODULES = [module.name for module in pkgutil.walk_packages(headwater_codecs.__path__, "headwater_codecs.")]


def test_neutral_lists_exactly_what_it_imports() -> None:
    """`__all__` is sorted and is what the package brings together, no more and no less."""
    assert sorted(neutral.__all__, key=lambda name: (not name.isupper(), name)) == neutral.__all__
    imported = {name for name, value in vars(neutral).items() if not name.startswith("_") and not isinstance(value, ModuleType)}
    assert imported == set(neutral.__all__)


@pytest.mark.parametrize("name", MODULES)
def test_module(name: str) -> None:
    """Every module says what it does, imports by itself, and every public class and function in it has a docstring."""
    module = importlib.import_module(name)
    assert module.__doc__
    tree = ast.parse(Path(str(module.__file__)).read_text("utf-8"))
    undocumented = [
        node.name
        for node in tree.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_") and ast.get_docstring(node) is None
    ]
    assert undocumented == []


def test_modules_are_found() -> None:
    """The walk sees the package: an empty list would test nothing."""
    assert {"headwater_codecs.sse", "headwater_codecs.neutral.events", "headwater_codecs.openai_chat.encode"} <= set(MODULES)
