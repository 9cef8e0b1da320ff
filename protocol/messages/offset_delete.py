"""OffsetDelete (key 47): deletes committed offsets of a group (KIP-496)."""

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class OffsetDeleteRequestPartition:
    partition_index: int


@shape
class OffsetDeleteRequestTopic:
    name: str
    partitions: tuple[OffsetDeleteRequestPartition, ...]


@shape
class OffsetDeleteRequest:
    group_id: str
    topics: tuple[OffsetDeleteRequestTopic, ...]


@shape
class OffsetDeleteResponsePartition:
    partition_index: int
    error_code: ErrorCode


@shape
class OffsetDeleteResponseTopic:
    name: str
    partitions: tuple[OffsetDeleteResponsePartition, ...]


@shape
class OffsetDeleteResponse:
    error_code: ErrorCode
    throttle_time_ms: int = 0
    topics: tuple[OffsetDeleteResponseTopic, ...]


MESSAGE = Message("offset_delete", OffsetDeleteRequest, OffsetDeleteResponse)
