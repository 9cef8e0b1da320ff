"""Offsets that were committed in a transaction which is still open (KIP-447; classic-groups §7.3).

Nobody sees them before the transaction ends; who insists on stable offsets waits for that. Of several commits, plain or
in transactions, the last one in the log counts, in whatever order the transactions end.
Source: Kafka's `OffsetMetadataManager`, `pendingTransactionalOffsets`, which compares where the records stand.
"""

from collections.abc import Iterator
from typing import NamedTuple

from kohort.coordinator.offsets import CommittedOffset

Place = tuple[str, int]
"""Topic and partition."""


class _Pending(NamedTuple):
    order: int
    """Grows with each commit, as offsets in the log do."""
    committed: CommittedOffset | None
    """None: a commit that came later counts already."""


class PendingOffsets:
    """Of one group, by producer and partition."""

    __slots__ = ("_by_producer", "_last_order")

    def __init__(self) -> None:
        self._by_producer: dict[int, dict[Place, _Pending]] = {}
        self._last_order = 0

    def __bool__(self) -> bool:
        return bool(self._by_producer)

    def __contains__(self, place: Place) -> bool:
        """Whether the offset of a partition is undecided."""
        return any(place in offsets for offsets in self._by_producer.values())

    def __iter__(self) -> Iterator[Place]:
        """The partitions whose offsets are undecided."""
        return iter({place for offsets in self._by_producer.values() for place in offsets})

    def put(self, producer_id: int, place: Place, committed: CommittedOffset | None) -> None:
        """A transaction commits an offset, in place of what it has committed for the partition before.

        None: one that a later commit has overtaken already, as a log may tell.
        """
        self._last_order += 1
        self._by_producer.setdefault(producer_id, {})[place] = _Pending(self._last_order, committed)

    def overtake(self, place: Place) -> None:
        """A plain commit of the partition was written: it counts, whatever becomes of the transactions before it."""
        self._overtake(place, self._last_order + 1)

    def _overtake(self, place: Place, order: int) -> None:
        for offsets in self._by_producer.values():
            pending = offsets.get(place)
            if pending is not None and pending.order < order:
                offsets[place] = _Pending(pending.order, None)

    def remove(self, place: Place) -> None:
        """The offset was deleted, the undecided one too."""
        for producer_id, offsets in list(self._by_producer.items()):
            if place in offsets:
                del offsets[place]
                if not offsets:
                    del self._by_producer[producer_id]

    def end(self, producer_id: int, *, committed: bool) -> dict[Place, CommittedOffset]:
        """A transaction has ended. Returns what of it counts from now on."""
        ended = self._by_producer.pop(producer_id, {})
        if not committed:
            return {}
        for place, pending in ended.items():
            if pending.committed is not None:
                self._overtake(place, pending.order)
        return {place: pending.committed for place, pending in ended.items() if pending.committed is not None}

    @property
    def producers(self) -> list[int]:
        """Whose transactions are open."""
        return list(self._by_producer)
