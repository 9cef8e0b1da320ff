"""AlterShareGroupOffsets (key 91): sets the start offsets of a share group without members (KIP-932)."""

from uuid import UUID

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class AlterShareGroupOffsetsRequestPartition:
    partition_index: int
    start_offset: int


@shape
class AlterShareGroupOffsetsRequestTopic:
    topic_name: str
    partitions: tuple[AlterShareGroupOffsetsRequestPartition, ...]


@shape
class AlterShareGroupOffsetsRequest:
    group_id: str
    topics: tuple[AlterShareGroupOffsetsRequestTopic, ...] = ()


@shape
class AlterShareGroupOffsetsResponsePartition:
    partition_index: int
    error_code: ErrorCode = ErrorCode.none
    error_message: str | None = None


@shape
class AlterShareGroupOffsetsResponseTopic:
    topic_name: str
    topic_id: UUID | None = None
    partitions: tuple[AlterShareGroupOffsetsResponsePartition, ...]


@shape
class AlterShareGroupOffsetsResponse:
    throttle_time_ms: int = 0
    error_code: ErrorCode
    error_message: str | None = None
    responses: tuple[AlterShareGroupOffsetsResponseTopic, ...] = ()


MESSAGE = Message("alter_share_group_offsets", AlterShareGroupOffsetsRequest, AlterShareGroupOffsetsResponse)
