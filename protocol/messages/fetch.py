"""Fetch (key 1): record batches from partitions, when there are enough of them or time is up."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode


@dataclass(slots=True, kw_only=True)
class ReplicaState:
    replica_id: int = -1
    replica_epoch: int = -1


@dataclass(slots=True, kw_only=True)
class FetchPartition:
    partition: int
    current_leader_epoch: int = -1  # from v9 on
    fetch_offset: int
    last_fetched_epoch: int = -1  # from v12 on
    log_start_offset: int = -1  # from v5 on
    partition_max_bytes: int
    replica_directory_id: UUID | None = None  # from v17 on
    high_watermark: int = 2**63 - 1  # from v18 on


@dataclass(slots=True, kw_only=True)
class FetchTopic:
    topic_id: UUID | None = None  # from v13 on
    partitions: tuple[FetchPartition, ...]
    topic: str = ""  # up to v12


@dataclass(slots=True, kw_only=True)
class ForgottenTopic:
    topic_id: UUID | None = None  # from v13 on
    partitions: tuple[int, ...] = ()
    topic: str = ""  # up to v12


@dataclass(slots=True, kw_only=True)
class FetchRequest:
    cluster_id: str | None = None  # from v12 on
    replica_state: ReplicaState | None = None  # from v15 on
    max_wait_ms: int
    min_bytes: int
    max_bytes: int = 2**31 - 1
    isolation_level: int = 0
    session_id: int = 0  # from v7 on
    session_epoch: int = -1  # from v7 on
    topics: tuple[FetchTopic, ...]
    forgotten_topics_data: tuple[ForgottenTopic, ...] = ()  # from v7 on
    rack_id: str = ""  # from v11 on
    replica_id: int = -1  # up to v14


@dataclass(slots=True, kw_only=True)
class EpochEndOffset:
    epoch: int = -1
    end_offset: int = -1


@dataclass(slots=True, kw_only=True)
class LeaderIdAndEpoch:
    leader_id: int = -1
    leader_epoch: int = -1


@dataclass(slots=True, kw_only=True)
class SnapshotId:
    end_offset: int = -1
    epoch: int = -1


@dataclass(slots=True, kw_only=True)
class AbortedTransaction:
    producer_id: int
    first_offset: int


@dataclass(slots=True, kw_only=True)
class PartitionData:
    partition_index: int
    error_code: ErrorCode
    high_watermark: int
    last_stable_offset: int = -1
    log_start_offset: int = -1  # from v5 on
    diverging_epoch: EpochEndOffset | None = None  # from v12 on
    current_leader: LeaderIdAndEpoch | None = None  # from v12 on
    snapshot_id: SnapshotId | None = None  # from v12 on
    aborted_transactions: tuple[AbortedTransaction, ...] | None
    preferred_read_replica: int = -1  # from v11 on
    records: Sequence[bytes | memoryview] | None = None
    """Whole batches, in as many pieces as there are; they are sent as they are."""


@dataclass(slots=True, kw_only=True)
class FetchableTopicResponse:
    topic_id: UUID | None = None  # from v13 on
    partitions: tuple[PartitionData, ...]
    topic: str = ""  # up to v12


@dataclass(slots=True, kw_only=True)
class NodeEndpoint:
    node_id: int
    host: str
    port: int
    rack: str | None = None


@dataclass(slots=True, kw_only=True)
class FetchResponse:
    throttle_time_ms: int = 0
    error_code: ErrorCode = ErrorCode.none  # from v7 on
    session_id: int = 0  # from v7 on
    responses: tuple[FetchableTopicResponse, ...]
    node_endpoints: tuple[NodeEndpoint, ...] = ()  # from v16 on


MESSAGE = Message("fetch", FetchRequest, FetchResponse)
