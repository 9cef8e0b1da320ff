"""Text files line by line, packed or not."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from typing import IO

from kohort.pipeline.sources.chunk import Issue
from kohort.pipeline.sources.stored import SourceFile

BROKEN = (OSError, EOFError, zlib.error)
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""How a file begins into which PowerShell wrote what a command said."""
LONGEST_LINE = 16 << 20
"""A longer line is taken for binary data and cut; a record of the offsets topic is far smaller."""


def is_packed(path: SourceFile) -> bool:
    """By content: a rotated file may be called `server.log.7`."""
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def read_lines(path: SourceFile, faults: list[Issue] | None = None, *, keeps_bytes: bool = False) -> Iterator[str]:
    """Lines without their end; bytes that aren't UTF-8 become question marks rather than an error.

    keeps_bytes: they become halves of surrogates instead, which `encode` with "surrogateescape" makes bytes again.

    faults: gets a word on a file that can't be read to its end, a packed one that is cut for example; what stands
    before that point is given. Without it such a file raises OSError, EOFError or zlib.error.
    """
    number, errors = 0, "surrogateescape" if keeps_bytes else "replace"
    try:
        packed = is_packed(path)
        with path.open("rb") as raw:
            file = gzip.GzipFile(fileobj=raw) if packed else raw
            if not packed and raw.read(2) in UTF_16:
                raw.seek(0)
                for text in _of_windows(raw):
                    number += 1
                    yield text
                return
            raw.seek(0)
            while line := file.readline(LONGEST_LINE):
                number += 1
                text = line.decode("utf-8", errors).rstrip("\r\n")
                yield text.removeprefix("\ufeff") if number == 1 else text
    except BROKEN as error:
        if faults is None:
            raise
        why = getattr(error, "strerror", None) or str(error)
        read = f"read to line {number} only: " if number else ""
        faults.append(Issue("unreadable_file", str(path), f"{read}{why}"))


def _of_windows(raw: IO[bytes]) -> Iterator[str]:
    """Lines of UTF-16; units that aren't become question marks."""
    text = io.TextIOWrapper(raw, "utf-16", errors="replace", newline="\n")
    while line := text.readline(LONGEST_LINE):
        yield line.rstrip("\r\n")
