"""Text files line by line, packed or not."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

LONGEST_LINE = 16 << 20
"""A longer line is taken for binary data and cut; a record of the offsets topic is far smaller."""


def read_lines(path: Path) -> Iterator[str]:
    """Lines without their end; bytes that aren't UTF-8 become question marks rather than an error."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rb") as file:
        while line := file.readline(LONGEST_LINE):
            yield line.decode("utf-8", "replace").rstrip("\r\n")
