"""The shape of the repository: small modules, sorted and complete facades, three top level names, no traces of anybody's machine."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = {"engine": "headwater", "providers": "headwater_providers", "codecs": "headwater_codecs"}
MAX_LINES = 350
MODULES = sorted(path for folder, package in FOLDERS.items() for path in (ROOT / folder / package).rglob("*.py"))
SKIPPED = {"build", "dist", "htmlcov", "__pycache__"}


def module_name(path: Path) -> str:
    """`engine/headwater/local/__init__.py` -> `headwater.local`."""
    parts = path.relative_to(ROOT).with_suffix("").parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def text_files() -> Iterator[tuple[Path, str]]:
    """Every text file that belongs to the repository."""
    for path in sorted(ROOT.rglob("*")):
        parts = path.relative_to(ROOT).parts
        hidden = parts[0].startswith(".") and parts[0] not in (".ci", ".gitignore")  # environments, caches, the repository's own data
        if path.is_file() and not hidden and not SKIPPED.intersection(parts):
            try:
                yield path.relative_to(ROOT), path.read_text("utf-8")
            except UnicodeDecodeError:
                continue


def facades() -> list[str]:
    """Modules with an `__all__`."""
    return [module_name(path) for path in MODULES if re.search(r"^__all__\b", path.read_text("utf-8"), re.MULTILINE)]


def sort_key(name: str) -> tuple[int, str]:
    """Constants, then classes, then functions, each by name: the order that the linter keeps too."""
    return (0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2), name


def test_there_is_something_to_look_at() -> None:
    """The other tests here walk real modules of all three layers."""
    assert {path.relative_to(ROOT).parts[0] for path in MODULES} == set(FOLDERS)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_are_small_and_say_what_they_are(path: Path) -> None:
    """A module is shorter than the limit, opens with a docstring and, where it defines something, has the annotations import."""
    text = path.read_text("utf-8")
    tree = ast.parse(text)
    lines = text.count("\n")
    assert lines < MAX_LINES, "make it two modules"
    assert ast.get_docstring(tree), "no docstring"
    defines = any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) for node in tree.body)
    assert not defines or "from __future__ import annotations\n" in text


@pytest.mark.parametrize("name", facades())
def test_facades_are_sorted_and_true(name: str) -> None:
    """`__all__` is sorted (as the linter or as `sorted` does it), without doubles, and every name in it is there."""
    module = importlib.import_module(name)
    names = set(module.__all__)
    assert list(module.__all__) in (sorted(names, key=sort_key), sorted(names))
    assert [entry for entry in module.__all__ if not hasattr(module, entry)] == []


@pytest.mark.parametrize("path", [path for path in MODULES if path.name == "__init__.py"], ids=module_name)
def test_packages_export_all_they_have(path: Path) -> None:
    """A package's `__init__` that only collects from our own modules exports all that it collects."""
    tree = ast.parse(path.read_text("utf-8"))
    if any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) for node in tree.body):
        return  # a module of its own that happens to be a folder
    taken = [node for node in tree.body if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("headwater")]
    public = {name for node in taken for alias in node.names if not (name := alias.asname or alias.name).startswith("_")} - {"*"}
    assert public <= set(getattr(importlib.import_module(module_name(path)), "__all__", ()))


def test_there_are_three_top_level_names() -> None:
    """Each layer's folder holds one package and no `__init__.py` of its own (a package `codecs` would hide the standard library's)."""
    for folder, package in FOLDERS.items():
        entries = {path.name for path in (ROOT / folder).iterdir() if path.name != "__pycache__"}
        assert entries == {package}
        assert (ROOT / folder / package / "py.typed").is_file()
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert set(wheel["packages"]) == {f"{folder}/{package}" for folder, package in FOLDERS.items()}


def test_no_paths_of_a_machine() -> None:
    """Nothing names a folder that exists on somebody's machine only."""
    # Put together from pieces, so that this file does not name them either.
    machine = re.compile(r"(?<![\w.~$}/-])/(?:" + "|".join(("work", "root", "tmp", "home", "Users")) + r")/[\w.-]")
    found = [f"{path}: {match.group()}" for path, text in text_files() for match in machine.finditer(text)]
    assert found == []


def test_constraints_are_versions_and_nothing_else() -> None:
    """Every line is one exact version: no index address, no path, no editable install; and what pyproject asks for is pinned."""
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert [line for line in pins if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", line)] == []
    pinned = {canonical(line.split("==")[0]) for line in pins}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    asked = [*project["dependencies"], *(line for extra in project["optional-dependencies"].values() for line in extra)]
    names = {canonical(re.split(r"[\[<>=!~; ]", line)[0]) for line in asked} - {"headwater"}
    assert names - pinned == set()


def canonical(name: str) -> str:
    """A distribution's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def test_importing_the_engine_is_light() -> None:
    """The event loops, the HTTP clients and the terminal's libraries are imported when first used, not with the facade."""
    heavy = ["trio", "httpx", "httpx2", "h2", "rich", "typer", "click", "uvloop", "xllamacpp", "starlette", "brotli"]
    code = f"import sys, headwater; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout == "[]\n"
