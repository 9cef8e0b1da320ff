"""Files that readers find whole at every moment: the old one, or the new one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kohort.pipeline.remote_path import Place, StoredPlace


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A hidden file beside `path`, to be written in the block. It takes its place when the block ends well."""
    hidden = path.with_name(f"_{path.name}")
    yield hidden
    hidden.replace(path)


def replace_text(path: Place, text: str) -> None:
    """Writes a text file in UTF-8. A store shows objects when they are complete."""
    if isinstance(path, StoredPlace):
        path.write_bytes(text.encode())
        return
    with replacing(path) as hidden:
        hidden.write_text(text, encoding="utf-8")
