"""DescribeShareGroupOffsets (key 90): start offsets and lag of share groups (KIP-932)."""

from uuid import UUID

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class DescribeShareGroupOffsetsRequestTopic:
    topic_name: str
    partitions: tuple[int, ...] = ()


@shape
class DescribeShareGroupOffsetsRequestGroup:
    group_id: str
    topics: tuple[DescribeShareGroupOffsetsRequestTopic, ...] | None = None


@shape
class DescribeShareGroupOffsetsRequest:
    groups: tuple[DescribeShareGroupOffsetsRequestGroup, ...] = ()


@shape
class DescribeShareGroupOffsetsResponsePartition:
    partition_index: int
    start_offset: int = -1
    leader_epoch: int = 0
    lag: int = -1  # from v1 on
    error_code: ErrorCode = ErrorCode.none
    error_message: str | None = None


@shape
class DescribeShareGroupOffsetsResponseTopic:
    topic_name: str
    topic_id: UUID | None
    partitions: tuple[DescribeShareGroupOffsetsResponsePartition, ...]


@shape
class DescribeShareGroupOffsetsResponseGroup:
    group_id: str
    topics: tuple[DescribeShareGroupOffsetsResponseTopic, ...] = ()
    error_code: ErrorCode = ErrorCode.none
    error_message: str | None = None


@shape
class DescribeShareGroupOffsetsResponse:
    throttle_time_ms: int = 0
    groups: tuple[DescribeShareGroupOffsetsResponseGroup, ...]


MESSAGE = Message("describe_share_group_offsets", DescribeShareGroupOffsetsRequest, DescribeShareGroupOffsetsResponse)
