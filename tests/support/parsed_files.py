"""Files of Python, as far as the tests of the house look at them."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple


class File(NamedTuple):
    """What the tests of the house look at in a file of Python, which is parsed once."""

    functions: list[tuple[str, int]]
    """Names, and how many lines each has."""
    imports: list[tuple[int, str, list[str]]]
    """Line, module and names of each `from … import …`."""
    by_name: list[str]
    """The arguments of imports by name."""


@cache
def parsed(path: Path) -> File:
    file = File([], [], [])
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            file.functions.append((node.name, (node.end_lineno or node.lineno) - node.lineno + 1))
        elif isinstance(node, ast.ImportFrom):
            file.imports.append((node.lineno, node.module or "", [each.name for each in node.names]))
        elif isinstance(node, ast.Call) and _name(node.func).endswith(("import_module", "__import__")):
            file.by_name.append(ast.unparse(node.args[0]))
    return file


def _name(function: ast.expr) -> str:
    """What is called, without what it belongs to."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""
