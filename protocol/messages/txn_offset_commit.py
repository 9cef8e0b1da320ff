"""TxnOffsetCommit (key 28): offsets of a group that are committed with a transaction."""

from uuid import UUID

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class TxnOffsetCommitRequestPartition:
    partition_index: int
    committed_offset: int
    committed_leader_epoch: int = -1  # from v2 on
    committed_metadata: str | None


@shape
class TxnOffsetCommitRequestTopic:
    name: str = ""  # up to v5
    topic_id: UUID | None = None  # from v6 on
    partitions: tuple[TxnOffsetCommitRequestPartition, ...]


@shape
class TxnOffsetCommitRequest:
    transactional_id: str
    group_id: str
    producer_id: int
    producer_epoch: int
    generation_id: int = -1  # from v3 on
    member_id: str = ""  # from v3 on
    group_instance_id: str | None = None  # from v3 on
    topics: tuple[TxnOffsetCommitRequestTopic, ...]


@shape
class TxnOffsetCommitResponsePartition:
    partition_index: int
    error_code: ErrorCode


@shape
class TxnOffsetCommitResponseTopic:
    name: str = ""  # up to v5
    topic_id: UUID | None = None  # from v6 on
    partitions: tuple[TxnOffsetCommitResponsePartition, ...]


@shape
class TxnOffsetCommitResponse:
    throttle_time_ms: int = 0
    topics: tuple[TxnOffsetCommitResponseTopic, ...]


MESSAGE = Message("txn_offset_commit", TxnOffsetCommitRequest, TxnOffsetCommitResponse)
