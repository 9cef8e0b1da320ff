"""What a group has committed."""

from collections.abc import Iterator
from uuid import UUID

from kohort.coordinator.records import OffsetValue, offset_key

NO_EXPIRY = -1


class CommittedOffset:
    """One partition's offset as last committed. Times are wall clock milliseconds."""

    __slots__ = ("commit_timestamp_ms", "expire_timestamp_ms", "leader_epoch", "metadata", "offset", "topic_id")

    def __init__(
        self,
        offset: int,
        leader_epoch: int,
        metadata: str,
        commit_timestamp_ms: int,
        expire_timestamp_ms: int,
        topic_id: UUID | None,
    ) -> None:
        self.offset = offset
        self.leader_epoch = leader_epoch
        self.metadata = metadata
        self.commit_timestamp_ms = commit_timestamp_ms
        self.expire_timestamp_ms = expire_timestamp_ms
        """-1: as long as the broker keeps offsets (spec §7.6)."""
        self.topic_id = topic_id

    @classmethod
    def of(cls, value: OffsetValue) -> "CommittedOffset":
        """As a record tells it."""
        return cls(
            value.offset,
            value.leader_epoch,
            value.metadata,
            value.commit_timestamp_ms,
            value.expire_timestamp_ms,
            value.topic_id,
        )


class GroupOffsets:
    """A group's offsets, by topic and partition."""

    __slots__ = ("topics",)

    def __init__(self) -> None:
        self.topics: dict[str, dict[int, CommittedOffset]] = {}

    def __bool__(self) -> bool:
        return bool(self.topics)

    def get(self, topic: str, partition: int) -> CommittedOffset | None:
        """The offset of one partition, if there is one."""
        partitions = self.topics.get(topic)
        return None if partitions is None else partitions.get(partition)

    def put(self, topic: str, partition: int, committed: CommittedOffset) -> None:
        """Keeps an offset in place of an earlier one."""
        partitions = self.topics.get(topic)
        if partitions is None:
            partitions = self.topics[topic] = {}
        partitions[partition] = committed

    def remove(self, topic: str, partition: int) -> None:
        """Forgets an offset; one that is not there is no matter."""
        partitions = self.topics.get(topic)
        if partitions is not None:
            partitions.pop(partition, None)
            if not partitions:
                del self.topics[topic]

    def __iter__(self) -> Iterator[tuple[str, int, CommittedOffset]]:
        for topic, partitions in self.topics.items():
            for partition, committed in partitions.items():
                yield topic, partition, committed


def tombstones(group_id: str, offsets: list[tuple[str, int]]) -> list[tuple[bytes, bytes | None]]:
    """The records that delete these offsets from the log."""
    return [(offset_key(group_id, topic, partition), None) for topic, partition in offsets]
