"""Offsets committed in transactions that are still open (KIP-447; classic-groups §7.3).

They are invisible until the transaction ends; clients that require stable offsets wait for that. Of several commits,
with or without a transaction, the last one in the log is valid, in whatever order the transactions end.
Source: Kafka's `OffsetMetadataManager`, `pendingTransactionalOffsets`, which compares positions of records.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kohort.coordinator.offsets.offsets import CommittedOffset
from kohort.protocol.topic_partition import TopicPartition


class _Pending(NamedTuple):
    order: int  # increases with each commit, like offsets in the log
    committed: CommittedOffset | None  # None if a later commit is already valid


class PendingOffsets:
    """Offsets of a group in open transactions, by producer and partition."""

    __slots__ = ("_by_producer", "_last_order")

    def __init__(self) -> None:
        self._by_producer: dict[int, dict[TopicPartition, _Pending]] = {}
        self._last_order = 0

    def __bool__(self) -> bool:
        return bool(self._by_producer)

    def __contains__(self, topic_partition: TopicPartition) -> bool:
        return any(topic_partition in offsets for offsets in self._by_producer.values())

    def __iter__(self) -> Iterator[TopicPartition]:
        return iter({topic_partition for offsets in self._by_producer.values() for topic_partition in offsets})

    def put(self, producer_id: int, topic_partition: TopicPartition, committed: CommittedOffset | None) -> None:
        """Store an offset that a transaction commits, in place of its earlier one for the partition.

        Args:
            committed: None if a later commit has superseded it already, as a log may contain.
        """
        self._last_order += 1
        self._by_producer.setdefault(producer_id, {})[topic_partition] = _Pending(self._last_order, committed)

    def put_all(self, producer_id: int, committed: Mapping[TopicPartition, CommittedOffset]) -> None:
        self._last_order = order = self._last_order + 1
        offsets = self._by_producer.setdefault(producer_id, {})
        offsets.update((topic_partition, _Pending(order, offset)) for topic_partition, offset in committed.items())

    def overtake(self, topic_partition: TopicPartition) -> None:
        """Invalidate earlier offsets of open transactions after a plain commit of the partition was written."""
        self._overtake(topic_partition, self._last_order + 1)

    def _overtake(self, topic_partition: TopicPartition, order: int) -> None:
        for offsets in self._by_producer.values():
            pending = offsets.get(topic_partition)
            if pending is not None and pending.order < order:
                offsets[topic_partition] = _Pending(pending.order, None)

    def remove(self, topic_partition: TopicPartition) -> None:
        for producer_id, offsets in list(self._by_producer.items()):
            if topic_partition in offsets:
                del offsets[topic_partition]
                if not offsets:
                    del self._by_producer[producer_id]

    def end(self, producer_id: int, *, committed: bool) -> dict[TopicPartition, CommittedOffset]:
        """End a transaction. Return its offsets that are valid from now on."""
        ended = self._by_producer.pop(producer_id, {})
        if not committed:
            return {}
        for topic_partition, pending in ended.items():
            if pending.committed is not None:
                self._overtake(topic_partition, pending.order)
        return {key: pending.committed for key, pending in ended.items() if pending.committed is not None}

    @property
    def producers(self) -> list[int]:
        """Producer ids of the open transactions."""
        return list(self._by_producer)
