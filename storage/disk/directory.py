"""A data directory: one folder per partition, as in Kafka, and files for the whole directory.

    meta.properties                  owner of the directory
    topics.jsonl                     topics (journal.py)
    log-start-offset-checkpoint      log start offsets after DeleteRecords
    cleaner-offset-checkpoint        offsets up to which logs are compacted
    .lock                            locked by the process that writes here
    .kohort_cleanshutdown            the last process was stopped and did not crash
    orders-0/                        segments, indexes, leader-epoch-checkpoint, partition.metadata

A directory that contains only partition folders is adopted, so that logs of Apache Kafka can be inspected. A directory
of kohort that has lost its `topics.jsonl` is adopted in the same way on request. Source of the layout: Kafka's
`LogManager`, `UnifiedLog`, `MetaProperties`.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from uuid import UUID

from kohort.storage.disk.checkpoints import (
    CLEANED,
    LOG_STARTS,
    CheckpointError,
    offsets_checkpoint,
    read_offsets,
    read_partition_metadata,
)
from kohort.storage.disk.files import Disk, Folder
from kohort.storage.disk.journal import JOURNAL, Journal, JournalError
from kohort.storage.disk.journal_lines import Saved, SavedAcl, SavedPartition, SavedScram, SavedTopic
from kohort.storage.disk.ownership import (
    META,
    NOT_OURS_TO_SEE,
    PARTITION,
    DataDirectoryError,
    Lock,
    meta_properties,
    owner_of,
)
from kohort.storage.disk.partition import PartitionStore, capped, remove_partition
from kohort.storage.disk.recovery import Recovery, RecoveryError, segment_path
from kohort.storage.store import Found, Store

CLEAN_SHUTDOWN = ".kohort_cleanshutdown"

_DELETED = "-delete"
# Suffixes of folders that are about to be deleted, and of unknown folders (Kafka: `UnifiedLog.StrayDirSuffix`).
_STRAY = "-stray"

# Files that an interrupted first start can leave; `meta.properties` is written last.
BEFORE_META = frozenset(name + ending for name in (META, JOURNAL, LOG_STARTS, CLEANED) for ending in ("", ".tmp"))


class DataDirectory:
    """The logs of a broker on disk. One process at a time can open a directory."""

    def __init__(
        self, path: Path, *, disk: Disk | None = None, delays: bool = False, restore_topics: bool = False
    ) -> None:
        """Open a directory, creating it if necessary.

        Args:
            delays: Records become readable only after they are synced.
            restore_topics: Create topics from the partition folders if `topics.jsonl` is missing.

        Raises:
            DataDirectoryError: The directory cannot be used and is unchanged.
        """
        self.path = path
        self.disk = disk if disk is not None else Disk()
        self.delays = delays
        self.warnings: list[str] = []  # repairs and other messages for the operator
        self.cluster_id: str | None = None  # id of the cluster that wrote here, or None
        # Whether all syncs are known to have succeeded; otherwise the next start verifies everything.
        self.trusted = True
        self._restore_topics = restore_topics
        self._noted = False
        self._stores: dict[str, PartitionStore] = {}
        self._lock: Lock | None = None
        self._closed = False
        try:
            self._open()
        except OSError as problem:
            self._unlock()
            raise DataDirectoryError(
                f"{problem.filename or path}: {problem.strerror or problem}; --data-dir wants a directory that can be "
                "read and written"
            ) from None
        except (RecoveryError, CheckpointError, JournalError, DataDirectoryError) as problem:
            self._unlock()
            raise DataDirectoryError(str(problem)) from None

    def _open(self) -> None:
        path = self.path
        if path.exists() and not path.is_dir():
            raise DataDirectoryError(f"{path} is a file; --data-dir wants a directory")
        self.disk.make_folder(path)
        self.cluster_id = owner_of(path, BEFORE_META)
        self._lock = Lock(path)
        self._journal = Journal(self.disk, path)
        self.saved = self._read_journal()
        self._starts = read_offsets(path / LOG_STARTS)
        self._cleaned = self._read_cleaned()
        self._in_peace = (path / CLEAN_SHUTDOWN).exists()
        for deleted_topics in path.glob("*" + _DELETED):
            self.disk.remove_folder(deleted_topics)
        self.adopted = self._strangers()

    def _read_journal(self) -> Saved:
        saved = self._journal.read()
        if saved is None:
            lost = self.cluster_id is not None  # it is written before the directory is ours
            if lost and not self._restore_topics:
                journal = self.path / JOURNAL
                raise DataDirectoryError(
                    f"{journal} is {'empty' if journal.exists() else 'missing'}, and it is the only list of topics; "
                    "restore it from a backup, or start once with --restore-topics to create topics from the "
                    "partition folders"
                )
            return Saved(restoring=lost)
        if self._restore_topics and not saved.restoring:
            self.warnings.append(f"{JOURNAL} is there: --restore-topics has nothing to do")
        return saved

    def _read_cleaned(self) -> dict[str, int]:
        try:
            return read_offsets(self.path / CLEANED)
        except CheckpointError:
            return {}  # compacting a segment again is harmless

    def _strangers(self) -> dict[str, int]:
        """Return topics that have folders but are not in the journal, with their minimum number of partitions.

        In a directory that kohort already owns, such a folder must not become part of a later topic.
        """
        journaled = {
            f"{topic.name}-{index}" for topic in self.saved.topics.values() for index in range(len(topic.partitions))
        }
        counts: dict[str, int] = {}
        for entry in sorted(self.path.iterdir()):
            match = PARTITION.fullmatch(entry.name)
            if match is None or not entry.is_dir() or entry.name in journaled or entry.name in NOT_OURS_TO_SEE:
                continue
            if self.cluster_id is None or self.saved.restoring:
                counts[match["topic"]] = max(counts.get(match["topic"], 0), int(match["index"]) + 1)
            else:
                self._make_way(entry, _topic_id_in(entry), "belongs to no topic there is")
        return counts

    def _make_way(self, folder: Path, owner: UUID | None, reason: str) -> None:
        """Delete the folder of a deleted topic, and rename the folder of an unknown one."""
        if owner is not None and owner in self.saved.deleted:
            self._journal.settle()
            remove_partition(self.disk, folder, owner)
        else:
            self._set_aside(folder, reason)

    def _set_aside(self, folder: Path, reason: str) -> None:
        stray, number = capped(folder, _STRAY), 1
        while stray.exists():
            number += 1
            stray = capped(folder, f"{_STRAY}.{number}")
        self.disk.rename(folder, stray)
        self.warnings.append(f"{folder.name} {reason}; it is kept as {stray.name}")

    def id_of(self, topic: str) -> UUID | None:
        """Return the topic id that most folders of an adopted topic contain, or None."""
        ids: Counter[UUID] = Counter()
        for folder in sorted(self.path.glob(f"{topic}-*")):
            match = PARTITION.fullmatch(folder.name)
            if match is not None and match["topic"] == topic:
                topic_id = _topic_id_in(folder)
                if topic_id is not None:
                    ids[topic_id] += 1
        return ids.most_common(1)[0][0] if ids else None

    def begin(self) -> None:
        """Prepare for writing to the adopted directory.

        Raises:
            OSError: A file operation failed.
        """
        self._journal.begin(self.saved)
        if self._in_peace:
            self.disk.remove(self.path / CLEAN_SHUTDOWN)
            # If it reappeared after a power failure, the next start would not check for incomplete batches.
            Folder(self.disk, self.path).sync()
        for path in (self.path, self.path / LOG_STARTS, self.path / CLEANED):
            self.disk.left_behind(path)

    def begun(self, cluster_id: str, node_id: int) -> None:
        """Record kohort as the owner of the directory; unknown folders become strays.

        Raises:
            OSError: A file operation failed.
        """
        if self.cluster_id is None:
            self.disk.write_whole(self.path / META, meta_properties(cluster_id, node_id), precious=True)
            self.cluster_id = cluster_id
        if self.saved.restoring:
            self._journal.restored()
        if self.delays:
            # Data that an earlier process has not synced is about to be read and must not be lost afterwards.
            for file in self.disk.take_unsynced():
                file.sync()

    # Interface of the topics

    def open(
        self, topic: str, topic_id: UUID, partition: int, producer_expiration_ms: int
    ) -> tuple[Store, Found | None]:
        """Open the store of a partition and read its content.

        Raises:
            DataDirectoryError: The partition cannot be used.
            OSError: A file operation failed.
        """
        name = f"{topic}-{partition}"
        store = PartitionStore(
            self.disk,
            self.path / name,
            topic_id,
            delays=self.delays,
            start_moved=self._noting(self._starts, LOG_STARTS, name),
            clean_moved=self._noting(self._cleaned, CLEANED, name),
        )
        self._stores[name] = store
        is_there = store.folder.is_dir()  # computed once, because a topic can have thousands of partitions
        if is_there and (owner := _topic_id_in(store.folder)) not in (None, topic_id):
            self._make_way(store.folder, owner, "is of another topic of that name")
            is_there = False
        if not is_there:
            self._forget(name)
            return store, None
        recovery = Recovery(
            self.disk, in_peace=self._in_peace, delays=self.delays, producer_expiration_ms=producer_expiration_ms
        )
        try:
            recovered = recovery.open(store.folder, self._starts.get(name, 0), self._cleaned.get(name, 0))
        except OSError as problem:
            raise DataDirectoryError(f"{problem.filename or store.folder}: {problem.strerror or problem}") from None
        except RecoveryError as problem:
            raise DataDirectoryError(str(problem)) from None
        self.warnings += recovered.warnings
        store.adopt(recovered)
        if _topic_id_in(store.folder) is None:
            store.write_metadata()
        for segment in recovered.segments:
            self.disk.left_behind(segment_path(store.folder, segment.base_offset))
        self.disk.left_behind(store.folder)
        return store, recovered

    def _forget(self, name: str) -> None:
        """Remove the checkpoint entries of an earlier, deleted partition with the same name."""
        for offsets, file in ((self._starts, LOG_STARTS), (self._cleaned, CLEANED)):
            if name in offsets:
                self._write_offsets(file, {other: offset for other, offset in offsets.items() if other != name})
                del offsets[name]  # only now: if the file could not be written, it would be in the way later

    def _noting(self, offsets: dict[str, int], file: str, name: str) -> Callable[[int], None]:
        def note(offset: int) -> None:
            self._noted = True
            if offsets.get(name) != offset:
                self._write_offsets(file, {**offsets, name: offset})
                offsets[name] = offset

        return note

    def _write_offsets(self, file: str, offsets: dict[str, int]) -> None:
        # Log start offsets are stored nowhere else; compacting a segment again is harmless.
        self.disk.write_whole(self.path / file, offsets_checkpoint(offsets), precious=file == LOG_STARTS)

    def topic_changed(
        self, name: str, topic_id: UUID, configs: dict[str, str], partitions: Iterable[tuple[tuple[int, ...], int]]
    ) -> None:
        self._noted = True
        self._journal.topic(
            SavedTopic(name, topic_id, configs, [SavedPartition(*partition) for partition in partitions])
        )

    def partition_moved(self, topic_id: UUID, index: int, replicas: tuple[int, ...], leader_epoch: int) -> None:
        self._journal.partition(topic_id, index, replicas, leader_epoch)

    def topic_deleted(self, name: str, topic_id: UUID, partitions: int) -> None:
        self._noted = True
        on_disk = self._journal.deleted(topic_id)
        for index in range(partitions):
            store = self._stores.pop(f"{name}-{index}", None)
            if store is not None and not on_disk:
                store.leaves_files()

    def group_changed(self, group_id: str, configs: Mapping[str, str]) -> None:
        """Persist the configurations of a group."""
        self._noted = True
        self._journal.group(group_id, configs)

    def feature_changed(self, name: str, level: int, epoch: int) -> None:
        """Persist the level of a feature."""
        self._noted = True
        self._journal.feature(name, level, epoch)

    def acls_changed(self, added: Iterable[SavedAcl], removed: Iterable[SavedAcl]) -> None:
        """Persist added or removed ACLs; one of the two is empty.

        Raises:
            OSError: The change cannot be stored and has no effect.
        """
        self._noted = True
        self._journal.acls(added, removed)

    def scram_changed(self, user: str, mechanism: int, scram: SavedScram | None) -> None:
        """Persist or remove a user's SCRAM credential."""
        self._noted = True
        self._journal.scram(user, mechanism, scram)

    def producer_ids(self, next_producer_id: int) -> None:
        self._noted = True
        self._journal.producer_ids(next_producer_id)

    def take_noted(self) -> bool:
        """Return whether metadata was written since the last call."""
        noted, self._noted = self._noted, False
        return noted

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.release()

    def abandon(self) -> None:
        """Mark the shutdown as unclean, so that the next start verifies everything."""
        self._closed = True
        self._unlock()

    def close(self) -> None:
        """Write all pending files and close the directory.

        Raises:
            OSError: A file operation failed.
        """
        if self._closed:
            return
        self._closed = True
        try:
            for file in self.disk.take_unsynced():
                file.sync()
            for store in self._stores.values():  # indexes only contain synced offsets
                store.close()
            if self.trusted:
                self.disk.write_whole(self.path / CLEAN_SHUTDOWN, b"")
            self._journal.close()
        finally:
            self._unlock()


def _topic_id_in(folder: Path) -> UUID | None:
    try:
        return read_partition_metadata(folder)
    except CheckpointError:
        return None  # the file is only used by tools, so it is not worth an error
