"""DescribeProducers (key 61): the active producers of partitions."""

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class TopicRequest:
    name: str
    partition_indexes: tuple[int, ...]


@shape
class DescribeProducersRequest:
    topics: tuple[TopicRequest, ...]


@shape
class ProducerState:
    producer_id: int
    producer_epoch: int
    last_sequence: int = -1
    last_timestamp: int = -1
    coordinator_epoch: int
    current_txn_start_offset: int = -1


@shape
class PartitionResponse:
    partition_index: int
    error_code: ErrorCode
    error_message: str | None = None
    active_producers: tuple[ProducerState, ...]


@shape
class TopicResponse:
    name: str
    partitions: tuple[PartitionResponse, ...]


@shape
class DescribeProducersResponse:
    throttle_time_ms: int = 0
    topics: tuple[TopicResponse, ...]


MESSAGE = Message("describe_producers", DescribeProducersRequest, DescribeProducersResponse)
