"""The last committed offset of each partition, as the safety oracle has observed it."""

from __future__ import annotations

from uuid import UUID

from kohort.protocol.topic_partition import TopicPartition

Key = tuple[str, TopicPartition]  # group id and partition


class LastCommit:
    """The last committed offset of a partition."""

    __slots__ = ("offset", "topic_id")

    def __init__(self, offset: int, topic_id: UUID | None) -> None:
        self.offset = offset
        self.topic_id = topic_id  # differs for a topic that was deleted and created again


class LastCommits:
    """Last commits of all groups. An entry is replaced only after it was removed."""

    def __init__(self) -> None:
        self.by_partition: dict[Key, LastCommit] = {}
        self.removals = 0  # increases when entries are removed

    def store(self, key: Key, offset: int, topic_id: UUID | None) -> None:
        last_commit = self.by_partition.get(key)
        if last_commit is None:
            self.by_partition[key] = LastCommit(offset, topic_id)
        else:
            last_commit.offset, last_commit.topic_id = offset, topic_id

    def remove(self, *keys: Key) -> None:
        self.removals += 1
        for key in keys:
            self.by_partition.pop(key, None)

    def remove_group(self, group_id: str) -> None:
        self.remove(*[key for key in self.by_partition if key[0] == group_id])
