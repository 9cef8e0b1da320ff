"""What a group has committed, and its records in the log."""

from collections.abc import Callable, Iterator
from functools import lru_cache
from struct import Struct
from typing import TYPE_CHECKING, Final
from uuid import UUID

from kohort.coordinator.offsets_topic_records import OffsetValue, offset_key, offset_value_parts
from kohort.protocol.batches import encode_record
from kohort.protocol.releases import USUAL_OFFSET_VALUE
from kohort.protocol.topic_partition import TopicPartition
from kohort.protocol.varints import varint

if TYPE_CHECKING:
    from kohort.protocol.messages.offset_fetch import OffsetFetchResponsePartition

NO_EXPIRY: Final = -1


class CommittedOffset:
    """One partition's offset as last committed. Times are wall clock milliseconds.

    Consumers commit the same partitions with the same note again and again. So the object keeps the record it was last
    written as, ready but for offset, leader epoch and time: writing it anew is one `pack`, where a record made field by
    field costs five times as much.
    """

    __slots__ = (
        "_after",
        "_before",
        "_note",
        "_pack",
        "_position",
        "answer",
        "commit_timestamp_ms",
        "expire_timestamp_ms",
        "leader_epoch",
        "metadata",
        "offset",
        "topic_id",
    )

    def __init__(self, metadata: str, topic_id: UUID | None) -> None:
        self.offset = -1
        self.leader_epoch = -1
        self.metadata = metadata
        self.commit_timestamp_ms = -1
        self.expire_timestamp_ms = NO_EXPIRY
        """-1: as long as the broker keeps offsets (classic-groups §7.6)."""
        self.topic_id = topic_id
        self.answer: OffsetFetchResponsePartition | None = None
        """What OffsetFetch last said of it; see fetching_offsets.py."""
        self._position = -1
        """Where in a batch the record that is kept ready may stand; -1: none is."""
        self._pack: Callable[..., bytes]
        self._before: bytes
        self._note: bytes
        self._after: bytes

    @classmethod
    def of(cls, value: OffsetValue) -> "CommittedOffset":
        """As it stands in a record."""
        committed = cls(value.metadata, value.topic_id)
        committed.offset = value.offset
        committed.leader_epoch = value.leader_epoch
        committed.commit_timestamp_ms = value.commit_timestamp_ms
        committed.expire_timestamp_ms = value.expire_timestamp_ms
        return committed

    def fits(self, metadata: str, topic_id: UUID | None) -> bool:
        """Whether a new commit may be kept in this object."""
        return self.metadata == metadata and (self.topic_id is topic_id or self.topic_id == topic_id)

    def take(self, offset: int, leader_epoch: int, commit_timestamp_ms: int, expire_timestamp_ms: int) -> None:
        """Is now what has been written."""
        self.offset = offset
        self.leader_epoch = leader_epoch
        self.commit_timestamp_ms = commit_timestamp_ms
        self.expire_timestamp_ms = expire_timestamp_ms
        self.answer = None

    def record(
        self,
        group_id: str,
        topic: str,
        partition: int,
        position: int,
        offset: int,
        epoch: int,
        now_ms: int,
        version: int = USUAL_OFFSET_VALUE,
    ) -> bytes:
        """The record of a new commit, as the `position`-th of its batch. Changes nothing of what has been committed."""
        if position != self._position:
            self._make_ready(offset_key(group_id, topic, partition), position, version)
        return self._pack(self._before, offset, epoch, self._note, now_ms, self._after)

    def forget_record(self) -> None:
        """Keeps no record ready: somebody else does."""
        self._position = -1
        self._before = self._note = self._after = b""

    def _make_ready(self, key: bytes, position: int, version: int) -> None:
        self._before, self._note, self._after = record_around(key, position, self.metadata, self.topic_id, version)
        self._pack = _packer(len(self._before), len(self._note), len(self._after))
        self._position = position


@lru_cache(maxsize=4096)
def _packer(before: int, note: int, after: int) -> Callable[..., bytes]:
    return Struct(f">{before}sqi{note}sq{after}s").pack


def record_around(
    key: bytes, position: int, metadata: str, topic_id: UUID | None, version: int
) -> tuple[bytes, bytes, bytes]:
    """A record of a commit, all but offset and leader epoch, which come behind the first part, and time."""
    head, note, tail = offset_value_parts(metadata, topic_id, version)
    value_size = len(head) + 12 + len(note) + 8 + len(tail)
    inner = b"".join((b"\x00\x00", varint(position), varint(len(key)), key, varint(value_size), head))
    return varint(len(inner) + value_size - len(head) + 1) + inner, note, tail + b"\x00"


Accepted = tuple[str, int, CommittedOffset, int, int]
"""What is written of a commit for one partition: topic, partition, where it is kept, offset, leader epoch."""


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

    def forget_empty_topics(self) -> None:
        """Forgets topics of which all offsets have been removed by hand."""
        for topic in [topic for topic, partitions in self.topics.items() if not partitions]:
            del self.topics[topic]

    def __iter__(self) -> Iterator[tuple[str, int, CommittedOffset]]:
        for topic, partitions in self.topics.items():
            for partition, committed in partitions.items():
                yield topic, partition, committed


def tombstones(group_id: str, offsets: list[TopicPartition]) -> list[bytes]:
    """The records that delete these offsets from the log, from the first position of a batch on."""
    return [
        encode_record(offset_key(group_id, topic, partition), None, position)
        for position, (topic, partition) in enumerate(offsets)
    ]
