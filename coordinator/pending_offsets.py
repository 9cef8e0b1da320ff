"""Offsets that were committed in a transaction which is still open (KIP-447; spec §7.3).

Nobody sees them before the transaction ends; who insists on stable offsets waits for that. Of a plain commit and a
transaction's the later one in the log counts, whenever the transaction ends.
Source: Kafka's `OffsetMetadataManager`, `pendingTransactionalOffsets`.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kohort.coordinator.offsets import CommittedOffset

if TYPE_CHECKING:
    from kohort.coordinator.coordinator import GroupCoordinator

Place = tuple[str, int]
"""Topic and partition."""


class PendingOffsets:
    """Of one group, by producer and partition. None: a plain commit, or a deletion, came later."""

    __slots__ = ("_by_producer",)

    def __init__(self) -> None:
        self._by_producer: dict[int, dict[Place, CommittedOffset | None]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_producer)

    def __contains__(self, place: Place) -> bool:
        """Whether the offset of a partition is undecided."""
        return any(place in offsets for offsets in self._by_producer.values())

    def __iter__(self) -> Iterator[Place]:
        """The partitions whose offsets are undecided."""
        return iter({place for offsets in self._by_producer.values() for place in offsets})

    def put(self, producer_id: int, place: Place, committed: CommittedOffset) -> None:
        """A transaction commits an offset."""
        self._by_producer.setdefault(producer_id, {})[place] = committed

    def overtake(self, place: Place) -> None:
        """A plain commit of the partition was written: it counts, whatever becomes of the transactions before it."""
        for offsets in self._by_producer.values():
            if place in offsets:
                offsets[place] = None

    def remove(self, place: Place) -> None:
        """The offset was deleted, the undecided one too."""
        for producer_id, offsets in list(self._by_producer.items()):
            if place in offsets:
                del offsets[place]
                if not offsets:
                    del self._by_producer[producer_id]

    def end(self, producer_id: int) -> dict[Place, CommittedOffset | None]:
        """What a transaction committed, which is decided now."""
        return self._by_producer.pop(producer_id, {})

    @property
    def producers(self) -> list[int]:
        """Whose transactions are open."""
        return list(self._by_producer)


def complete(coordinator: "GroupCoordinator", partition: int, producer_id: int, committed: bool, now_ms: int) -> None:
    """A transaction has ended in a partition of `__consumer_offsets`: its offsets count, or are forgotten."""
    for group_id in coordinator.open_transactions.pop((partition, producer_id), ()):
        group = coordinator.groups.get(group_id)
        if group is None or group.pending_offsets is None:
            continue  # it was deleted meanwhile
        ended = group.pending_offsets.end(producer_id)
        if not group.pending_offsets:
            group.pending_offsets = None
        if committed:
            for (topic, index), offset in ended.items():
                if offset is not None:
                    group.committed_offsets().put(topic, index, offset)
