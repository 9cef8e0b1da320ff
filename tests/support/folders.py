"""Contents of folders, for comparison."""

from __future__ import annotations

from pathlib import Path


def contents(path: Path) -> dict[str, bytes | None]:
    """Return the files of a folder with their contents; the lock file has none."""
    if path.is_file():
        return {"": path.read_bytes()}
    paths = (file for file in path.rglob("*") if file.name != ".lock")
    return {str(file.relative_to(path)): file.read_bytes() if file.is_file() else None for file in paths}
