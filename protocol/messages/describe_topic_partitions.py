"""DescribeTopicPartitions (key 75): topics in pages (KIP-966)."""

from uuid import UUID

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class TopicRequest:
    name: str


@shape
class Cursor:
    topic_name: str
    partition_index: int


@shape
class DescribeTopicPartitionsRequest:
    topics: tuple[TopicRequest, ...]
    response_partition_limit: int = 2000
    cursor: Cursor | None = None


@shape
class DescribeTopicPartitionsResponsePartition:
    error_code: ErrorCode
    partition_index: int
    leader_id: int
    leader_epoch: int = -1
    replica_nodes: tuple[int, ...] = ()
    isr_nodes: tuple[int, ...] = ()
    eligible_leader_replicas: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None
    offline_replicas: tuple[int, ...] = ()


@shape
class DescribeTopicPartitionsResponseTopic:
    error_code: ErrorCode
    name: str | None
    topic_id: UUID | None
    is_internal: bool = False
    partitions: tuple[DescribeTopicPartitionsResponsePartition, ...]
    topic_authorized_operations: int = -(2**31)


@shape
class DescribeTopicPartitionsResponse:
    throttle_time_ms: int = 0
    topics: tuple[DescribeTopicPartitionsResponseTopic, ...]
    next_cursor: Cursor | None = None


MESSAGE = Message("describe_topic_partitions", DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse)
