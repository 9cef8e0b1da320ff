"""Files that grow, and are rotated: whatever was added to them since the last look, each line once.

A file is known by how it begins, not by its name. So a renamed file (`server.log.1`), a copy of one that was emptied
then (logrotate's `copytruncate`) and a packed one (`server.log.2.gz`) go on where the file before them was left, and a
new file of an old name is read from its beginning. Only whole lines are read.
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

BEGINNING = 1024
"""Bytes by which a file is known; fewer as long as it holds no more."""
READ_AT_ONCE = 8 << 20
"""A line that is longer is cut: binary data, or nothing that anybody reads."""
MOST_KNOWN = 10_000
"""Files that are remembered; the ones that weren't seen for longest go."""
_NOT_YET = (EOFError, zlib.error, gzip.BadGzipFile)
"""A packed file that is still being packed ends early. The file that it is made of is there until it's complete."""


@dataclass(slots=True)
class KnownFile:
    """The hash of its first `length` bytes, and up to where it was read (of a packed one: of what is in it)."""

    length: int
    digest: str
    read: int


@dataclass(frozen=True, slots=True)
class NewLines:
    """What was added to a file: whole lines without their ends."""

    path: Path
    lines: list[str]


class TailedFiles:
    """Looks at named files, their rotated neighbours, and everything in named folders."""

    def __init__(self, places: Iterable[Path], state: dict[str, Any] | None = None) -> None:
        """state: what `state` gave before. Without it, neighbours that are older than this moment are not read."""
        self._places = list(places)
        self._known = [KnownFile(**each) for each in (state or {}).get("known", ())]
        self._seen_ns: int = (state or {}).get("seen_ns", -1)
        self._unchanged: dict[Path, tuple[int, int]] = {}
        self.problems: dict[Path, str] = {}
        """Files that can't be read now, and why."""

    @property
    def state(self) -> dict[str, Any]:
        """Plain enough for JSON."""
        return {"known": [asdict(each) for each in self._known[-MOST_KNOWN:]], "seen_ns": self._seen_ns}

    def look(self) -> Iterator[NewLines]:
        """The new lines of every file, a portion at a time; the older file first."""
        newest_ns = self._seen_ns
        for path, stat in self._candidates():
            newest_ns = max(newest_ns, stat.st_mtime_ns)
            size_and_time = stat.st_size, stat.st_mtime_ns
            if self._unchanged.get(path) == size_and_time:
                continue
            try:
                yield from self._of_file(path, stat)
            except OSError as error:  # not readable, or just gone
                self.problems[path] = error.strerror or str(error)
                continue
            except _NOT_YET:
                continue
            self.problems.pop(path, None)
            self._unchanged[path] = size_and_time
        self._seen_ns = newest_ns

    def _candidates(self) -> list[tuple[Path, os.stat_result]]:
        found: dict[Path, os.stat_result] = {}
        for place in self._places:
            folder = place if place.is_dir() else place.parent
            try:
                names = [path for path in folder.iterdir() if place.is_dir() or path.name.startswith(place.name)]
                found.update((path, path.stat()) for path in names if path.is_file() and not path.name.startswith("."))
            except OSError as error:
                self.problems[folder] = error.strerror or str(error)
        return sorted(found.items(), key=lambda each: (each[1].st_mtime_ns, each[0].name))

    def _of_file(self, path: Path, stat: os.stat_result) -> Iterator[NewLines]:
        packed = is_packed(path)
        with gzip.open(path, "rb") if packed else path.open("rb") as opened:
            file = cast(BinaryIO, opened)
            known = self._file_of(file.read(BEGINNING))
            if known is None:
                if not self._is_asked_for(path, stat):
                    return
                known = KnownFile(0, "", 0)
            else:
                self._known.remove(known)
            try:
                if packed or stat.st_size > known.read:
                    file.seek(known.read)
                    yield from self._read(path, file, known)
            finally:
                if known.length:
                    self._known.append(known)

    def _is_asked_for(self, path: Path, stat: os.stat_result) -> bool:
        """A file that was never read: named, in a named folder, or rotated away since the last look."""
        named = any(place in (path, path.parent) for place in self._places)
        return named or (self._seen_ns >= 0 and stat.st_mtime_ns > self._seen_ns)

    def _file_of(self, beginning: bytes) -> KnownFile | None:
        fitting = [
            each
            for each in self._known
            if len(beginning) >= each.length and _digest(beginning[: each.length]) == each.digest
        ]
        return max(fitting, key=lambda each: each.length, default=None)

    def _read(self, path: Path, file: BinaryIO, known: KnownFile) -> Iterator[NewLines]:
        while portion := file.read(READ_AT_ONCE):
            end = portion.rfind(b"\n") + 1
            if not end and len(portion) < READ_AT_ONCE:
                return
            end = end or len(portion)
            known.read += end
            if known.length < BEGINNING:
                _know_better(file, known)
            yield NewLines(
                path,
                [each.rstrip("\r") for each in portion[:end].decode("utf-8", "replace").removesuffix("\n").split("\n")],
            )
            file.seek(known.read)


def _know_better(file: BinaryIO, known: KnownFile) -> None:
    file.seek(0)
    beginning = file.read(min(known.read, BEGINNING))
    known.length, known.digest = len(beginning), _digest(beginning)


def _digest(beginning: bytes) -> str:
    return hashlib.blake2b(beginning, digest_size=16).hexdigest()
