"""Heartbeat (key 12): a member says that it is alive."""

from dataclasses import dataclass

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode


@dataclass(slots=True, kw_only=True)
class HeartbeatRequest:
    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None  # from v3 on


@dataclass(slots=True, kw_only=True)
class HeartbeatResponse:
    throttle_time_ms: int = 0  # from v1 on
    error_code: ErrorCode


MESSAGE = Message("heartbeat", HeartbeatRequest, HeartbeatResponse)
