"""An editor shows a docstring alone: it says by itself what it is about."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.docs.sources import ROOT, python_files

NEEDS_ANOTHER = re.compile(r"(?:Of|The same|Whoever|Somebody|Someone|As [^`.]*?(?:said|told|says))\b")
"""How a text begins that leans on the one before it, or hides its subject."""


def _docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """Docstrings of modules, classes and functions, and the texts below names."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for each in node.body:
                if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant):
                    yield each.lineno, str(each.value.value)


def test_no_docstring_needs_the_text_around_it() -> None:
    leaning = [
        f"{path.relative_to(ROOT)}:{line}: {text.splitlines()[0]}"
        for path in python_files()
        if path.relative_to(ROOT).parts[0] != "tests"
        for line, text in _docstrings(path)
        if NEEDS_ANOTHER.match(text)
    ]
    assert leaning == []


def test_such_a_docstring_is_found(tmp_path: Path) -> None:
    file = tmp_path / "example.py"
    file.write_text('"""Rooms."""\nX = 1\n"""Of a room."""\n\n\ndef f():\n    """The same, later."""\n')
    texts = [text for _, text in _docstrings(file)]
    assert texts == ["Rooms.", "Of a room.", "The same, later."]
    assert [bool(NEEDS_ANOTHER.match(text)) for text in texts] == [False, True, True]
