"""SyncGroup (key 14): the leader sends all assignments, and each member receives its own."""

from collections.abc import Callable
from functools import lru_cache

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape
from kohort.protocol.wire import FLEXIBLE, INT, PLAIN, SHORT, frame


@shape
class SyncGroupRequestAssignment:
    member_id: str
    assignment: bytes


@shape
class SyncGroupRequest:
    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None  # from v3 on
    protocol_type: str | None = None  # from v5 on
    protocol_name: str | None = None  # from v5 on
    assignments: tuple[SyncGroupRequestAssignment, ...]


@shape
class SyncGroupResponse:
    throttle_time_ms: int = 0  # from v1 on
    error_code: ErrorCode
    protocol_type: str | None = None  # from v5 on
    protocol_name: str | None = None  # from v5 on
    assignment: bytes


def _writer(version: int) -> Callable[[int, SyncGroupResponse], bytes]:
    flexible = version >= 4
    form = FLEXIBLE if flexible else PLAIN
    string, data, tags = form.string, form.data, form.tags

    @lru_cache(maxsize=64)
    def begin(
        throttle_time_ms: int, error_code: ErrorCode, protocol_type: str | None, protocol_name: str | None
    ) -> bytes:
        """Encode the fields that are equal for all members of a group."""
        parts = [INT.pack(throttle_time_ms)] if version >= 1 else []
        parts.append(SHORT.pack(error_code))
        if version >= 5:
            parts += string(protocol_type), string(protocol_name)
        return b"".join(parts)

    def write(correlation_id: int, response: SyncGroupResponse) -> bytes:
        alike = begin(response.throttle_time_ms, response.error_code, response.protocol_type, response.protocol_name)
        return frame(correlation_id, flexible, alike + data(response.assignment) + tags)

    return write


MESSAGE = Message("sync_group", SyncGroupRequest, SyncGroupResponse, write_by_hand=_writer)
