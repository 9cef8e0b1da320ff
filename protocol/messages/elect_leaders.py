"""ElectLeaders (key 43): triggers a leader election for partitions."""

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class TopicPartitions:
    topic: str
    partitions: tuple[int, ...]


@shape
class ElectLeadersRequest:
    election_type: int = 0  # from v1 on
    topic_partitions: tuple[TopicPartitions, ...] | None
    timeout_ms: int


@shape
class PartitionResult:
    partition_id: int
    error_code: ErrorCode
    error_message: str | None = None


@shape
class ReplicaElectionResult:
    topic: str
    partition_result: tuple[PartitionResult, ...]


@shape
class ElectLeadersResponse:
    throttle_time_ms: int = 0
    error_code: ErrorCode = ErrorCode.none  # from v1 on
    replica_election_results: tuple[ReplicaElectionResult, ...]


MESSAGE = Message("elect_leaders", ElectLeadersRequest, ElectLeadersResponse)
