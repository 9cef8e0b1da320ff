"""What a folder holds."""

from __future__ import annotations

from pathlib import Path


def contents(path: Path) -> dict[str, bytes | None]:
    """All that is there; the lock says nothing."""
    if path.is_file():
        return {"": path.read_bytes()}
    paths = (each for each in path.rglob("*") if each.name != ".lock")
    return {str(each.relative_to(path)): each.read_bytes() if each.is_file() else None for each in paths}
