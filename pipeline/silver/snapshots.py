"""Consistent views of silver while a stream continues to write it."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kohort.pipeline.silver.parquet_files import visible_files
from kohort.pipeline.silver.silver_schemas import SCHEMAS

_PREFIX = "_snapshot-"


@contextmanager
def snapshot(silver: Path, until: int | None = None) -> Iterator[Path]:
    """Yield a folder next to `silver` with links to its current files, which stay the same until the end of the block.

    Also removes folders that a killed process left.

    Args:
        until: Last complete batch of the stream, as later ones may be written again; None means all.
    """
    for stale in silver.parent.glob(f"{_PREFIX}*"):
        shutil.rmtree(stale, ignore_errors=True)
    view = silver.parent / f"{_PREFIX}{uuid.uuid4().hex}"
    view.mkdir(parents=True)
    try:
        for table in SCHEMAS:
            for path in visible_files(silver, table, until):
                link = view / path.relative_to(silver)
                link.parent.mkdir(parents=True, exist_ok=True)
                _same_file(path, link)
        yield view
    finally:
        shutil.rmtree(view, ignore_errors=True)


def _same_file(path: Path, link: Path) -> None:
    try:
        os.link(path, link)
    except OSError:  # a file system without links
        shutil.copy(path, link)
