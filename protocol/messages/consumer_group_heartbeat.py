"""ConsumerGroupHeartbeat (key 68): what a member of a consumer group wants and has, and what it is to have."""

from dataclasses import dataclass
from uuid import UUID

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode


@dataclass(slots=True, kw_only=True)
class TopicPartitions:
    topic_id: UUID | None
    partitions: tuple[int, ...] = ()


@dataclass(slots=True, kw_only=True)
class ConsumerGroupHeartbeatRequest:
    group_id: str
    member_id: str
    member_epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    subscribed_topic_names: tuple[str, ...] | None = None
    subscribed_topic_regex: str | None = None  # from v1 on
    server_assignor: str | None = None
    topic_partitions: tuple[TopicPartitions, ...] | None = None


@dataclass(slots=True, kw_only=True)
class Assignment:
    topic_partitions: tuple[TopicPartitions, ...]


@dataclass(slots=True, kw_only=True)
class ConsumerGroupHeartbeatResponse:
    throttle_time_ms: int = 0
    error_code: ErrorCode
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: Assignment | None = None


MESSAGE = Message("consumer_group_heartbeat", ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse)
