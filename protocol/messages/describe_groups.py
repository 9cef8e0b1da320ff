"""DescribeGroups (key 15): state and members of groups."""

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class DescribeGroupsRequest:
    groups: tuple[str, ...] = ()
    include_authorized_operations: bool = False  # from v3 on


@shape
class DescribedGroupMember:
    member_id: str
    group_instance_id: str | None = None  # from v4 on
    client_id: str
    client_host: str
    member_metadata: bytes
    member_assignment: bytes


@shape
class DescribedGroup:
    error_code: ErrorCode
    error_message: str | None = None  # from v6 on
    group_id: str
    group_state: str
    protocol_type: str
    protocol_data: str
    members: tuple[DescribedGroupMember, ...]
    authorized_operations: int = -(2**31)  # from v3 on


@shape
class DescribeGroupsResponse:
    throttle_time_ms: int = 0  # from v1 on
    groups: tuple[DescribedGroup, ...]


MESSAGE = Message("describe_groups", DescribeGroupsRequest, DescribeGroupsResponse)
