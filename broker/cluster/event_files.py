"""The files of an event log: one open file for each node, and their final names.

All operations may run in a thread, so that a slow disk delays no requests. `EventLog` calls them, and gets the results.
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
    """The open file of each node that has events."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._files: dict[int, EventFile] = {}
        self._numbers: dict[int, int] = {}

    def write(self, node_id: int, boot_id: str, lines: bytes) -> EventFile | None:
        """Write all lines, or none. Return the file if it is new.

        Raises:
            OSError: If nothing was written.
        """
        file, begun = self._files.get(node_id), None
        if file is None:
            file = begun = self._begin(node_id, boot_id)
        file.write(lines)
        if file.size >= ROLL_BYTES:
            self.roll(node_id, file)
        return begun

    def roll(self, node_id: int, file: EventFile) -> None:
        if self._files.get(node_id) is file:
            del self._files[node_id]
            file.finish()

    def open_files(self) -> list[tuple[int, EventFile]]:
        return list(self._files.items())

    def _begin(self, node_id: int, boot_id: str) -> EventFile:
        number = self._numbers.get(node_id, 0) + 1
        file = EventFile(self._directory / f"group-events-{node_id}-{boot_id}-{number}.jsonl{OPEN}")
        self._files[node_id], self._numbers[node_id] = file, number
        return file


class EventFile:
    """An open file. Locked, so that no other process takes it for an abandoned one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        self._raw: FileIO = open(path, "xb", buffering=0)  # noqa: SIM115 - it lives as long as this object
        fcntl.flock(self._raw, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def write(self, lines: bytes) -> None:
        """Write all lines, or, if that fails, none."""
        remaining = memoryview(lines)
        try:
            while remaining:
                remaining = remaining[self._raw.write(remaining) :]
        except OSError:
            self._raw.truncate(self.size)
            self._raw.seek(self.size)
            raise
        self.size += len(lines)

    def finish(self) -> None:
        """Remove the suffix `.open`; delete a file without lines."""
        self._raw.close()
        if self.size:
            self.path.rename(self.path.with_suffix(""))
        else:
            self.path.unlink()


def finish_left_over(directory: Path) -> None:
    """Rename files that a terminated process left open, since they will not grow any more."""
    for path in sorted(directory.glob(f"group-events-*.jsonl{OPEN}")):
        with path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                continue  # locked by another broker
            path.rename(path.with_suffix(""))
