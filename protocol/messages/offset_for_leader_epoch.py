"""OffsetForLeaderEpoch (key 23): where an epoch of a partition's leader ended."""

from dataclasses import dataclass

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode


@dataclass(slots=True, kw_only=True)
class OffsetForLeaderPartition:
    partition: int
    current_leader_epoch: int = -1
    leader_epoch: int


@dataclass(slots=True, kw_only=True)
class OffsetForLeaderTopic:
    topic: str
    partitions: tuple[OffsetForLeaderPartition, ...]


@dataclass(slots=True, kw_only=True)
class OffsetForLeaderEpochRequest:
    replica_id: int = -2  # from v3 on
    topics: tuple[OffsetForLeaderTopic, ...]


@dataclass(slots=True, kw_only=True)
class EpochEndOffset:
    error_code: ErrorCode
    partition: int
    leader_epoch: int = -1
    end_offset: int = -1


@dataclass(slots=True, kw_only=True)
class OffsetForLeaderTopicResult:
    topic: str
    partitions: tuple[EpochEndOffset, ...]


@dataclass(slots=True, kw_only=True)
class OffsetForLeaderEpochResponse:
    throttle_time_ms: int = 0
    topics: tuple[OffsetForLeaderTopicResult, ...]


MESSAGE = Message("offset_for_leader_epoch", OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse)
