"""A ratchet for the longest files and functions: their lines of code may fall, but not grow.

python -m tests.longest     # rewrites longest.toml
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from tests.support.parsed_files import parsed

ROOT = Path(__file__).parent.parent
TABLE = Path(__file__).with_suffix(".toml")
FILE, FUNCTION = 300, 45  # lines of code from which a file or function is long
GENERATED = "testing/sync.py"


def measured(root: Path) -> dict[str, int]:
    """Return the lines of code of each long file and function."""
    long: dict[str, int] = {}
    packages = [file.parent for file in sorted(root.glob("*/__init__.py"))]
    for path in (path for folder in [*packages, root / "examples"] for path in sorted(folder.rglob("*.py"))):
        name, file = path.relative_to(root).as_posix(), parsed(path)
        if name == GENERATED:
            continue
        if file.lines > FILE:
            long[name] = file.lines
        for function, lines in file.functions:
            if lines > FUNCTION:
                long[f"{name}: {function}"] = lines
    return long


def allowed() -> dict[str, int]:
    """Return the limits in `longest.toml`."""
    table: dict[str, int] = tomllib.loads(TABLE.read_text())
    return table


def main() -> None:
    """Write the current lengths to `longest.toml`."""
    head = (
        "# Lines of code of the longest files and functions (python -m tests.longest). They may fall, but not grow.\n"
    )
    TABLE.write_text(head + "".join(f'"{name}" = {lines}\n' for name, lines in sorted(measured(ROOT).items())))


if __name__ == "__main__":
    main()
