"""CreateTopics (key 19)."""

from uuid import UUID

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class CreatableReplicaAssignment:
    partition_index: int
    broker_ids: tuple[int, ...] = ()


@shape
class CreatableTopicConfig:
    name: str
    value: str | None


@shape
class CreatableTopic:
    name: str
    num_partitions: int
    replication_factor: int
    assignments: tuple[CreatableReplicaAssignment, ...]
    configs: tuple[CreatableTopicConfig, ...]


@shape
class CreateTopicsRequest:
    topics: tuple[CreatableTopic, ...]
    timeout_ms: int = 60000
    validate_only: bool = False


@shape
class CreatableTopicConfigs:
    name: str
    value: str | None
    read_only: bool
    config_source: int = -1
    is_sensitive: bool


@shape
class CreatableTopicResult:
    name: str
    topic_id: UUID | None = None  # from v7 on
    error_code: ErrorCode
    error_message: str | None
    topic_config_error_code: int = 0  # from v5 on
    num_partitions: int = -1  # from v5 on
    replication_factor: int = -1  # from v5 on
    configs: tuple[CreatableTopicConfigs, ...] | None = None  # from v5 on


@shape
class CreateTopicsResponse:
    throttle_time_ms: int = 0
    topics: tuple[CreatableTopicResult, ...]


MESSAGE = Message("create_topics", CreateTopicsRequest, CreateTopicsResponse)
