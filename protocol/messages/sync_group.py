"""SyncGroup (key 14): the leader hands in everybody's assignment, everybody hears their own."""

from dataclasses import dataclass

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode


@dataclass(slots=True, kw_only=True)
class SyncGroupRequestAssignment:
    member_id: str
    assignment: bytes


@dataclass(slots=True, kw_only=True)
class SyncGroupRequest:
    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None  # from v3 on
    protocol_type: str | None = None  # from v5 on
    protocol_name: str | None = None  # from v5 on
    assignments: tuple[SyncGroupRequestAssignment, ...]


@dataclass(slots=True, kw_only=True)
class SyncGroupResponse:
    throttle_time_ms: int = 0  # from v1 on
    error_code: ErrorCode
    protocol_type: str | None = None  # from v5 on
    protocol_name: str | None = None  # from v5 on
    assignment: bytes


MESSAGE = Message("sync_group", SyncGroupRequest, SyncGroupResponse)
