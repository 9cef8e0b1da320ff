"""The path through the code in ARCHITECTURE.md exists: each function, and its import of the next."""

import ast
import re
from itertools import pairwise

from tests.docs.sources import ROOT

MOST_FILES = 5


def _path() -> list[tuple[str, str]]:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    section = text.partition("**A newcomer's path**")[2].partition("\n## ")[0]
    return re.findall(r"^\d\. `([\w/]+\.py)`, `(\w+)`", section, re.MULTILINE)


def test_path_is_short_and_early() -> None:
    assert 1 < len(_path()) < MOST_FILES  # ARCHITECTURE.md is opened too
    assert (ROOT / "ARCHITECTURE.md").read_text().partition("**A newcomer's path**")[0].count("\n") < 25


def test_path_functions_are_in_files() -> None:
    for file, function in _path():
        tree = ast.parse((ROOT / file).read_text())
        assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, file


def test_path_files_import_the_next() -> None:
    path = _path()
    for (file, _), (following, _) in pairwise(path):
        folder, _, name = following.removesuffix(".py").replace("/", ".").rpartition(".")
        imported = {
            module
            for node in ast.walk(ast.parse((ROOT / file).read_text()))
            if isinstance(node, ast.ImportFrom)
            for module in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))
        }
        assert f"kohort.{folder}.{name}" in imported, f"{file} does not import {following}"


def test_path_ends_at_join_responses() -> None:
    file, function = _path()[-1]
    tree = ast.parse((ROOT / file).read_text())
    body = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == function)
    called = {node.func.id for node in ast.walk(body) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert "answer_joins" in called
