"""OffsetFetch (key 9): how far groups have got."""

from dataclasses import dataclass
from uuid import UUID

from kohort.protocol.codec import Message, Older
from kohort.protocol.errors import ErrorCode


@dataclass(slots=True, kw_only=True)
class OffsetFetchRequestTopic:
    name: str = ""  # up to v9
    topic_id: UUID | None = None  # from v10 on
    partition_indexes: tuple[int, ...]


@dataclass(slots=True, kw_only=True)
class OffsetFetchRequestGroup:
    group_id: str
    member_id: str | None = None  # from v9 on
    member_epoch: int = -1  # from v9 on
    topics: tuple[OffsetFetchRequestTopic, ...] | None
    """None: all that the group has committed; from v2 on."""


@dataclass(slots=True, kw_only=True)
class OffsetFetchRequest:
    groups: tuple[OffsetFetchRequestGroup, ...]  # one, up to v7
    require_stable: bool = False  # from v7 on


@dataclass(slots=True, kw_only=True)
class OffsetFetchResponsePartition:
    partition_index: int
    committed_offset: int
    committed_leader_epoch: int = -1  # from v5 on
    metadata: str | None
    error_code: ErrorCode


@dataclass(slots=True, kw_only=True)
class OffsetFetchResponseTopic:
    name: str = ""  # up to v9
    topic_id: UUID | None = None  # from v10 on
    partitions: tuple[OffsetFetchResponsePartition, ...]


@dataclass(slots=True, kw_only=True)
class OffsetFetchResponseGroup:
    group_id: str
    topics: tuple[OffsetFetchResponseTopic, ...]
    error_code: ErrorCode = ErrorCode.none  # from v2 on


@dataclass(slots=True, kw_only=True)
class OffsetFetchResponse:
    throttle_time_ms: int = 0  # from v3 on
    groups: tuple[OffsetFetchResponseGroup, ...]  # up to v7 the first one counts, and its id is not sent


@dataclass(slots=True, kw_only=True)
class _RequestForOne:
    group_id: str
    topics: tuple[OffsetFetchRequestTopic, ...] | None
    require_stable: bool = False


@dataclass(slots=True, kw_only=True)
class _ResponseForOne:
    throttle_time_ms: int = 0
    topics: tuple[OffsetFetchResponseTopic, ...]
    error_code: ErrorCode = ErrorCode.none


def _request_to_newest(old: _RequestForOne) -> OffsetFetchRequest:
    group = OffsetFetchRequestGroup(group_id=old.group_id, topics=old.topics)
    return OffsetFetchRequest(groups=(group,), require_stable=old.require_stable)


def _request_from_newest(new: OffsetFetchRequest) -> _RequestForOne:
    group = new.groups[0]
    return _RequestForOne(group_id=group.group_id, topics=group.topics, require_stable=new.require_stable)


def _response_to_newest(old: _ResponseForOne) -> OffsetFetchResponse:
    group = OffsetFetchResponseGroup(group_id="", topics=old.topics, error_code=old.error_code)
    return OffsetFetchResponse(throttle_time_ms=old.throttle_time_ms, groups=(group,))


def _response_from_newest(new: OffsetFetchResponse) -> _ResponseForOne:
    group = new.groups[0]
    return _ResponseForOne(throttle_time_ms=new.throttle_time_ms, topics=group.topics, error_code=group.error_code)


MESSAGE = Message(
    "offset_fetch",
    OffsetFetchRequest,
    OffsetFetchResponse,
    older_request=Older(7, _RequestForOne, _request_to_newest, _request_from_newest),
    older_response=Older(7, _ResponseForOne, _response_to_newest, _response_from_newest),
)
