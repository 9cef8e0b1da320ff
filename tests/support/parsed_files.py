"""Python files as the tests of the project's structure see them."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple


class File(NamedTuple):
    """Facts about a Python file, which is parsed once.

    Lines are lines of code: blank lines, comments and docstrings do not count, so that explaining code is free.
    """

    lines: int
    functions: list[tuple[str, int]]  # name and lines of code
    imports: list[tuple[int, str, list[str]]]  # line, module and names of each `from … import …`
    by_name: list[str]  # arguments of imports by name


@cache
def parsed(path: Path) -> File:
    text = path.read_text()
    tree = ast.parse(text)
    code = {number for number, line in enumerate(text.splitlines(), 1) if line.strip() and line.strip()[0] != "#"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            code.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    file = File(len(code), [], [], [])
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            end = (node.end_lineno or node.lineno) + 1
            file.functions.append((node.name, len(code.intersection(range(node.lineno, end)))))
        elif isinstance(node, ast.ImportFrom):
            file.imports.append((node.lineno, node.module or "", [name.name for name in node.names]))
        elif isinstance(node, ast.Call) and _name(node.func).endswith(("import_module", "__import__")):
            file.by_name.append(ast.unparse(node.args[0]))
    return file


def _name(function: ast.expr) -> str:
    """Return the name of a called function, without its object or module."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""
