"""JoinGroup (key 11): enter a group, or its next generation."""

from dataclasses import dataclass

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode


@dataclass(slots=True, kw_only=True)
class JoinGroupRequestProtocol:
    name: str
    metadata: bytes


@dataclass(slots=True, kw_only=True)
class JoinGroupRequest:
    group_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int = -1  # from v1 on
    member_id: str
    group_instance_id: str | None = None  # from v5 on
    protocol_type: str
    protocols: tuple[JoinGroupRequestProtocol, ...]
    reason: str | None = None  # from v8 on


@dataclass(slots=True, kw_only=True)
class JoinGroupResponseMember:
    member_id: str
    group_instance_id: str | None = None  # from v5 on
    metadata: bytes


@dataclass(slots=True, kw_only=True)
class JoinGroupResponse:
    throttle_time_ms: int = 0  # from v2 on
    error_code: ErrorCode
    generation_id: int = -1
    protocol_type: str | None = None  # from v7 on
    protocol_name: str | None
    leader: str
    skip_assignment: bool = False  # from v9 on
    member_id: str
    members: tuple[JoinGroupResponseMember, ...]


MESSAGE = Message("join_group", JoinGroupRequest, JoinGroupResponse)
