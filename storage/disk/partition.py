"""The folder of a partition, which contains its log in Kafka's layout. It is created with the first record."""

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

_LONGEST_NAME = 255  # limit of file systems


class PartitionStore:
    """Keeps the segments of one partition in its folder."""

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
        """Create a store.

        Args:
            start_moved: Called with a new log start offset, to be stored in the checkpoint of all partitions.
            clean_moved: Called with the offset up to which the log is compacted.
        """
        self.delays = delays
        self.folder = folder
        self.open_segment: FileSegment | None = None  # the active segment
        self.start_moved = start_moved
        self._clean_moved = clean_moved
        self._full: list[FileSegment] = []  # closed segments whose indexes are written after a sync
        self._disk = disk
        self._topic_id = topic_id
        self._exists = False
        self._has_folder = False  # also true if creating the folder succeeded and a later step failed
        self._removed = False
        self._leaves_files = False
        self._epochs: Epochs = ()

    def adopt(self, recovered: Found) -> None:
        """Load the recovered content of the folder."""
        self._exists, self._has_folder = bool(recovered.segments), True
        self._epochs = recovered.epochs
        if recovered.segments:
            self.open_segment = _of_files(recovered.segments[-1])

    def new_segment(self, base_offset: int, created_at_ms: int, *, alone: bool = False) -> Segment:
        """Create a file; the previous segment gets its indexes unless it is dropped."""
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
        """Write the topic id of the partition."""
        self._disk.new_file(self.folder / PARTITION_METADATA).append(partition_metadata(self._topic_id))

    def synced(self, offset: int) -> None:
        """Write pending indexes of synced segments, which must not refer to unsynced records (see missing.py)."""
        if self._full and not self._removed:
            with suppress(OSError):  # they can be worked out again
                self._write_derived(offset)

    def _write_derived(self, end_offset: int) -> None:
        """Write Kafka's index files of segments that end at `end_offset` or before."""
        while self._full and self._full[0].next_offset <= end_offset:
            self._write_indexes(self._full[0])
            self._full.pop(0)
            self._write_epochs()

    def _write_indexes(self, segment: FileSegment) -> None:
        offsets, times = indexes_of(segment.file.path)
        self._disk.write_derived(offsets, offset_index(segment))
        self._disk.write_derived(times, time_index(segment))

    def dropped(self, segments: Sequence[Segment]) -> None:
        """Delete the files of segments; readers that have one open can finish."""
        for segment in segments:
            self._remove(_of_files(segment).file.path)

    def _remove(self, path: Path) -> None:
        """Delete a segment and its indexes."""
        # The log last: a segment without indexes is valid, indexes without a segment indicate a loss (missing.py).
        self._remove_indexes(path)
        self._disk.remove(path)
        self._full = [file for file in self._full if file.file.path != path]

    def _remove_indexes(self, path: Path) -> None:
        for file in indexes_of(path):
            self._disk.remove(file)

    def epochs_changed(self, epochs: Epochs) -> None:
        """Ignore the change: epochs are in the batches, and the checkpoint is written when a segment is closed."""
        self._epochs = epochs

    def _write_epochs(self) -> None:
        self._disk.write_derived(self.folder / LEADER_EPOCHS, checkpoint(self._epochs))

    def close(self) -> None:
        """Write files that can be rebuilt, for tools that inspect the directory of a stopped broker."""
        if self._exists and not self._removed and self.open_segment is not None:
            self._write_derived(self.open_segment.base_offset)
            self._write_indexes(self.open_segment)
            self._write_epochs()

    def leaves_files(self) -> None:
        """Leave the deletion of files to the next start, because the deletion of the topic is not yet durable."""
        self._leaves_files = True

    def removed(self) -> None:
        """Delete the folder of a deleted topic. Files that cannot be deleted are left to the next start."""
        self._removed = True
        if self._has_folder and not self._leaves_files:
            with suppress(OSError):
                remove_partition(self._disk, self.folder, self._topic_id)

    # Compaction

    def write_merged(self, merged: Sequence[Merged]) -> Generator[None, None, list[Segment]]:
        """Write and sync files that replace segments later.

        They are synced in every sync mode, because the files that they replace may have been durable (Kafka:
        `Cleaner`).
        """
        segments: list[FileSegment] = []
        for merged_segments in merged:
            first = merged_segments.segments[0]
            path = segment_path(self.folder, first.base_offset)
            file = self._disk.new_file(path.with_name(path.name + CLEANED))
            segment = FileSegment(file, first.base_offset, first.created_at_ms)
            for chunk in merged_segments.chunks:
                file.append(chunk)
                segment.note_all(chunk)
                yield
            segment.next_offset = merged_segments.segments[-1].next_offset
            segments.append(segment)
        with ThreadPoolExecutor(1) as thread:
            synced = thread.submit(_sync_all, [segment.file for segment in segments])
            while not synced.done():
                yield
            synced.result()
        return list(segments)

    def put_merged(self, merged: Sequence[Merged], new_segments: Sequence[Segment]) -> None:
        """Rename the new files and delete the old ones. Recovery completes an interruption.

        No index of an old file may remain, because it refers to records that are not in the new one.
        """
        for segment in new_segments:
            file = _of_files(segment).file
            path = file.path.with_suffix(SWAP)
            self._disk.rename(file.path, path)
            file.path = path
        for replaced, segment in zip(merged, new_segments, strict=True):
            for old in replaced.segments[1:]:
                self._remove(_of_files(old).file.path)
            file = _of_files(segment).file
            path = file.path.with_suffix("")
            self._remove_indexes(path)
            self._disk.rename(file.path, path)
            file.path = path
            self._full = [full for full in self._full if full.file.path != path]
        # The log is made of the new files from here on, whatever comes of that which can be worked out again.
        with suppress(OSError):
            for segment in new_segments:
                self._write_indexes(_of_files(segment))
            if new_segments:
                self._clean_moved(new_segments[-1].next_offset)


def remove_partition(disk: Disk, folder: Path, topic_id: UUID) -> None:
    """Rename and delete the folder of a deleted topic.

    A partly deleted folder would have no `partition.metadata` and could be mistaken for one of a later topic with the
    same name.

    Raises:
        OSError: A file operation failed.
    """
    renamed = capped(folder, f".{topic_id.hex}-delete")
    disk.rename(folder, renamed)
    disk.remove_folder(renamed)


def capped(folder: Path, ending: str) -> Path:
    """Return the path of a partition folder with a suffix. A long topic name is shortened to fit the limit.

    Source: Kafka's `LocalLog.logDeleteDirName`, which shortens it in the same way.
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
