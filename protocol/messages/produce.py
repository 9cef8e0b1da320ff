"""Produce (key 0): record batches for partitions."""

from dataclasses import dataclass
from uuid import UUID

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode


@dataclass(slots=True, kw_only=True)
class PartitionProduceData:
    index: int
    records: bytes | None


@dataclass(slots=True, kw_only=True)
class TopicProduceData:
    topic_id: UUID | None = None  # from v13 on
    partition_data: tuple[PartitionProduceData, ...]
    name: str = ""  # up to v12


@dataclass(slots=True, kw_only=True)
class ProduceRequest:
    transactional_id: str | None = None
    acks: int
    timeout_ms: int
    topic_data: tuple[TopicProduceData, ...]


@dataclass(slots=True, kw_only=True)
class BatchIndexAndErrorMessage:
    batch_index: int
    batch_index_error_message: str | None = None


@dataclass(slots=True, kw_only=True)
class LeaderIdAndEpoch:
    leader_id: int = -1
    leader_epoch: int = -1


@dataclass(slots=True, kw_only=True)
class PartitionProduceResponse:
    index: int
    error_code: ErrorCode
    base_offset: int
    log_append_time_ms: int = -1
    """Wall clock; -1: the records keep the times their producer gave them."""
    log_start_offset: int = -1  # from v5 on
    record_errors: tuple[BatchIndexAndErrorMessage, ...] = ()  # from v8 on
    error_message: str | None = None  # from v8 on
    current_leader: LeaderIdAndEpoch | None = None  # from v10 on


@dataclass(slots=True, kw_only=True)
class TopicProduceResponse:
    topic_id: UUID | None = None  # from v13 on
    partition_responses: tuple[PartitionProduceResponse, ...]
    name: str = ""  # up to v12


@dataclass(slots=True, kw_only=True)
class NodeEndpoint:
    node_id: int
    host: str
    port: int
    rack: str | None = None


@dataclass(slots=True, kw_only=True)
class ProduceResponse:
    responses: tuple[TopicProduceResponse, ...]
    throttle_time_ms: int = 0
    node_endpoints: tuple[NodeEndpoint, ...] = ()  # from v10 on


MESSAGE = Message("produce", ProduceRequest, ProduceResponse)
