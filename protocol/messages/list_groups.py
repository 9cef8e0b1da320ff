"""ListGroups (key 16): the groups that this broker coordinates."""

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class ListGroupsRequest:
    states_filter: tuple[str, ...] = ()  # from v4 on
    types_filter: tuple[str, ...] = ()  # from v5 on


@shape
class ListedGroup:
    group_id: str
    protocol_type: str
    group_state: str = ""  # from v4 on
    group_type: str = ""  # from v5 on


@shape
class ListGroupsResponse:
    throttle_time_ms: int = 0  # from v1 on
    error_code: ErrorCode
    groups: tuple[ListedGroup, ...]


MESSAGE = Message("list_groups", ListGroupsRequest, ListGroupsResponse)
