"""DeleteGroups (key 42)."""

from dataclasses import dataclass

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode


@dataclass(slots=True, kw_only=True)
class DeleteGroupsRequest:
    groups_names: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class DeletableGroupResult:
    group_id: str
    error_code: ErrorCode


@dataclass(slots=True, kw_only=True)
class DeleteGroupsResponse:
    throttle_time_ms: int = 0
    results: tuple[DeletableGroupResult, ...]


MESSAGE = Message("delete_groups", DeleteGroupsRequest, DeleteGroupsResponse)
