"""DescribeTopicPartitions (key 75): topics in pages (KIP-966)."""

from dataclasses import dataclass
from uuid import UUID

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode


@dataclass(slots=True, kw_only=True)
class TopicRequest:
    name: str


@dataclass(slots=True, kw_only=True)
class Cursor:
    topic_name: str
    partition_index: int


@dataclass(slots=True, kw_only=True)
class DescribeTopicPartitionsRequest:
    topics: tuple[TopicRequest, ...]
    response_partition_limit: int = 2000
    cursor: Cursor | None = None


@dataclass(slots=True, kw_only=True)
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


@dataclass(slots=True, kw_only=True)
class DescribeTopicPartitionsResponseTopic:
    error_code: ErrorCode
    name: str | None
    topic_id: UUID | None
    is_internal: bool = False
    partitions: tuple[DescribeTopicPartitionsResponsePartition, ...]
    topic_authorized_operations: int = -(2**31)


@dataclass(slots=True, kw_only=True)
class DescribeTopicPartitionsResponse:
    throttle_time_ms: int = 0
    topics: tuple[DescribeTopicPartitionsResponseTopic, ...]
    next_cursor: Cursor | None = None


MESSAGE = Message("describe_topic_partitions", DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse)
