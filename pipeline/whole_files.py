"""Atomic replacement of files: readers see the old file or the new one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kohort.pipeline.remote_path import Place, StoredPlace


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a hidden file next to `path`, which replaces it when the block completes without an exception."""
    hidden = path.with_name(f"_{path.name}")
    yield hidden
    hidden.replace(path)


def replace_text(path: Place, text: str) -> None:
    if isinstance(path, StoredPlace):
        path.write_bytes(text.encode())
        return
    with replacing(path) as hidden:
        hidden.write_text(text, encoding="utf-8")
