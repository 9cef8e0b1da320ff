"""The files of an event log: one that grows for each node, and their final names.

All of it may be done in a thread: a slow disk is in nobody's way there. `EventLog` says what, and hears how it went.
"""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from io import FileIO

ROLL_BYTES = 64 << 20
OPEN = ".open"


class EventFiles:
    """The file of each node that has any events."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._files: dict[int, EventFile] = {}
        self._numbers: dict[int, int] = {}

    def write(self, node_id: int, boot_id: str, lines: bytes) -> EventFile | None:
        """Writes all lines, or none. Returns the file if one was begun. Raises OSError."""
        file, begun = self._files.get(node_id), None
        if file is None:
            file = begun = self._begin(node_id, boot_id)
        file.write(lines)
        if file.size >= ROLL_BYTES:
            self.roll(node_id, file)
        return begun

    def roll(self, node_id: int, file: EventFile) -> None:
        """Gives a node's file its final name, unless that was done before. Raises OSError."""
        if self._files.get(node_id) is file:
            del self._files[node_id]
            file.finish()

    def open_files(self) -> list[tuple[int, EventFile]]:
        """Nodes and their files that grow."""
        return list(self._files.items())

    def _begin(self, node_id: int, boot_id: str) -> EventFile:
        number = self._numbers.get(node_id, 0) + 1
        file = EventFile(self._directory / f"group-events-{node_id}-{boot_id}-{number}.jsonl{OPEN}")
        self._files[node_id], self._numbers[node_id] = file, number
        return file


class EventFile:
    """One file while it is written. Locked, so that no other process takes it for one that was left behind."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        self._raw: FileIO = open(path, "xb", buffering=0)  # noqa: SIM115 - it lives as long as this object
        fcntl.flock(self._raw, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def write(self, lines: bytes) -> None:
        """All of these, or, where that fails, nothing."""
        left = memoryview(lines)
        try:
            while left:
                left = left[self._raw.write(left) :]
        except OSError:
            self._raw.truncate(self.size)
            self._raw.seek(self.size)
            raise
        self.size += len(lines)

    def finish(self) -> None:
        """Takes `.open` off its name; a file without a line goes."""
        self._raw.close()
        if self.size:
            self.path.rename(self.path.with_suffix(""))
        else:
            self.path.unlink()


def finish_left_over(directory: Path) -> None:
    """Files that a process which is gone did not finish: they are as complete as they will ever be."""
    for path in sorted(directory.glob(f"group-events-*.jsonl{OPEN}")):
        with path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                continue  # another broker writes it
            path.rename(path.with_suffix(""))
