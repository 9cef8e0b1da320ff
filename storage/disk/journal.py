"""The topics of a data directory: a file of lines in JSON, to which every change is added.

Topics, settings, replicas and leader epochs, settings of groups, ACLs, what is kept of SCRAM passwords, and which
producer ids were handed out. A last line that was cut short was never acknowledged and does not count. The file is
written anew, one line a topic, group, ACL or credential, when the directory is opened.

What is in the file is what the next start finds. So a change whose line was written and could not be synced is undone:
its line is cut off, and the file is written anew, since nobody knows what the disk holds of a file whose sync failed.
Where even that fails, the change counts.
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
    """A journal that cannot be read. The text is a sentence that says what to do."""


class Journal:
    """Adds lines to the file."""

    def __init__(self, disk: Disk, folder: Path) -> None:
        self._disk = disk
        self._path = folder / JOURNAL
        self._file: File | None = None
        self._saved = Saved()
        """What the lines say, or what they should say."""
        self._is_doubtful = False
        """Whether the file has to be written anew before anything is added to it."""

    def read(self) -> Saved | None:
        """What was written; None: there is no file, or no whole line in it. Raises JournalError, OSError."""
        try:
            lines = self._path.read_bytes().splitlines(keepends=True)
        except FileNotFoundError:
            return None
        saved = Saved()
        if lines and not lines[-1].endswith(b"\n"):
            lines.pop()
        for number, each in enumerate(lines, 1):
            try:
                read_line(saved, each)
            except LineError as problem:
                raise JournalError(
                    f"{self._path}, line {number}, cannot be read: {problem}; mend or remove that line; nothing has "
                    "been changed"
                ) from None
        twice = [name for name, count in Counter(each.name for each in saved.topics.values()).items() if count > 1]
        if twice:
            raise JournalError(f"{self._path} names two topics {twice[0]}: remove one; nothing has been changed")
        return saved if lines else None

    def begin(self, saved: Saved, *, starts: bool = True) -> None:
        """Writes the file anew, with what there is now. Raises OSError.

        `starts`: a broker does, and has seen to the files of topics that were deleted.
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
        # Else the old file might come back with the power, and what is synced in the new one would be gone with it.
        Folder(self._disk, self._path.parent).sync()
        self._is_doubtful = False

    def restored(self) -> None:
        """All folders are topics now. Raises OSError."""
        self._saved.restoring = False
        self._write_anew()

    def topic(self, topic: SavedTopic) -> None:
        """A topic was created, or changed in more than one partition. Raises OSError."""
        self._add(topic_line(topic))

    def partition(self, topic_id: UUID, index: int, replicas: Iterable[int], leader_epoch: int) -> None:
        """A partition has another leader or other replicas, whether or not that can be written. Raises OSError."""
        values = {"moved": show_id(topic_id), "partition": index, "replicas": [*replicas], "epoch": leader_epoch}
        try:
            self._add(values)
        except OSError:
            apply(self._saved, values)
            self._is_doubtful = True  # until it is written with the next change
            raise

    def deleted(self, topic_id: UUID) -> bool:
        """A topic is gone. Returns whether that is on the disk. Raises OSError; then the topic is not gone.

        Its records go next, and must not go alone: they stay if this is not on the disk.
        """
        values = {"deleted": show_id(topic_id)}
        try:
            self._add(values, at_once=True)
        except _StaysError:
            apply(self._saved, values)
            return False
        return True

    def group(self, group_id: str, configs: Mapping[str, str]) -> None:
        """A group has these settings now. Raises OSError."""
        self._add(group_line(group_id, configs))

    def feature(self, name: str, level: int, epoch: int) -> None:
        """A feature has another level, after `epoch` such changes. Raises OSError."""
        self._add(feature_line(name, level, epoch))

    def acls(self, added: Iterable[SavedAcl], removed: Iterable[SavedAcl]) -> None:
        """ACLs were made or taken away. Raises OSError."""
        for name, acls in (("acls", [*added]), ("acls_gone", [*removed])):
            if acls:
                self._add({name: acls})

    def scram(self, user: str, mechanism: int, scram: SavedScram | None) -> None:
        """A user has this SCRAM credential now, or none. Raises OSError."""
        self._add(scram_line(user, mechanism, scram))

    def producer_ids(self, next_producer_id: int) -> None:
        """Producer ids below this one may have been handed out. Raises OSError.

        On the disk when this returns: a record with one of them may be there sooner than anybody hears of it.
        """
        self._add({"next_producer_id": next_producer_id}, at_once=True)

    def settle(self) -> None:
        """Whatever was changed is in the file when this returns, even where a sync failed before. Raises OSError."""
        if self._is_doubtful:
            self._write_anew()

    def close(self) -> None:
        """Gives the file back."""
        if self._file is not None:
            self._file.close()

    def _add(self, values: Mapping[str, Any], *, at_once: bool = False) -> None:
        """`at_once`: on the disk when this returns. Raises OSError; then nothing was added, but for _StaysError."""
        self.settle()
        file = self._file
        assert file is not None, "it is begun first"
        before = file.size
        file.append(line(values))
        if at_once:
            try:
                file.sync()
            except OSError as problem:
                if not self._take_back(file, before):
                    raise _StaysError(*problem.args) from None
                raise
        apply(self._saved, values)

    def _take_back(self, file: File, size: int) -> bool:
        """Takes the last line out again. Returns whether whoever reads the file now finds it without."""
        with suppress(OSError):
            file.truncate(size)  # needs no room, and counts at once if the process is killed
        with suppress(OSError):
            self._write_anew()
        return self._file is not file or file.size == size


class _StaysError(OSError):
    """A line could not be synced, and could not be taken back either."""
