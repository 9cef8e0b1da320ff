"""OffsetCommit (key 8): how far a group has got."""

from dataclasses import dataclass
from uuid import UUID

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode


@dataclass(slots=True, kw_only=True)
class OffsetCommitRequestPartition:
    partition_index: int
    committed_offset: int
    committed_leader_epoch: int = -1  # from v6 on
    committed_metadata: str | None


@dataclass(slots=True, kw_only=True)
class OffsetCommitRequestTopic:
    topic_id: UUID | None = None  # from v10 on
    partitions: tuple[OffsetCommitRequestPartition, ...]
    name: str = ""  # up to v9


@dataclass(slots=True, kw_only=True)
class OffsetCommitRequest:
    group_id: str
    generation_id_or_member_epoch: int = -1
    member_id: str
    group_instance_id: str | None = None  # from v7 on
    topics: tuple[OffsetCommitRequestTopic, ...]
    retention_time_ms: int = -1  # up to v4


@dataclass(slots=True, kw_only=True)
class OffsetCommitResponsePartition:
    partition_index: int
    error_code: ErrorCode


@dataclass(slots=True, kw_only=True)
class OffsetCommitResponseTopic:
    topic_id: UUID | None = None  # from v10 on
    partitions: tuple[OffsetCommitResponsePartition, ...]
    name: str = ""  # up to v9


@dataclass(slots=True, kw_only=True)
class OffsetCommitResponse:
    throttle_time_ms: int = 0  # from v3 on
    topics: tuple[OffsetCommitResponseTopic, ...]


MESSAGE = Message("offset_commit", OffsetCommitRequest, OffsetCommitResponse)
