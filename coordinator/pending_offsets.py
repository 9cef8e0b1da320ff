"""Offsets that were committed in a transaction which is still open (KIP-447; classic-groups §7.3).

Nobody sees them before the transaction ends; who insists on stable offsets waits for that. Of several commits, plain or
in transactions, the last one in the log counts, in whatever order the transactions end.
Source: Kafka's `OffsetMetadataManager`, `pendingTransactionalOffsets`, which compares where the records stand.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kohort.coordinator.offsets import CommittedOffset
from kohort.protocol.topic_partition import TopicPartition


class _Pending(NamedTuple):
    order: int
    """Grows with each commit, as offsets in the log do."""
    committed: CommittedOffset | None
    """None: a commit that came later counts already."""


class PendingOffsets:
    """The offsets of one group in open transactions, by producer and partition."""

    __slots__ = ("_by_producer", "_last_order")

    def __init__(self) -> None:
        self._by_producer: dict[int, dict[TopicPartition, _Pending]] = {}
        self._last_order = 0

    def __bool__(self) -> bool:
        return bool(self._by_producer)

    def __contains__(self, topic_partition: TopicPartition) -> bool:
        """Whether the offset of a partition is undecided."""
        return any(topic_partition in offsets for offsets in self._by_producer.values())

    def __iter__(self) -> Iterator[TopicPartition]:
        """The partitions whose offsets are undecided."""
        return iter({topic_partition for offsets in self._by_producer.values() for topic_partition in offsets})

    def put(self, producer_id: int, topic_partition: TopicPartition, committed: CommittedOffset | None) -> None:
        """A transaction commits an offset, in place of what it has committed for the partition before.

        None: one that a later commit has overtaken already, as a log may show.
        """
        self._last_order += 1
        self._by_producer.setdefault(producer_id, {})[topic_partition] = _Pending(self._last_order, committed)

    def put_all(self, producer_id: int, committed: Mapping[TopicPartition, CommittedOffset]) -> None:
        """A transaction commits several offsets with one write."""
        self._last_order = order = self._last_order + 1
        offsets = self._by_producer.setdefault(producer_id, {})
        offsets.update((topic_partition, _Pending(order, each)) for topic_partition, each in committed.items())

    def overtake(self, topic_partition: TopicPartition) -> None:
        """A plain commit of the partition was written: it counts, whatever becomes of the transactions before it."""
        self._overtake(topic_partition, self._last_order + 1)

    def _overtake(self, topic_partition: TopicPartition, order: int) -> None:
        for offsets in self._by_producer.values():
            pending = offsets.get(topic_partition)
            if pending is not None and pending.order < order:
                offsets[topic_partition] = _Pending(pending.order, None)

    def remove(self, topic_partition: TopicPartition) -> None:
        """The offset was deleted, the undecided one too."""
        for producer_id, offsets in list(self._by_producer.items()):
            if topic_partition in offsets:
                del offsets[topic_partition]
                if not offsets:
                    del self._by_producer[producer_id]

    def end(self, producer_id: int, *, committed: bool) -> dict[TopicPartition, CommittedOffset]:
        """A transaction has ended. Returns what of it counts from now on."""
        ended = self._by_producer.pop(producer_id, {})
        if not committed:
            return {}
        for topic_partition, pending in ended.items():
            if pending.committed is not None:
                self._overtake(topic_partition, pending.order)
        return {each: pending.committed for each, pending in ended.items() if pending.committed is not None}

    @property
    def producers(self) -> list[int]:
        """Whose transactions are open."""
        return list(self._by_producer)
