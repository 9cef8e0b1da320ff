"""AlterPartitionReassignments (key 45): gives partitions other replicas."""

from dataclasses import dataclass

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode


@dataclass(slots=True, kw_only=True)
class ReassignablePartition:
    partition_index: int
    replicas: tuple[int, ...] | None = None


@dataclass(slots=True, kw_only=True)
class ReassignableTopic:
    name: str
    partitions: tuple[ReassignablePartition, ...]


@dataclass(slots=True, kw_only=True)
class AlterPartitionReassignmentsRequest:
    timeout_ms: int
    allow_replication_factor_change: bool = True  # from v1 on
    topics: tuple[ReassignableTopic, ...]


@dataclass(slots=True, kw_only=True)
class ReassignablePartitionResponse:
    partition_index: int
    error_code: ErrorCode
    error_message: str | None = None


@dataclass(slots=True, kw_only=True)
class ReassignableTopicResponse:
    name: str
    partitions: tuple[ReassignablePartitionResponse, ...]


@dataclass(slots=True, kw_only=True)
class AlterPartitionReassignmentsResponse:
    throttle_time_ms: int = 0
    allow_replication_factor_change: bool = True  # from v1 on
    error_code: ErrorCode = ErrorCode.none
    error_message: str | None = None
    responses: tuple[ReassignableTopicResponse, ...]


MESSAGE = Message(
    "alter_partition_reassignments", AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse
)
