"""Silver as it is at one moment, while a stream goes on writing it."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kohort.pipeline.silver.parquet_files import shown
from kohort.pipeline.silver.silver_schemas import SCHEMAS

_PREFIX = "_snapshot-"


@contextmanager
def snapshot(silver: Path, until: int | None = None) -> Iterator[Path]:
    """A folder beside `silver` with the same files, as links: nobody takes them away, and none is added.

    until: the last batch of the stream that is done; later ones may be written again. None: all. Removes what a process
    that was killed has left.
    """
    for left in silver.parent.glob(f"{_PREFIX}*"):
        shutil.rmtree(left, ignore_errors=True)
    view = silver.parent / f"{_PREFIX}{uuid.uuid4().hex}"
    view.mkdir(parents=True)
    try:
        for table in SCHEMAS:
            for path in shown(silver, table, until):
                place = view / path.relative_to(silver)
                place.parent.mkdir(parents=True, exist_ok=True)
                _same_file(path, place)
        yield view
    finally:
        shutil.rmtree(view, ignore_errors=True)


def _same_file(path: Path, place: Path) -> None:
    try:
        os.link(path, place)
    except OSError:  # a file system without links
        shutil.copy(path, place)
