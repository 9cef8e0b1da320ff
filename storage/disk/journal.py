"""The metadata of a data directory: a file with one JSON object per line, to which every change is appended.

It contains topics, configurations, replicas and leader epochs, group configurations, ACLs, SCRAM credentials, and
allocated producer ids. An incomplete last line was never acknowledged and is ignored. The file is rewritten, with one
line per topic, group, ACL or credential, when the directory is opened.

The content of the file is what the next start reads. A change whose line was written but could not be synced is
therefore undone: the line is removed and the file is rewritten, because the disk content of a file after a failed sync
is unknown. If that fails, too, the change counts.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import UUID

from kohort.storage.disk.checkpoints import show_id
from kohort.storage.disk.files import Disk, File, Folder
from kohort.storage.disk.journal_lines import (
    LineError,
    Saved,
    SavedAcl,
    SavedScram,
    SavedTopic,
    apply,
    feature_line,
    group_line,
    line,
    read_line,
    scram_line,
    topic_line,
)

JOURNAL = "topics.jsonl"


class JournalError(Exception):
    """A journal that cannot be read. The text includes the remedy."""


class Journal:
    """Appends lines to the file."""

    def __init__(self, disk: Disk, folder: Path) -> None:
        self._disk = disk
        self._path = folder / JOURNAL
        self._file: File | None = None
        self._saved = Saved()  # content that the lines have or should have
        self._is_doubtful = False  # whether the file must be rewritten before anything is appended

    def read(self) -> Saved | None:
        """Read the content, or None without a file or a complete line.

        Raises:
            JournalError: A line is malformed.
            OSError: The file cannot be read.
        """
        try:
            lines = self._path.read_bytes().splitlines(keepends=True)
        except FileNotFoundError:
            return None
        saved = Saved()
        if lines and not lines[-1].endswith(b"\n"):
            lines.pop()
        for number, text in enumerate(lines, 1):
            try:
                read_line(saved, text)
            except LineError as problem:
                raise JournalError(
                    f"{self._path}, line {number}, cannot be read: {problem}; mend or remove that line; nothing has "
                    "been changed"
                ) from None
        twice = [name for name, count in Counter(text.name for text in saved.topics.values()).items() if count > 1]
        if twice:
            raise JournalError(f"{self._path} names two topics {twice[0]}: remove one; nothing has been changed")
        return saved if lines else None

    def begin(self, saved: Saved, *, starts: bool = True) -> None:
        """Rewrite the file with the current content.

        Args:
            starts: A broker starts and has handled the files of deleted topics.

        Raises:
            OSError: The file cannot be written.
        """
        self._saved = saved
        if starts:
            saved.deleted.clear()
        self._write_anew()

    def _write_anew(self) -> None:
        data = b"".join(self._saved.lines())
        self._is_doubtful = True
        self._disk.write_whole(self._path, data, precious=True)
        if self._file is not None:
            self._file.replaced()
        self._file = File(self._disk, self._path, len(data))
        # Otherwise a power failure could restore the old file, and lines that were synced to the new one would be lost.
        Folder(self._disk, self._path.parent).sync()
        self._is_doubtful = False

    def restored(self) -> None:
        """Record that all folders have become topics."""
        self._saved.restoring = False
        self._write_anew()

    def topic(self, topic: SavedTopic) -> None:
        """Append a created topic, or one that changed in more than one partition."""
        self._add(topic_line(topic))

    def partition(self, topic_id: UUID, index: int, replicas: Iterable[int], leader_epoch: int) -> None:
        """Append a partition's new leader or replicas. The change counts even if it cannot be written."""
        values = {"moved": show_id(topic_id), "partition": index, "replicas": [*replicas], "epoch": leader_epoch}
        try:
            self._add(values)
        except OSError:
            apply(self._saved, values)
            self._is_doubtful = True  # until it is written with the next change
            raise

    def deleted(self, topic_id: UUID) -> bool:
        """Append the deletion of a topic and return whether it is on disk.

        The caller deletes the records only if it is.

        Raises:
            OSError: The line cannot be written, and the topic is not deleted.
        """
        values = {"deleted": show_id(topic_id)}
        try:
            self._add(values, at_once=True)
        except _StaysError:
            apply(self._saved, values)
            return False
        return True

    def group(self, group_id: str, configs: Mapping[str, str]) -> None:
        self._add(group_line(group_id, configs))

    def feature(self, name: str, level: int, epoch: int) -> None:
        """Append the level of a feature; `epoch` counts such changes."""
        self._add(feature_line(name, level, epoch))

    def acls(self, added: Iterable[SavedAcl], removed: Iterable[SavedAcl]) -> None:
        for name, acls in (("acls", [*added]), ("acls_gone", [*removed])):
            if acls:
                self._add({name: acls})

    def scram(self, user: str, mechanism: int, scram: SavedScram | None) -> None:
        self._add(scram_line(user, mechanism, scram))

    def producer_ids(self, next_producer_id: int) -> None:
        """Append and sync the end of the allocated producer ids, before a record can contain one."""
        self._add({"next_producer_id": next_producer_id}, at_once=True)

    def settle(self) -> None:
        """Ensure that the file contains all changes, even after a failed sync.

        Raises:
            OSError: The file cannot be written.
        """
        if self._is_doubtful:
            self._write_anew()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _add(self, values: Mapping[str, Any], *, at_once: bool = False) -> None:
        """Append a line; with `at_once` also sync it.

        Raises:
            _StaysError: The line could not be synced and is still in the file.
            OSError: Nothing was appended.
        """
        self.settle()
        file = self._file
        assert file is not None, "it is begun first"
        old_size = file.size
        file.append(line(values))
        if at_once:
            try:
                file.sync()
            except OSError as problem:
                if not self._take_back(file, old_size):
                    raise _StaysError(*problem.args) from None
                raise
        apply(self._saved, values)

    def _take_back(self, file: File, size: int) -> bool:
        """Remove the last line and return whether a reader would now see the file without it."""
        with suppress(OSError):
            file.truncate(size)  # needs no room, and counts at once if the process is killed
        with suppress(OSError):
            self._write_anew()
        return self._file is not file or file.size == size


class _StaysError(OSError):
    """A line could be neither synced nor removed."""
