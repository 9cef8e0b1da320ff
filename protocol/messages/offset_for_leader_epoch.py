"""OffsetForLeaderEpoch (key 23): the end offset of a leader epoch."""

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class OffsetForLeaderPartition:
    partition: int
    current_leader_epoch: int = -1
    leader_epoch: int


@shape
class OffsetForLeaderTopic:
    topic: str
    partitions: tuple[OffsetForLeaderPartition, ...]


@shape
class OffsetForLeaderEpochRequest:
    replica_id: int = -2  # from v3 on
    topics: tuple[OffsetForLeaderTopic, ...]


@shape
class EpochEndOffset:
    error_code: ErrorCode
    partition: int
    leader_epoch: int = -1
    end_offset: int = -1


@shape
class OffsetForLeaderTopicResult:
    topic: str
    partitions: tuple[EpochEndOffset, ...]


@shape
class OffsetForLeaderEpochResponse:
    throttle_time_ms: int = 0
    topics: tuple[OffsetForLeaderTopicResult, ...]


MESSAGE = Message("offset_for_leader_epoch", OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse)
