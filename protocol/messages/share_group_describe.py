"""ShareGroupDescribe (key 77): state and members of share groups (KIP-932)."""

from uuid import UUID

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class ShareGroupDescribeRequest:
    group_ids: tuple[str, ...] = ()
    include_authorized_operations: bool = False


@shape
class TopicPartitions:
    topic_id: UUID | None
    topic_name: str
    partitions: tuple[int, ...]


@shape
class Assignment:
    topic_partitions: tuple[TopicPartitions, ...]


@shape
class Member:
    member_id: str
    rack_id: str | None = None
    member_epoch: int
    client_id: str
    client_host: str
    subscribed_topic_names: tuple[str, ...]
    assignment: Assignment


@shape
class DescribedGroup:
    error_code: ErrorCode
    error_message: str | None = None
    group_id: str
    group_state: str = ""
    group_epoch: int = 0
    assignment_epoch: int = 0
    assignor_name: str = ""
    members: tuple[Member, ...] = ()
    authorized_operations: int = -(2**31)


@shape
class ShareGroupDescribeResponse:
    throttle_time_ms: int = 0
    groups: tuple[DescribedGroup, ...]


MESSAGE = Message("share_group_describe", ShareGroupDescribeRequest, ShareGroupDescribeResponse)
