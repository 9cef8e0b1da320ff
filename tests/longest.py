"""The longest files and functions, and how long each may be: as long as it is.

python -m tests.longest     # writes longest.toml anew
"""

from __future__ import annotations

import ast
import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
TABLE = Path(__file__).with_suffix(".toml")
FILE, FUNCTION = 400, 50
"""Lines from which on one is long."""


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
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            file.by_name.append(ast.unparse(node.args[0]))
    return file


def measured(root: Path) -> dict[str, int]:
    """The lines of each long file, and of each long function."""
    found: dict[str, int] = {}
    rooms = [file.parent for file in sorted(root.glob("*/__init__.py"))]
    for path in (path for folder in [*rooms, root / "examples"] for path in sorted(folder.rglob("*.py"))):
        name, lines = path.relative_to(root).as_posix(), path.read_text().count("\n")
        if lines > FILE:
            found[name] = lines
        for function, length in parsed(path).functions:
            if length > FUNCTION:
                found[f"{name}: {function}"] = length
    return found


def known() -> dict[str, int]:
    """What `longest.toml` allows."""
    table: dict[str, int] = tomllib.loads(TABLE.read_text())
    return table


def main() -> None:
    """Writes down how long they are now."""
    head = "# Lines of the longest files and functions (python -m tests.longest). A number here goes down, seldom up.\n"
    TABLE.write_text(head + "".join(f'"{name}" = {lines}\n' for name, lines in sorted(measured(ROOT).items())))


if __name__ == "__main__":
    main()
