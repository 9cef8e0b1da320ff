"""A data directory: one folder for each partition, as Kafka has them, and what is to be known of all of them.

    meta.properties                  whose directory this is
    topics.jsonl                     the topics (journal.py)
    log-start-offset-checkpoint      where logs start whose beginning somebody has deleted
    cleaner-offset-checkpoint        how far logs are compacted
    .lock                            held by the one process that writes here
    .kohort_cleanshutdown            the last one was stopped, and did not die
    orders-0/                        segments, indexes, leader-epoch-checkpoint, partition.metadata

A directory that holds nothing but folders of partitions is taken over: so one looks into logs that Apache Kafka wrote.
One of ours that has lost its `topics.jsonl` is taken over in the same way, if somebody asks for it.
Source of the layout: Kafka's `LogManager`, `UnifiedLog`, `MetaProperties`.
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
_STRAY = "-stray"
"""Endings of folders that are about to go, and of such that nobody knows (Kafka: `UnifiedLog.StrayDirSuffix`)."""

BEFORE_META = frozenset(name + ending for name in (META, JOURNAL, LOG_STARTS, CLEANED) for ending in ("", ".tmp"))
"""What a first start may leave that dies before it is through: the last it writes is `meta.properties`."""


class DataDirectory:
    """The logs of a broker on disk. One process at a time has it open."""

    def __init__(
        self, path: Path, *, disk: Disk | None = None, delays: bool = False, restore_topics: bool = False
    ) -> None:
        """Opens it, and makes it if there is nothing. `delays`: what is appended is read once it is synced.

        `restore_topics`: topics are made of the folders that are there, if `topics.jsonl` is lost.

        Raises DataDirectoryError; nothing has been changed then.
        """
        self.path = path
        self.disk = disk if disk is not None else Disk()
        self.delays = delays
        self.warnings: list[str] = []
        """What had to be mended, and what else whoever starts a broker should read."""
        self.cluster_id: str | None = None
        """The id of the cluster that wrote here; None: none has yet."""
        self.trusted = True
        """Whether nothing is known to have gone wrong with what was synced; else the next start looks at everything."""
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
        for gone in path.glob("*" + _DELETED):
            self.disk.remove_folder(gone)
        self.adopted = self._strangers()

    def _read_journal(self) -> Saved:
        saved = self._journal.read()
        if saved is None:
            lost = self.cluster_id is not None  # it is written before the directory is ours
            if lost and not self._restore_topics:
                journal = self.path / JOURNAL
                raise DataDirectoryError(
                    f"{journal} is {'empty' if journal.exists() else 'missing'}, and nothing else says which topics "
                    "there are; put it back from a copy, or start once with --restore-topics, which makes topics of "
                    "the folders that are there"
                )
            return Saved(restoring=lost)
        if self._restore_topics and not saved.restoring:
            self.warnings.append(f"{JOURNAL} is there: --restore-topics has nothing to do")
        return saved

    def _read_cleaned(self) -> dict[str, int]:
        try:
            return read_offsets(self.path / CLEANED)
        except CheckpointError:
            return {}  # what is compacted once more than needed is no loss

    def _strangers(self) -> dict[str, int]:
        """Topics that have folders here and that the journal does not name, and how many partitions they have at least.

        In a directory that is ours already such a folder is not to be taken for part of a topic that comes later.
        """
        known = {
            f"{topic.name}-{index}" for topic in self.saved.topics.values() for index in range(len(topic.partitions))
        }
        found: dict[str, int] = {}
        for each in sorted(self.path.iterdir()):
            match = PARTITION.fullmatch(each.name)
            if match is None or not each.is_dir() or each.name in known or each.name in NOT_OURS_TO_SEE:
                continue
            if self.cluster_id is None or self.saved.restoring:
                found[match["topic"]] = max(found.get(match["topic"], 0), int(match["index"]) + 1)
            else:
                self._make_way(each, _topic_id_in(each), "belongs to no topic there is")
        return found

    def _make_way(self, folder: Path, owner: UUID | None, why: str) -> None:
        """A folder that is of no topic there is goes if its topic was deleted, and is set aside otherwise."""
        if owner is not None and owner in self.saved.deleted:
            self._journal.settle()
            remove_partition(self.disk, folder, owner)
        else:
            self._set_aside(folder, why)

    def _set_aside(self, folder: Path, why: str) -> None:
        stray, number = capped(folder, _STRAY), 1
        while stray.exists():
            number += 1
            stray = capped(folder, f"{_STRAY}.{number}")
        self.disk.rename(folder, stray)
        self.warnings.append(f"{folder.name} {why}; it is kept as {stray.name}")

    def id_of(self, topic: str) -> UUID | None:
        """The id that most folders of an adopted topic hold; None: they hold none."""
        ids: Counter[UUID] = Counter()
        for each in sorted(self.path.glob(f"{topic}-*")):
            match = PARTITION.fullmatch(each.name)
            if match is not None and match["topic"] == topic:
                topic_id = _topic_id_in(each)
                if topic_id is not None:
                    ids[topic_id] += 1
        return ids.most_common(1)[0][0] if ids else None

    def begin(self) -> None:
        """What was found is about to be taken over: it is written to from here on. Raises OSError."""
        self._journal.begin(self.saved)
        if self._in_peace:
            self.disk.remove(self.path / CLEAN_SHUTDOWN)
            # Should it come back with the power, nobody would look for what was torn.
            Folder(self.disk, self.path).sync()
        for path in (self.path, self.path / LOG_STARTS, self.path / CLEANED):
            self.disk.left_behind(path)

    def begun(self, cluster_id: str, node_id: int) -> None:
        """Everything is taken over: from here on this is ours, and folders that nobody knows are strays.

        Raises OSError.
        """
        if self.cluster_id is None:
            self.disk.write_whole(self.path / META, meta_properties(cluster_id, node_id), precious=True)
            self.cluster_id = cluster_id
        if self.saved.restoring:
            self._journal.restored()
        if self.delays:
            # What another process has left unsynced is about to be read: from then on it must not go.
            for each in self.disk.take_unsynced():
                each.sync()

    # What the topics ask

    def open(
        self, topic: str, topic_id: UUID, partition: int, producer_expiration_ms: int
    ) -> tuple[Store, Found | None]:
        """Where a partition is kept, and what is there already.

        Raises DataDirectoryError for what cannot be used, OSError for what cannot be written.
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
        is_there = store.folder.is_dir()  # asked once: a topic may have thousands of partitions
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
            found = recovery.open(store.folder, self._starts.get(name, 0), self._cleaned.get(name, 0))
        except OSError as problem:
            raise DataDirectoryError(f"{problem.filename or store.folder}: {problem.strerror or problem}") from None
        except RecoveryError as problem:
            raise DataDirectoryError(str(problem)) from None
        self.warnings += found.warnings
        store.found(found)
        if _topic_id_in(store.folder) is None:
            store.write_metadata()
        for segment in found.segments:
            self.disk.left_behind(segment_path(store.folder, segment.base_offset))
        self.disk.left_behind(store.folder)
        return store, found

    def _forget(self, name: str) -> None:
        """A partition begins anew. What is noted of it is of an earlier one of that name, which was deleted."""
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
        # Where logs start is known from nowhere else; what is compacted once more than needed is no loss.
        self.disk.write_whole(self.path / file, offsets_checkpoint(offsets), precious=file == LOG_STARTS)

    def topic_changed(
        self, name: str, topic_id: UUID, configs: dict[str, str], partitions: Iterable[tuple[tuple[int, ...], int]]
    ) -> None:
        """A topic was created or changed. `partitions`: replicas and leader epoch of each. Raises OSError."""
        self._noted = True
        self._journal.topic(SavedTopic(name, topic_id, configs, [SavedPartition(*each) for each in partitions]))

    def partition_moved(self, topic_id: UUID, index: int, replicas: tuple[int, ...], leader_epoch: int) -> None:
        """A partition has another leader, or other replicas. Raises OSError."""
        self._journal.partition(topic_id, index, replicas, leader_epoch)

    def topic_deleted(self, name: str, topic_id: UUID, partitions: int) -> None:
        """A topic is about to go. Raises OSError, and then it is still there."""
        self._noted = True
        on_disk = self._journal.deleted(topic_id)
        for index in range(partitions):
            store = self._stores.pop(f"{name}-{index}", None)
            if store is not None and not on_disk:
                store.leaves_files()

    def group_changed(self, group_id: str, configs: Mapping[str, str]) -> None:
        """A group has these settings now. Raises OSError."""
        self._noted = True
        self._journal.group(group_id, configs)

    def feature_changed(self, name: str, level: int, epoch: int) -> None:
        """A feature of the cluster has another level. Raises OSError."""
        self._noted = True
        self._journal.feature(name, level, epoch)

    def acls_changed(self, added: Iterable[SavedAcl], removed: Iterable[SavedAcl]) -> None:
        """ACLs are made, or taken away: one of the two is empty. Raises OSError, and then nothing has changed."""
        self._noted = True
        self._journal.acls(added, removed)

    def scram_changed(self, user: str, mechanism: int, scram: SavedScram | None) -> None:
        """A user has this SCRAM credential of a mechanism now, or none. Raises OSError."""
        self._noted = True
        self._journal.scram(user, mechanism, scram)

    def producer_ids(self, next_producer_id: int) -> None:
        """Ids below this one may have been handed out. Raises OSError."""
        self._noted = True
        self._journal.producer_ids(next_producer_id)

    def take_noted(self) -> bool:
        """Whether something was written since the last time that is in no log."""
        noted, self._noted = self._noted, False
        return noted

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.release()

    def abandon(self) -> None:
        """The broker does not go on, whatever the reason: the next one looks at everything closely."""
        self._closed = True
        self._unlock()

    def close(self) -> None:
        """The broker is stopped: everything is written. Raises OSError."""
        if self._closed:
            return
        self._closed = True
        try:
            for each in self.disk.take_unsynced():
                each.sync()
            for store in self._stores.values():  # what indexes name has been on the disk
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
        return None  # nobody is asked to mend what only gives tools a name
