"""JoinGroup (key 11): joins a group or its next generation."""

from collections.abc import Callable
from functools import lru_cache
from struct import Struct

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape
from kohort.protocol.wire import FLEXIBLE, INT, PLAIN, compact_length, compact_string, frame

_ERROR_AND_GENERATION = Struct(">hi").pack


@shape
class JoinGroupRequestProtocol:
    name: str
    metadata: bytes


@shape
class JoinGroupRequest:
    group_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int = -1  # from v1 on
    member_id: str
    group_instance_id: str | None = None  # from v5 on
    protocol_type: str
    protocols: tuple[JoinGroupRequestProtocol, ...]
    reason: str | None = None  # from v8 on


@shape
class JoinGroupResponseMember:
    member_id: str
    group_instance_id: str | None = None  # from v5 on
    metadata: bytes


@shape
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


def _writer(version: int) -> Callable[[int, JoinGroupResponse], bytes]:
    flexible = version >= 6
    form = FLEXIBLE if flexible else PLAIN
    string, tags = form.string, form.tags
    no_members = form.array(0) + tags

    @lru_cache(maxsize=64)
    def begin(
        throttle_time_ms: int,
        error_code: ErrorCode,
        generation_id: int,
        protocol_type: str | None,
        protocol_name: str | None,
        leader: str,
        skip_assignment: bool,
    ) -> bytes:
        """Encode the fields that are equal for all members of a generation."""
        parts = [INT.pack(throttle_time_ms)] if version >= 2 else []
        parts.append(_ERROR_AND_GENERATION(error_code, generation_id))
        if version >= 7:
            parts += string(protocol_type), string(protocol_name)
        else:  # could not be null then
            parts.append(string(protocol_name or ""))
        parts.append(string(leader))
        if version >= 9:
            parts.append(b"\x01" if skip_assignment else b"\x00")
        return b"".join(parts)

    def write(correlation_id: int, response: JoinGroupResponse) -> bytes:
        alike = begin(
            response.throttle_time_ms,
            response.error_code,
            response.generation_id,
            response.protocol_type,
            response.protocol_name,
            response.leader,
            response.skip_assignment,
        )
        members = response.members
        if not members:
            return frame(correlation_id, flexible, alike + string(response.member_id) + no_members)
        parts = [alike, string(response.member_id), form.array(len(members))]
        if flexible:
            _add_members(parts, members)
        else:
            for member in members:
                parts.append(string(member.member_id))
                if version >= 5:
                    parts.append(string(member.group_instance_id))
                parts.append(form.data(member.metadata))
        parts.append(tags)
        return frame(correlation_id, flexible, b"".join(parts))

    return write


def _add_members(parts: list[bytes], members: tuple[JoinGroupResponseMember, ...]) -> None:
    """Encode the members. This loop must be fast: a leader may receive a thousand of them."""
    for member in members:
        member_id, metadata = member.member_id.encode(), member.metadata
        instance_id = member.group_instance_id
        parts += (
            compact_length(len(member_id)),
            member_id,
            b"\x00" if instance_id is None else compact_string(instance_id),
            compact_length(len(metadata)),
            metadata,
            b"\x00",
        )


def _is_small(response: JoinGroupResponse) -> bool:
    """Return whether a response is small. The leader's one has the metadata of all members, up to a megabyte each."""
    return sum([len(member.metadata) for member in response.members]) <= _SMALL_BYTES


_SMALL_BYTES = 1 << 20

MESSAGE = Message("join_group", JoinGroupRequest, JoinGroupResponse, write_by_hand=_writer, small=_is_small)
