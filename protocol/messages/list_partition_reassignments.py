"""ListPartitionReassignments (key 46): the ongoing reassignments of partitions."""

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class ListPartitionReassignmentsTopics:
    name: str
    partition_indexes: tuple[int, ...]


@shape
class ListPartitionReassignmentsRequest:
    timeout_ms: int
    topics: tuple[ListPartitionReassignmentsTopics, ...] | None


@shape
class OngoingPartitionReassignment:
    partition_index: int
    replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...]
    removing_replicas: tuple[int, ...]


@shape
class OngoingTopicReassignment:
    name: str
    partitions: tuple[OngoingPartitionReassignment, ...]


@shape
class ListPartitionReassignmentsResponse:
    throttle_time_ms: int = 0
    error_code: ErrorCode = ErrorCode.none
    error_message: str | None = None
    topics: tuple[OngoingTopicReassignment, ...]


MESSAGE = Message("list_partition_reassignments", ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse)
