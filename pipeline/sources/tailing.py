"""Growing and rotated files: yields the lines added since the last poll, each line once.

A file is identified by its first bytes, not by its name. A renamed file (`server.log.1`), a copy of a file that was
truncated afterwards (logrotate's `copytruncate`) and a compressed one (`server.log.2.gz`) continue at the position of
the original file; a new file with an old name is read from its beginning. Only complete lines are read.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from kohort.pipeline.sources.lines import is_packed

BEGINNING = 1024  # bytes that identify a file, or fewer while it is shorter
READ_AT_ONCE = 8 << 20  # bytes; a longer line is cut, because it is binary data
MOST_KNOWN = 10_000  # remembered files; the least recently read are dropped
# raised by a file that is still being compressed; the original file exists until that is complete
_NOT_YET = (EOFError, zlib.error, gzip.BadGzipFile)


@dataclass(slots=True)
class KnownFile:
    """Hash of the first `length` bytes of a file, and the position read up to, in uncompressed bytes."""

    length: int
    digest: str
    read: int


@dataclass(frozen=True, slots=True)
class NewLines:
    """Complete lines added to a file, without their ends."""

    path: Path
    lines: list[str]


class TailedFiles:
    """Named files, their rotated siblings, and all files in named folders."""

    def __init__(self, places: Iterable[Path], state: dict[str, Any] | None = None) -> None:
        """Track files, continuing from an earlier state.

        Args:
            places: Files and folders.
            state: Value of `state` of an earlier process. Without it, older rotated files are not read.
        """
        self._places = list(places)
        self._files = [KnownFile(**entry) for entry in (state or {}).get("known", ())]
        self._seen_ns: int = (state or {}).get("seen_ns", -1)
        self._unchanged: dict[Path, tuple[int, int]] = {}
        self.problems: dict[Path, str] = {}  # errors of files that can't be read now

    @property
    def state(self) -> dict[str, Any]:
        """Positions of all files, as JSON-compatible values."""
        return {"known": [asdict(file) for file in self._files[-MOST_KNOWN:]], "seen_ns": self._seen_ns}

    def look(self) -> Iterator[NewLines]:
        """Yield the new lines of every file in portions, oldest file first."""
        newest_ns = self._seen_ns
        for path, stat in self._candidates():
            newest_ns = max(newest_ns, stat.st_mtime_ns)
            size_and_time = stat.st_size, stat.st_mtime_ns
            if self._unchanged.get(path) == size_and_time:
                continue
            try:
                yield from self._of_file(path, stat)
            except OSError as error:  # unreadable, or just deleted
                self.problems[path] = error.strerror or str(error)
                continue
            except _NOT_YET:
                continue
            self.problems.pop(path, None)
            self._unchanged[path] = size_and_time
        self._seen_ns = newest_ns

    def _candidates(self) -> list[tuple[Path, os.stat_result]]:
        stats: dict[Path, os.stat_result] = {}
        for path_given in self._places:
            folder = path_given if path_given.is_dir() else path_given.parent
            try:
                names = [
                    path for path in folder.iterdir() if path_given.is_dir() or path.name.startswith(path_given.name)
                ]
                stats.update((path, path.stat()) for path in names if path.is_file() and not path.name.startswith("."))
            except OSError as error:
                self.problems[folder] = error.strerror or str(error)
        return sorted(stats.items(), key=lambda item: (item[1].st_mtime_ns, item[0].name))

    def _of_file(self, path: Path, stat: os.stat_result) -> Iterator[NewLines]:
        packed = is_packed(path)
        with gzip.open(path, "rb") if packed else path.open("rb") as opened:
            file = cast(BinaryIO, opened)
            position = self._file_of(file.read(BEGINNING))
            if position is None:
                if not self._is_asked_for(path, stat):
                    return
                position = KnownFile(0, "", 0)
            else:
                self._files.remove(position)
            try:
                if packed or stat.st_size > position.read:
                    file.seek(position.read)
                    yield from self._read(path, file, position)
            finally:
                if position.length:
                    self._files.append(position)

    def _is_asked_for(self, path: Path, stat: os.stat_result) -> bool:
        """Return whether to read a new file: it is named, in a named folder, or was rotated since the last poll."""
        named = any(tracked in (path, path.parent) for tracked in self._places)
        return named or (self._seen_ns >= 0 and stat.st_mtime_ns > self._seen_ns)

    def _file_of(self, beginning: bytes) -> KnownFile | None:
        fitting = [
            file
            for file in self._files
            if len(beginning) >= file.length and _digest(beginning[: file.length]) == file.digest
        ]
        return max(fitting, key=lambda file: file.length, default=None)

    def _read(self, path: Path, file: BinaryIO, position: KnownFile) -> Iterator[NewLines]:
        while portion := file.read(READ_AT_ONCE):
            end = portion.rfind(b"\n") + 1
            if not end and len(portion) < READ_AT_ONCE:
                return
            end = end or len(portion)
            position.read += end
            if position.length < BEGINNING:
                _update_hash(file, position)
            yield NewLines(
                path,
                [line.rstrip("\r") for line in portion[:end].decode("utf-8", "replace").removesuffix("\n").split("\n")],
            )
            file.seek(position.read)


def _update_hash(file: BinaryIO, position: KnownFile) -> None:
    file.seek(0)
    beginning = file.read(min(position.read, BEGINNING))
    position.length, position.digest = len(beginning), _digest(beginning)


def _digest(beginning: bytes) -> str:
    return hashlib.blake2b(beginning, digest_size=16).hexdigest()
