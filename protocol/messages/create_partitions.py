"""CreatePartitions (key 37): lets topics grow."""

from dataclasses import dataclass

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode


@dataclass(slots=True, kw_only=True)
class CreatePartitionsAssignment:
    broker_ids: tuple[int, ...] = ()


@dataclass(slots=True, kw_only=True)
class CreatePartitionsTopic:
    name: str
    count: int
    assignments: tuple[CreatePartitionsAssignment, ...] | None


@dataclass(slots=True, kw_only=True)
class CreatePartitionsRequest:
    topics: tuple[CreatePartitionsTopic, ...]
    timeout_ms: int
    validate_only: bool


@dataclass(slots=True, kw_only=True)
class CreatePartitionsTopicResult:
    name: str
    error_code: ErrorCode
    error_message: str | None = None


@dataclass(slots=True, kw_only=True)
class CreatePartitionsResponse:
    throttle_time_ms: int = 0
    results: tuple[CreatePartitionsTopicResult, ...]


MESSAGE = Message("create_partitions", CreatePartitionsRequest, CreatePartitionsResponse)
