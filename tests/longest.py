"""The longest files and functions, and how long each may be: as long as it is.

python -m tests.longest     # writes longest.toml anew
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from tests.support.parsed_files import parsed

ROOT = Path(__file__).parent.parent
TABLE = Path(__file__).with_suffix(".toml")
FILE, FUNCTION = 400, 50
"""Lines from which on one is long."""


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
