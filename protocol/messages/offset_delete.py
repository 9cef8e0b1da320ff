"""OffsetDelete (key 47): forgets what a group has committed for some partitions (KIP-496)."""

from dataclasses import dataclass

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode


@dataclass(slots=True, kw_only=True)
class OffsetDeleteRequestPartition:
    partition_index: int


@dataclass(slots=True, kw_only=True)
class OffsetDeleteRequestTopic:
    name: str
    partitions: tuple[OffsetDeleteRequestPartition, ...]


@dataclass(slots=True, kw_only=True)
class OffsetDeleteRequest:
    group_id: str
    topics: tuple[OffsetDeleteRequestTopic, ...]


@dataclass(slots=True, kw_only=True)
class OffsetDeleteResponsePartition:
    partition_index: int
    error_code: ErrorCode


@dataclass(slots=True, kw_only=True)
class OffsetDeleteResponseTopic:
    name: str
    partitions: tuple[OffsetDeleteResponsePartition, ...]


@dataclass(slots=True, kw_only=True)
class OffsetDeleteResponse:
    error_code: ErrorCode
    throttle_time_ms: int = 0
    topics: tuple[OffsetDeleteResponseTopic, ...]


MESSAGE = Message("offset_delete", OffsetDeleteRequest, OffsetDeleteResponse)
