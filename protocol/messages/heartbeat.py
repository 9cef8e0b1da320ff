"""Heartbeat (key 12): keeps the session of a classic member alive."""

from collections.abc import Callable
from struct import Struct

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class HeartbeatRequest:
    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None  # from v3 on


@shape
class HeartbeatResponse:
    throttle_time_ms: int = 0  # from v1 on
    error_code: ErrorCode


def _writer(version: int) -> Callable[[int, HeartbeatResponse], bytes]:
    if version >= 4:
        flexible = Struct(">iiBihB").pack
        return lambda correlation_id, response: flexible(
            12, correlation_id, 0, response.throttle_time_ms, response.error_code, 0
        )
    if version >= 1:
        plain = Struct(">iiih").pack
        return lambda correlation_id, response: plain(
            10, correlation_id, response.throttle_time_ms, response.error_code
        )
    short = Struct(">iih").pack
    return lambda correlation_id, response: short(6, correlation_id, response.error_code)


MESSAGE = Message("heartbeat", HeartbeatRequest, HeartbeatResponse, write_by_hand=_writer)
