"""Committed offsets of a group, and their records in the log."""

from collections.abc import Callable, Iterator
from functools import lru_cache
from struct import Struct
from typing import TYPE_CHECKING, Final
from uuid import UUID

from kohort.coordinator.offsets.offsets_topic_records import (
    BARE_OFFSET_V4,
    OffsetValue,
    offset_key,
    offset_value_parts,
    read_offset_value,
)
from kohort.protocol.batches import encode_record
from kohort.protocol.releases import USUAL_OFFSET_VALUE
from kohort.protocol.topic_partition import TopicPartition
from kohort.protocol.varints import varint

if TYPE_CHECKING:
    from kohort.protocol.messages.offset_fetch import OffsetFetchResponsePartition

NO_EXPIRY: Final = -1


class CommittedOffset:
    """Last committed offset of a partition. Times are wall clock milliseconds.

    Consumers commit the same partitions with the same metadata repeatedly. Therefore the object keeps its last record
    without offset, leader epoch and time: the next record is one `pack`, five times as fast as encoding all fields.
    """

    __slots__ = (
        "_end",
        "_head",
        "_middle",
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
        self.expire_timestamp_ms = NO_EXPIRY  # NO_EXPIRY: the broker's retention applies (classic-groups §7.6)
        self.topic_id = topic_id
        self.answer: OffsetFetchResponsePartition | None = None  # Cached response of OffsetFetch (fetching_offsets.py).
        self._position = -1  # position in a batch for which the cached record is valid; -1 without one
        self._pack: Callable[..., bytes]
        self._head: bytes
        self._middle: bytes
        self._end: bytes

    @classmethod
    def of(cls, value: OffsetValue) -> "CommittedOffset":
        committed = cls(value.metadata, value.topic_id)
        committed.offset = value.offset
        committed.leader_epoch = value.leader_epoch
        committed.commit_timestamp_ms = value.commit_timestamp_ms
        committed.expire_timestamp_ms = value.expire_timestamp_ms
        return committed

    @classmethod
    def read(cls, value: bytes) -> "CommittedOffset":
        """Return the offset in a record's value.

        Raises:
            RecordError: The version is unknown, or the bytes are truncated.
        """
        if len(value) == BARE_OFFSET_V4.size:
            version, offset, leader_epoch, length, commit_timestamp_ms, tags = BARE_OFFSET_V4.unpack(value)
            if version == USUAL_OFFSET_VALUE and length == 1 and not tags:
                committed = cls("", None)
                committed.offset = offset
                committed.leader_epoch = leader_epoch
                committed.commit_timestamp_ms = commit_timestamp_ms
                return committed
        return cls.of(read_offset_value(value))

    def fits(self, metadata: str, topic_id: UUID | None) -> bool:
        return self.metadata == metadata and (self.topic_id is topic_id or self.topic_id == topic_id)

    def take(self, offset: int, leader_epoch: int, commit_timestamp_ms: int, expire_timestamp_ms: int) -> None:
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
        """Return the record of a new commit at `position` of its batch. The stored offset stays unchanged."""
        if position != self._position:
            self._make_ready(offset_key(group_id, topic, partition), position, version)
        return self._pack(self._head, offset, epoch, self._middle, now_ms, self._end)

    def forget_record(self) -> None:
        """Drop the cached record, because another object caches it."""
        self._position = -1
        self._head = self._middle = self._end = b""

    def _make_ready(self, key: bytes, position: int, version: int) -> None:
        self._head, self._middle, self._end = record_around(key, position, self.metadata, self.topic_id, version)
        self._pack = _packer(len(self._head), len(self._middle), len(self._end))
        self._position = position


@lru_cache(maxsize=4096)
def _packer(before_size: int, note_size: int, after_size: int) -> Callable[..., bytes]:
    return Struct(f">{before_size}sqi{note_size}sq{after_size}s").pack


def record_around(
    key: bytes, position: int, metadata: str, topic_id: UUID | None, version: int
) -> tuple[bytes, bytes, bytes]:
    """Return three parts of a record.

    The offset and leader epoch come after the first one, the time after the second.
    """
    start, metadata_bytes, tail = offset_value_parts(metadata, topic_id, version)
    value_size = len(start) + 12 + len(metadata_bytes) + 8 + len(tail)
    inner = b"".join((b"\x00\x00", varint(position), varint(len(key)), key, varint(value_size), start))
    return varint(len(inner) + value_size - len(start) + 1) + inner, metadata_bytes, tail + b"\x00"


# A written offset: topic, partition, the object in which it is stored, offset, leader epoch.
Accepted = tuple[str, int, CommittedOffset, int, int]


class GroupOffsets:
    """Offsets of a group, by topic and partition."""

    __slots__ = ("topics",)

    def __init__(self) -> None:
        self.topics: dict[str, dict[int, CommittedOffset]] = {}

    def __bool__(self) -> bool:
        return bool(self.topics)

    def get(self, topic: str, partition: int) -> CommittedOffset | None:
        partitions = self.topics.get(topic)
        return None if partitions is None else partitions.get(partition)

    def put(self, topic: str, partition: int, committed: CommittedOffset) -> None:
        partitions = self.topics.get(topic)
        if partitions is None:
            partitions = self.topics[topic] = {}
        partitions[partition] = committed

    def remove(self, topic: str, partition: int) -> None:
        partitions = self.topics.get(topic)
        if partitions is not None:
            partitions.pop(partition, None)
            if not partitions:
                del self.topics[topic]

    def forget_empty_topics(self) -> None:
        """Remove topics without offsets, which deletions on request leave behind."""
        for topic in [topic for topic, partitions in self.topics.items() if not partitions]:
            del self.topics[topic]

    def __iter__(self) -> Iterator[tuple[str, int, CommittedOffset]]:
        for topic, partitions in self.topics.items():
            for partition, committed in partitions.items():
                yield topic, partition, committed


def tombstones(group_id: str, offsets: list[TopicPartition]) -> list[bytes]:
    """Return the records that delete these offsets; they are the first ones of a batch."""
    return [
        encode_record(offset_key(group_id, topic, partition), None, position)
        for position, (topic, partition) in enumerate(offsets)
    ]
