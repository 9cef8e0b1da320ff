"""SyncGroup (key 14): the leader hands in everybody's assignment, everybody hears their own."""

from collections.abc import Callable
from dataclasses import dataclass

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.wire import FLEXIBLE, INT, PLAIN, SHORT, frame


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


def _writer(version: int) -> Callable[[int, SyncGroupResponse], bytes]:
    flexible = version >= 4
    form = FLEXIBLE if flexible else PLAIN
    string = form.string

    def write(correlation_id: int, response: SyncGroupResponse) -> bytes:
        parts = [INT.pack(response.throttle_time_ms)] if version >= 1 else []
        parts.append(SHORT.pack(response.error_code))
        if version >= 5:
            parts += string(response.protocol_type), string(response.protocol_name)
        parts += form.data(response.assignment), form.tags
        return frame(correlation_id, flexible, b"".join(parts))

    return write


MESSAGE = Message("sync_group", SyncGroupRequest, SyncGroupResponse, write_by_hand=_writer)
