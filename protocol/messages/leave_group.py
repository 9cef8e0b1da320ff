"""LeaveGroup (key 13): members leave, or are removed."""

from collections.abc import Callable

from kohort.protocol.codec import Message, Older
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape
from kohort.protocol.wire import FLEXIBLE, INT, PLAIN, SHORT, frame


@shape
class MemberIdentity:
    member_id: str
    group_instance_id: str | None = None
    reason: str | None = None  # from v5 on


@shape
class LeaveGroupRequest:
    group_id: str
    members: tuple[MemberIdentity, ...]  # one, up to v2


@shape
class MemberResponse:
    member_id: str
    group_instance_id: str | None
    error_code: ErrorCode


@shape
class LeaveGroupResponse:
    throttle_time_ms: int = 0  # from v1 on
    error_code: ErrorCode
    members: tuple[
        MemberResponse, ...
    ] = ()  # up to v2 only the first one's error is sent, if the response has no error


@shape
class _RequestForOne:
    group_id: str
    member_id: str


@shape
class _ResponseForOne:
    throttle_time_ms: int = 0
    error_code: ErrorCode


def _request_to_newest(old: _RequestForOne) -> LeaveGroupRequest:
    return LeaveGroupRequest(group_id=old.group_id, members=(MemberIdentity(member_id=old.member_id),))


def _request_from_newest(new: LeaveGroupRequest) -> _RequestForOne:
    return _RequestForOne(group_id=new.group_id, member_id=new.members[0].member_id)


def _response_to_newest(old: _ResponseForOne) -> LeaveGroupResponse:
    return LeaveGroupResponse(throttle_time_ms=old.throttle_time_ms, error_code=old.error_code)


def _response_from_newest(new: LeaveGroupResponse) -> _ResponseForOne:
    return _ResponseForOne(throttle_time_ms=new.throttle_time_ms, error_code=_error_of_one(new))


def _error_of_one(response: LeaveGroupResponse) -> ErrorCode:
    if response.error_code is ErrorCode.none and response.members:
        return response.members[0].error_code
    return response.error_code


def _writer(version: int) -> Callable[[int, LeaveGroupResponse], bytes]:
    flexible = version >= 4
    form = FLEXIBLE if flexible else PLAIN
    string, tags = form.string, form.tags

    def write(correlation_id: int, response: LeaveGroupResponse) -> bytes:
        parts = [INT.pack(response.throttle_time_ms)] if version >= 1 else []
        if version >= 3:
            parts += SHORT.pack(response.error_code), form.array(len(response.members))
            for member in response.members:
                parts += (
                    string(member.member_id),
                    string(member.group_instance_id),
                    SHORT.pack(member.error_code),
                    tags,
                )
        else:
            parts.append(SHORT.pack(_error_of_one(response)))
        parts.append(tags)
        return frame(correlation_id, flexible, b"".join(parts))

    return write


MESSAGE = Message(
    "leave_group",
    LeaveGroupRequest,
    LeaveGroupResponse,
    older_request=Older(2, _RequestForOne, _request_to_newest, _request_from_newest),
    older_response=Older(2, _ResponseForOne, _response_to_newest, _response_from_newest),
    write_by_hand=_writer,
)
