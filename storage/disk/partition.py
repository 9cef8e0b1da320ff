"""The folder of a partition, in which its log is kept as Kafka lays it out. It is made with the first record."""

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from errno import ESTALE
from pathlib import Path
from uuid import UUID

from kohort.storage.disk.checkpoints import LEADER_EPOCHS, PARTITION_METADATA, checkpoint, partition_metadata
from kohort.storage.disk.file_segment import FileSegment
from kohort.storage.disk.files import Disk, File
from kohort.storage.disk.indexes import offset_index, time_index
from kohort.storage.disk.missing import indexes_of
from kohort.storage.disk.recovery import CLEANED, SWAP, segment_path
from kohort.storage.segment import Segment
from kohort.storage.store import Epochs, Found, Merged

_LONGEST_NAME = 255
"""What file systems allow."""


class PartitionStore:
    """Keeps the segments of one partition in its folder; see `storage.store.Store`."""

    in_memory = False

    def __init__(
        self,
        disk: Disk,
        folder: Path,
        topic_id: UUID,
        *,
        delays: bool,
        start_moved: Callable[[int], None],
        clean_moved: Callable[[int], None],
    ) -> None:
        """`start_moved` and `clean_moved` note, for all partitions, where a log starts and how far it is compacted."""
        self.delays = delays
        self.folder = folder
        self.open_segment: FileSegment | None = None
        """The one that is appended to."""
        self.start_moved = start_moved
        self._clean_moved = clean_moved
        self._full: list[FileSegment] = []
        """Those whose indexes are to be written once they are synced."""
        self._disk = disk
        self._topic_id = topic_id
        self._exists = False
        self._has_folder = False
        """Also where the folder is all that could be made."""
        self._removed = False
        self._leaves_files = False
        self._epochs: Epochs = ()

    def found(self, found: Found) -> None:
        """The folder is there, and holds this."""
        self._exists, self._has_folder = bool(found.segments), True
        self._epochs = found.epochs
        if found.segments:
            self.open_segment = _of_files(found.segments[-1])

    def new_segment(self, base_offset: int, created_at_ms: int, *, alone: bool = False) -> Segment:
        """Begins a file; the one before it gets its indexes, if it stays. See `Store`."""
        self._make()
        if self.open_segment is not None and not alone:
            if self.open_segment not in self._full:  # it is when the new file could not be made
                self._full.append(self.open_segment)
            if not self.delays:
                self._write_derived(base_offset)
        # The last that may fail: a file that stays behind would be in the way of the records that come next.
        file = self._disk.new_file(segment_path(self.folder, base_offset))
        self.open_segment = FileSegment(file, base_offset, created_at_ms)
        return self.open_segment

    def _make(self) -> None:
        if self._removed:
            raise OSError(ESTALE, f"{self.folder.name} is deleted")
        if self._exists:
            return
        self._disk.make_folder(self.folder)
        self._has_folder = True
        self.write_metadata()
        self._exists = True

    def write_metadata(self) -> None:
        """Writes down which topic this is a partition of."""
        self._disk.new_file(self.folder / PARTITION_METADATA).append(partition_metadata(self._topic_id))

    def synced(self, offset: int) -> None:
        """What is before `offset` is on the disk; see `Store`. What indexes name has been there: see missing.py."""
        if self._full and not self._removed:
            with suppress(OSError):  # they can be worked out again
                self._write_derived(offset)

    def _write_derived(self, end_offset: int) -> None:
        """Writes what Kafka keeps beside full segments, of those that end at `end_offset` or before."""
        while self._full and self._full[0].next_offset <= end_offset:
            self._write_indexes(self._full[0])
            self._full.pop(0)
            self._write_epochs()

    def _write_indexes(self, segment: FileSegment) -> None:
        offsets, times = indexes_of(segment.file.path)
        self._disk.write_derived(offsets, offset_index(segment))
        self._disk.write_derived(times, time_index(segment))

    def dropped(self, segments: Sequence[Segment]) -> None:
        """Removes their files; who is reading one may finish. See `Store`."""
        for segment in segments:
            self._remove(_of_files(segment).file.path)

    def _remove(self, path: Path) -> None:
        """A segment goes, with its indexes."""
        # The log last: a segment without indexes is one, indexes without it tell of a loss (missing.py).
        self._remove_indexes(path)
        self._disk.remove(path)
        self._full = [each for each in self._full if each.file.path != path]

    def _remove_indexes(self, path: Path) -> None:
        for each in indexes_of(path):
            self._disk.remove(each)

    def epochs_changed(self, epochs: Epochs) -> None:
        """Written when a segment is closed; until then they are in the batches. See `Store`."""
        self._epochs = epochs

    def _write_epochs(self) -> None:
        self._disk.write_derived(self.folder / LEADER_EPOCHS, checkpoint(self._epochs))

    def close(self) -> None:
        """Writes what can be worked out again, for those who look at the files while nobody is here to do so."""
        if self._exists and not self._removed and self.open_segment is not None:
            self._write_derived(self.open_segment.base_offset)
            self._write_indexes(self.open_segment)
            self._write_epochs()

    def leaves_files(self) -> None:
        """What `removed` would remove is left to the next start: nobody knows yet whether the deletion stays."""
        self._leaves_files = True

    def removed(self) -> None:
        """Nothing is kept any more: the topic is deleted. See `Store`.

        What cannot be removed is left to the next start, which knows of the deletion.
        """
        self._removed = True
        if self._has_folder and not self._leaves_files:
            with suppress(OSError):
                remove_partition(self._disk, self.folder, self._topic_id)

    # Compaction

    def write_merged(self, merged: Sequence[Merged]) -> Generator[None, None, list[Segment]]:
        """Writes files that wait for their place; see `Store`.

        They are synced, whatever else is: what they take the place of may be on the disk for long (Kafka: `Cleaner`).
        """
        made: list[FileSegment] = []
        for each in merged:
            first = each.segments[0]
            path = segment_path(self.folder, first.base_offset)
            file = self._disk.new_file(path.with_name(path.name + CLEANED))
            segment = FileSegment(file, first.base_offset, first.created_at_ms)
            for chunk in each.chunks:
                file.append(chunk)
                segment.note_all(chunk)
                yield
            segment.next_offset = each.segments[-1].next_offset
            made.append(segment)
        with ThreadPoolExecutor(1) as thread:
            synced = thread.submit(_sync_all, [segment.file for segment in made])
            while not synced.done():
                yield
            synced.result()
        return list(made)

    def put_merged(self, merged: Sequence[Merged], made: Sequence[Segment]) -> None:
        """Renames the new files, removes the old ones. Whatever is interrupted, recovery finishes. See `Store`.

        No index of an old file may stay: it names records that are not in the new one.
        """
        for segment in made:
            file = _of_files(segment).file
            path = file.path.with_suffix(SWAP)
            self._disk.rename(file.path, path)
            file.path = path
        for each, segment in zip(merged, made, strict=True):
            for old in each.segments[1:]:
                self._remove(_of_files(old).file.path)
            file = _of_files(segment).file
            path = file.path.with_suffix("")
            self._remove_indexes(path)
            self._disk.rename(file.path, path)
            file.path = path
            self._full = [full for full in self._full if full.file.path != path]
        # The log is made of the new files from here on, whatever comes of that which can be worked out again.
        with suppress(OSError):
            for segment in made:
                self._write_indexes(_of_files(segment))
            if made:
                self._clean_moved(made[-1].next_offset)


def remove_partition(disk: Disk, folder: Path, topic_id: UUID) -> None:
    """The folder of a deleted topic goes, first out of the way, then from the disk. Raises OSError.

    Half removed it would be without `partition.metadata`, and pass for one of a later topic of that name.
    """
    gone = capped(folder, f".{topic_id.hex}-delete")
    disk.rename(folder, gone)
    disk.remove_folder(gone)


def capped(folder: Path, ending: str) -> Path:
    """The folder of a partition under a name that ends so. A topic's name is cut where the whole would be too long.

    Source: Kafka's `LocalLog.logDeleteDirName`, which cuts it so, too.
    """
    topic, _, index = folder.name.rpartition("-")
    rest = f"-{index}{ending}"
    return folder.with_name(topic[: _LONGEST_NAME - len(rest)] + rest)


def _sync_all(files: Sequence[File]) -> None:
    for file in files:
        file.sync()


def _of_files(segment: Segment) -> FileSegment:
    assert isinstance(segment, FileSegment), "a store of files has made no others"
    return segment
