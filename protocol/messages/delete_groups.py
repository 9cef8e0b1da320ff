"""DeleteGroups (key 42)."""

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class DeleteGroupsRequest:
    groups_names: tuple[str, ...] = ()


@shape
class DeletableGroupResult:
    group_id: str
    error_code: ErrorCode
    error_message: str | None = None  # from v3 on


@shape
class DeleteGroupsResponse:
    throttle_time_ms: int = 0
    results: tuple[DeletableGroupResult, ...]


MESSAGE = Message("delete_groups", DeleteGroupsRequest, DeleteGroupsResponse)
