"""DescribeQuorum (key 55): leader, voters and observers of the metadata quorum (KIP-595, KIP-836)."""

from uuid import UUID

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class PartitionRequest:
    partition_index: int


@shape
class TopicRequest:
    topic_name: str
    partitions: tuple[PartitionRequest, ...]


@shape
class DescribeQuorumRequest:
    topics: tuple[TopicRequest, ...]


@shape
class ReplicaState:
    replica_id: int
    replica_directory_id: UUID | None = None  # from v2 on
    log_end_offset: int
    last_fetch_timestamp: int = -1  # from v1 on
    last_caught_up_timestamp: int = -1  # from v1 on


@shape
class PartitionResponse:
    partition_index: int
    error_code: ErrorCode
    error_message: str | None = None  # from v2 on
    leader_id: int = -1
    leader_epoch: int = 0
    high_watermark: int = 0
    current_voters: tuple[ReplicaState, ...] = ()
    observers: tuple[ReplicaState, ...] = ()


@shape
class TopicResponse:
    topic_name: str
    partitions: tuple[PartitionResponse, ...]


@shape
class Listener:
    name: str
    host: str
    port: int


@shape
class VoterNode:
    node_id: int
    listeners: tuple[Listener, ...]


@shape
class DescribeQuorumResponse:
    error_code: ErrorCode
    error_message: str | None = None  # from v2 on
    topics: tuple[TopicResponse, ...] = ()
    nodes: tuple[VoterNode, ...] = ()  # from v2 on


MESSAGE = Message("describe_quorum", DescribeQuorumRequest, DescribeQuorumResponse)
