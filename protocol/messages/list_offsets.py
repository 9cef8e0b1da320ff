"""ListOffsets (key 2): the first or last offset of a partition, or the first one at or after a timestamp."""

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class ListOffsetsPartition:
    partition_index: int
    current_leader_epoch: int = -1  # from v4 on
    timestamp: int


@shape
class ListOffsetsTopic:
    name: str
    partitions: tuple[ListOffsetsPartition, ...]


@shape
class ListOffsetsRequest:
    replica_id: int
    isolation_level: int = 0  # from v2 on
    topics: tuple[ListOffsetsTopic, ...]
    timeout_ms: int = 0  # from v10 on


@shape
class ListOffsetsPartitionResponse:
    partition_index: int
    error_code: ErrorCode
    timestamp: int = -1
    offset: int = -1
    leader_epoch: int = -1  # from v4 on


@shape
class ListOffsetsTopicResponse:
    name: str
    partitions: tuple[ListOffsetsPartitionResponse, ...]


@shape
class ListOffsetsResponse:
    throttle_time_ms: int = 0  # from v2 on
    topics: tuple[ListOffsetsTopicResponse, ...]


MESSAGE = Message("list_offsets", ListOffsetsRequest, ListOffsetsResponse)
