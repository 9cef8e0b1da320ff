"""Contents of folders, for comparison."""

from __future__ import annotations

from pathlib import Path


def contents(path: Path) -> dict[str, bytes | None]:
    """Return the files of a folder with their contents; the lock file has none."""
    if path.is_file():
        return {"": path.read_bytes()}
    paths = (each for each in path.rglob("*") if each.name != ".lock")
    return {str(each.relative_to(path)): each.read_bytes() if each.is_file() else None for each in paths}
