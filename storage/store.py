"""Where a log keeps its segments: in memory, or in the files of a directory (disk/).

log.py decides when a segment begins, which are forgotten and what a compaction leaves; a store makes that so.
"""

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol
from uuid import UUID

from kohort.storage.producers import Producers
from kohort.storage.segment import Chunk, MemorySegment, Segment

Epochs = tuple[tuple[int, int], ...]
"""Leader epochs and the offset at which each began, in order."""


class Merged(NamedTuple):
    """Neighbouring segments that a compaction makes one of, and what it leaves of them."""

    segments: list[Segment]
    chunks: list[Chunk]


@dataclass(slots=True, eq=False, repr=False)
class Found:
    """What a log was found to hold when its store was opened."""

    segments: list[Segment]
    log_start_offset: int
    epochs: Epochs
    producers: Producers | None = None
    """Those who wrote the records; None: nobody who wants to be remembered."""
    warnings: list[str] = field(default_factory=list)
    """What had to be mended, one sentence each."""


class Store(Protocol):
    """What a log asks of the place where it is kept. Everything may raise OSError, and then has changed nothing."""

    in_memory: bool
    """Whether room is dear: segments are kept small then, so that it comes back soon."""
    delays: bool
    """Whether what is appended may be read only once `PartitionLog.synced` says so."""

    def new_segment(self, base_offset: int, created_at_ms: int, *, alone: bool = False) -> Segment:
        """An empty segment. `alone`: nothing before it stays."""
        ...

    def synced(self, offset: int) -> None:
        """What lies before `offset` would survive the machine. Raises nothing."""
        ...

    def dropped(self, segments: Sequence[Segment]) -> None:
        """These are not part of the log any more."""
        ...

    def epochs_changed(self, epochs: Epochs) -> None:
        """A leader epoch began, or old ones were forgotten."""
        ...

    def start_moved(self, log_start_offset: int) -> None:
        """The log starts at this offset now: what lies before it is deleted."""
        ...

    def removed(self) -> None:
        """The log is gone, with its topic."""
        ...

    def write_merged(self, merged: Sequence[Merged]) -> Generator[None, None, list[Segment]]:
        """Prepares one segment for each of `merged`, a little at a step; nothing is put in the place of anything."""
        ...

    def put_merged(self, merged: Sequence[Merged], made: Sequence[Segment]) -> None:
        """Puts what `write_merged` has made in the place of the segments that it was made of."""
        ...


class MemoryStore:
    """Keeps segments in memory. It knows nothing of a log, so that one serves all."""

    in_memory = True
    delays = False

    def new_segment(self, base_offset: int, created_at_ms: int, *, alone: bool = False) -> Segment:
        """An empty segment; see `Store`."""
        return MemorySegment(base_offset, created_at_ms)

    def synced(self, offset: int) -> None:
        """Memory does not survive; see `Store`."""

    def dropped(self, segments: Sequence[Segment]) -> None:
        """They are gone with the last who reads them; see `Store`."""

    def epochs_changed(self, epochs: Epochs) -> None:
        """The log remembers them; see `Store`."""

    def start_moved(self, log_start_offset: int) -> None:
        """The log remembers it; see `Store`."""

    def removed(self) -> None:
        """The log forgets everything; see `Store`."""

    def write_merged(self, merged: Sequence[Merged]) -> Generator[None, None, list[Segment]]:
        """The first segment of each takes in the others when it is put in their place; see `Store`."""
        yield from ()
        return [each.segments[0] for each in merged]

    def put_merged(self, merged: Sequence[Merged], made: Sequence[Segment]) -> None:
        """Replaces what the segments hold; see `Store`."""
        for each, segment in zip(merged, made, strict=True):
            assert isinstance(segment, MemorySegment), "this store has made no others"
            segment.replace(each.chunks)
            segment.next_offset = each.segments[-1].next_offset


IN_MEMORY: Final = MemoryStore()


class Storage(Protocol):
    """What the topics of a cluster ask of the place where they are kept. Everything may raise OSError."""

    def open(
        self, topic: str, topic_id: UUID, partition: int, producer_expiration_ms: int
    ) -> tuple[Store, Found | None]:
        """Where a partition is kept, and what is there of it already."""
        ...

    def topic_changed(
        self, name: str, topic_id: UUID, configs: dict[str, str], partitions: Iterable[tuple[tuple[int, ...], int]]
    ) -> None:
        """A topic was created or changed. `partitions`: replicas and leader epoch of each."""
        ...

    def partition_moved(self, topic_id: UUID, index: int, replicas: tuple[int, ...], leader_epoch: int) -> None:
        """A partition has another leader, or other replicas."""
        ...

    def topic_deleted(self, name: str, topic_id: UUID, partitions: int) -> None:
        """A topic is about to go."""
        ...

    def producer_ids(self, next_producer_id: int) -> None:
        """Ids below this one may have been handed out."""
        ...


class MemoryStorage:
    """Keeps everything in memory, where the topics themselves are what is known of them."""

    def open(
        self, topic: str, topic_id: UUID, partition: int, producer_expiration_ms: int
    ) -> tuple[Store, Found | None]:
        """The one store for all; see `Storage`."""
        return IN_MEMORY, None

    def topic_changed(
        self, name: str, topic_id: UUID, configs: dict[str, str], partitions: Iterable[tuple[tuple[int, ...], int]]
    ) -> None:
        """See `Storage`."""

    def partition_moved(self, topic_id: UUID, index: int, replicas: tuple[int, ...], leader_epoch: int) -> None:
        """See `Storage`."""

    def topic_deleted(self, name: str, topic_id: UUID, partitions: int) -> None:
        """See `Storage`."""

    def producer_ids(self, next_producer_id: int) -> None:
        """See `Storage`."""
