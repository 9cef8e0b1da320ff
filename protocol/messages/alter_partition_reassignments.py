"""AlterPartitionReassignments (key 45): moves partitions to other replicas."""

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class ReassignablePartition:
    partition_index: int
    replicas: tuple[int, ...] | None = None


@shape
class ReassignableTopic:
    name: str
    partitions: tuple[ReassignablePartition, ...]


@shape
class AlterPartitionReassignmentsRequest:
    timeout_ms: int
    allow_replication_factor_change: bool = True  # from v1 on
    topics: tuple[ReassignableTopic, ...]


@shape
class ReassignablePartitionResponse:
    partition_index: int
    error_code: ErrorCode
    error_message: str | None = None


@shape
class ReassignableTopicResponse:
    name: str
    partitions: tuple[ReassignablePartitionResponse, ...]


@shape
class AlterPartitionReassignmentsResponse:
    throttle_time_ms: int = 0
    allow_replication_factor_change: bool = True  # from v1 on
    error_code: ErrorCode = ErrorCode.none
    error_message: str | None = None
    responses: tuple[ReassignableTopicResponse, ...]


MESSAGE = Message(
    "alter_partition_reassignments", AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse
)
