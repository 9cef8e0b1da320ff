"""TxnOffsetCommit (key 28): how far a group will have got when a transaction is committed."""

from dataclasses import dataclass

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode


@dataclass(slots=True, kw_only=True)
class TxnOffsetCommitRequestPartition:
    partition_index: int
    committed_offset: int
    committed_leader_epoch: int = -1  # from v2 on
    committed_metadata: str | None


@dataclass(slots=True, kw_only=True)
class TxnOffsetCommitRequestTopic:
    name: str
    partitions: tuple[TxnOffsetCommitRequestPartition, ...]


@dataclass(slots=True, kw_only=True)
class TxnOffsetCommitRequest:
    transactional_id: str
    group_id: str
    producer_id: int
    producer_epoch: int
    generation_id: int = -1  # from v3 on
    member_id: str = ""  # from v3 on
    group_instance_id: str | None = None  # from v3 on
    topics: tuple[TxnOffsetCommitRequestTopic, ...]


@dataclass(slots=True, kw_only=True)
class TxnOffsetCommitResponsePartition:
    partition_index: int
    error_code: ErrorCode


@dataclass(slots=True, kw_only=True)
class TxnOffsetCommitResponseTopic:
    name: str
    partitions: tuple[TxnOffsetCommitResponsePartition, ...]


@dataclass(slots=True, kw_only=True)
class TxnOffsetCommitResponse:
    throttle_time_ms: int = 0
    topics: tuple[TxnOffsetCommitResponseTopic, ...]


MESSAGE = Message("txn_offset_commit", TxnOffsetCommitRequest, TxnOffsetCommitResponse)
