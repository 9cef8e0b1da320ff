"""ShareGroupHeartbeat (key 76): subscription and assignment of a share group's member (KIP-932)."""

from uuid import UUID

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class TopicPartitions:
    topic_id: UUID | None
    partitions: tuple[int, ...] = ()


@shape
class ShareGroupHeartbeatRequest:
    group_id: str
    member_id: str
    member_epoch: int
    rack_id: str | None = None
    subscribed_topic_names: tuple[str, ...] | None = None


@shape
class Assignment:
    topic_partitions: tuple[TopicPartitions, ...]


@shape
class ShareGroupHeartbeatResponse:
    throttle_time_ms: int = 0
    error_code: ErrorCode
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: Assignment | None = None


MESSAGE = Message("share_group_heartbeat", ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse)
