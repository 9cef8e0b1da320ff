"""Stores for segments: in memory, or in the files of a directory (disk/).

log.py decides when a segment starts, which segments are dropped and what a compaction keeps; a store carries it out.
"""

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol
from uuid import UUID

from kohort.storage.producers import Producers
from kohort.storage.segment import Chunk, MemorySegment, Segment

Epochs = tuple[tuple[int, int], ...]  # leader epochs and their start offsets, in order


class Merged(NamedTuple):
    """Adjacent segments that a compaction combines to one, and the batches that it keeps."""

    segments: list[Segment]
    chunks: list[Chunk]


@dataclass(slots=True, eq=False, repr=False)
class Found:
    """Content of a log when its store was opened."""

    segments: list[Segment]
    log_start_offset: int
    epochs: Epochs
    producers: Producers | None = None  # None if no producer has state
    warnings: list[str] = field(default_factory=list)  # repairs, one sentence each


class Store(Protocol):
    """Interface of the place where a log is kept. Every method can raise OSError, and has then changed nothing."""

    in_memory: bool  # Whether to keep segments small, so that memory is freed early.
    delays: bool  # Whether records become readable only after `PartitionLog.synced`.

    def new_segment(self, base_offset: int, created_at_ms: int, *, alone: bool = False) -> Segment:
        """Create an empty segment. With `alone` all earlier segments are dropped."""
        ...

    def synced(self, offset: int) -> None:
        """Notify the store that records before `offset` are on disk. Must not raise."""
        ...

    def dropped(self, segments: Sequence[Segment]) -> None:
        """Remove segments that do not belong to the log any more."""
        ...

    def epochs_changed(self, epochs: Epochs) -> None:
        """Record that a leader epoch started or old ones were dropped."""
        ...

    def start_moved(self, log_start_offset: int) -> None:
        """Record the new log start offset; earlier records are deleted."""
        ...

    def removed(self) -> None:
        """Remove the log, because its topic is deleted."""
        ...

    def write_merged(self, merged: Sequence[Merged]) -> Generator[None, None, list[Segment]]:
        """Prepare one segment for each element of `merged`, in slices, without replacing anything yet."""
        ...

    def put_merged(self, merged: Sequence[Merged], new_segments: Sequence[Segment]) -> None:
        """Replace the original segments by those that `write_merged` has prepared."""
        ...


class MemoryStore:
    """Keeps segments in memory. It has no state, so one instance serves all logs."""

    in_memory = True
    delays = False

    def new_segment(self, base_offset: int, created_at_ms: int, *, alone: bool = False) -> Segment:
        return MemorySegment(base_offset, created_at_ms)

    def synced(self, offset: int) -> None:
        pass

    def dropped(self, segments: Sequence[Segment]) -> None:
        pass

    def epochs_changed(self, epochs: Epochs) -> None:
        pass

    def start_moved(self, log_start_offset: int) -> None:
        pass

    def removed(self) -> None:
        pass

    def write_merged(self, merged: Sequence[Merged]) -> Generator[None, None, list[Segment]]:
        """Return the first segment of each group; `put_merged` replaces its content."""
        yield from ()
        return [group.segments[0] for group in merged]

    def put_merged(self, merged: Sequence[Merged], new_segments: Sequence[Segment]) -> None:
        for replaced, segment in zip(merged, new_segments, strict=True):
            assert isinstance(segment, MemorySegment), "this store has made no others"
            segment.replace(replaced.chunks)
            segment.next_offset = replaced.segments[-1].next_offset


IN_MEMORY: Final = MemoryStore()


class Storage(Protocol):
    """Interface of the place where the topics of a cluster are kept. Every method can raise OSError."""

    def open(
        self, topic: str, topic_id: UUID, partition: int, producer_expiration_ms: int
    ) -> tuple[Store, Found | None]:
        """Return the store of a partition, and the content that it already has."""
        ...

    def topic_changed(
        self, name: str, topic_id: UUID, configs: dict[str, str], partitions: Iterable[tuple[tuple[int, ...], int]]
    ) -> None:
        """Record a created or changed topic, with replicas and leader epoch of each partition."""
        ...

    def partition_moved(self, topic_id: UUID, index: int, replicas: tuple[int, ...], leader_epoch: int) -> None:
        """Record a partition's new leader or replicas."""
        ...

    def topic_deleted(self, name: str, topic_id: UUID, partitions: int) -> None:
        """Record that a topic is about to be deleted."""
        ...

    def producer_ids(self, next_producer_id: int) -> None:
        """Record that ids below this one may be in use."""
        ...


class MemoryStorage:
    """Keeps everything in memory; the topics themselves are the only state."""

    def open(
        self, topic: str, topic_id: UUID, partition: int, producer_expiration_ms: int
    ) -> tuple[Store, Found | None]:
        return IN_MEMORY, None

    def topic_changed(
        self, name: str, topic_id: UUID, configs: dict[str, str], partitions: Iterable[tuple[tuple[int, ...], int]]
    ) -> None:
        pass

    def partition_moved(self, topic_id: UUID, index: int, replicas: tuple[int, ...], leader_epoch: int) -> None:
        pass

    def topic_deleted(self, name: str, topic_id: UUID, partitions: int) -> None:
        pass

    def producer_ids(self, next_producer_id: int) -> None:
        pass
