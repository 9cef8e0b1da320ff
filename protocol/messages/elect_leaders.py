"""ElectLeaders (key 43): has partitions choose their leader anew."""

from dataclasses import dataclass

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode


@dataclass(slots=True, kw_only=True)
class TopicPartitions:
    topic: str
    partitions: tuple[int, ...]


@dataclass(slots=True, kw_only=True)
class ElectLeadersRequest:
    election_type: int = 0  # from v1 on
    topic_partitions: tuple[TopicPartitions, ...] | None
    timeout_ms: int


@dataclass(slots=True, kw_only=True)
class PartitionResult:
    partition_id: int
    error_code: ErrorCode
    error_message: str | None = None


@dataclass(slots=True, kw_only=True)
class ReplicaElectionResult:
    topic: str
    partition_result: tuple[PartitionResult, ...]


@dataclass(slots=True, kw_only=True)
class ElectLeadersResponse:
    throttle_time_ms: int = 0
    error_code: ErrorCode = ErrorCode.none  # from v1 on
    replica_election_results: tuple[ReplicaElectionResult, ...]


MESSAGE = Message("elect_leaders", ElectLeadersRequest, ElectLeadersResponse)
