"""OffsetFetch (key 9): the committed offsets of groups."""

from collections.abc import Callable
from dataclasses import field
from struct import Struct
from typing import Final
from uuid import UUID

from kohort.protocol.codec import Message, Older
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape
from kohort.protocol.wire import FLEXIBLE, INT, PLAIN, SHORT, Form, compact_string, frame, frame_header, uuid

_WITH_EPOCH: Final = Struct(">iqi").pack
_WITHOUT_EPOCH: Final = Struct(">iq").pack
_END: Final = Struct(">hB").pack

_MARK: Final = b"\xff\xff"  # placeholder of a partition; no string contains these bytes, and no length below 16,384


@shape
class OffsetFetchRequestTopic:
    name: str = ""  # up to v9
    topic_id: UUID | None = None  # from v10 on
    partition_indexes: tuple[int, ...]


@shape
class OffsetFetchRequestGroup:
    group_id: str
    member_id: str | None = None  # from v9 on
    member_epoch: int = -1  # from v9 on
    topics: tuple[OffsetFetchRequestTopic, ...] | None  # None: all committed offsets, from v2 on


@shape
class OffsetFetchRequest:
    groups: tuple[OffsetFetchRequestGroup, ...]  # one, up to v7
    require_stable: bool = False  # from v7 on


@shape
class OffsetFetchResponsePartition:
    partition_index: int
    committed_offset: int
    committed_leader_epoch: int = -1  # from v5 on
    metadata: str | None
    error_code: ErrorCode
    # encoded bytes from v6 on: a cached response is encoded only once
    encoded: bytes | None = field(default=None, init=False, compare=False, repr=False)


@shape
class OffsetFetchResponseTopic:
    name: str = ""  # up to v9
    topic_id: UUID | None = None  # from v10 on
    partitions: tuple[OffsetFetchResponsePartition, ...]


@shape
class OffsetFetchResponseGroup:
    group_id: str
    topics: tuple[OffsetFetchResponseTopic, ...]
    error_code: ErrorCode = ErrorCode.none  # from v2 on


@shape
class OffsetFetchResponse:
    throttle_time_ms: int = 0  # from v3 on
    groups: tuple[OffsetFetchResponseGroup, ...]  # up to v7 the first one counts, and its id is not sent


@shape
class _RequestForOne:
    group_id: str
    topics: tuple[OffsetFetchRequestTopic, ...] | None
    require_stable: bool = False


@shape
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


def _writer(version: int) -> Callable[[int, OffsetFetchResponse], bytes]:
    flexible = version >= 6
    form = FLEXIBLE if flexible else PLAIN
    array, string, tags = form.array, form.string, form.tags
    add_partitions = _partitions_writer(version, form)

    def add_topics(parts: list[bytes], topics: tuple[OffsetFetchResponseTopic, ...]) -> None:
        parts.append(array(len(topics)))
        for topic in topics:
            parts.append(uuid(topic.topic_id) if version >= 10 else string(topic.name))
            parts.append(array(len(topic.partitions)))
            add_partitions(parts, topic.partitions)
            parts.append(tags)

    def write(correlation_id: int, response: OffsetFetchResponse) -> bytes:
        parts = [INT.pack(response.throttle_time_ms)] if version >= 3 else []
        if version >= 8:
            parts.append(array(len(response.groups)))
            for group in response.groups:
                parts.append(string(group.group_id))
                add_topics(parts, group.topics)
                parts += SHORT.pack(group.error_code), tags
        else:
            (group,) = response.groups
            add_topics(parts, group.topics)
            if version >= 2:
                parts.append(SHORT.pack(group.error_code))
        parts.append(tags)
        return frame(correlation_id, flexible, b"".join(parts))

    return write


def encoded(partition: OffsetFetchResponsePartition) -> bytes:
    """Return the encoded bytes of a partition from version 6 on, and cache them."""
    metadata = partition.metadata
    data = partition.encoded = b"".join(
        (
            _WITH_EPOCH(partition.partition_index, partition.committed_offset, partition.committed_leader_epoch),
            compact_string(metadata) if metadata else b"\x00" if metadata is None else b"\x01",
            _END(partition.error_code, 0),
        )
    )
    return data


def around_partitions(version: int, request_group: OffsetFetchRequestGroup) -> list[bytes]:
    """Return the bytes before a group's first partition, between partitions, and after the last one.

    For versions 6 to 9 and topics with names, without the length and the response header.
    """
    topics = []
    for topic in request_group.topics or ():
        partitions = []
        for index in topic.partition_indexes:
            partition = OffsetFetchResponsePartition(
                partition_index=index, committed_offset=-1, metadata=None, error_code=ErrorCode.none
            )
            partition.encoded = _MARK
            partitions.append(partition)
        topics.append(OffsetFetchResponseTopic(name=topic.name, partitions=tuple(partitions)))
    group = OffsetFetchResponseGroup(group_id=request_group.group_id, topics=tuple(topics))
    written = _writer(version)(0, OffsetFetchResponse(groups=(group,)))
    return written[len(frame_header(0, True, 0)) :].split(_MARK)


def _partitions_writer(
    version: int, form: Form
) -> Callable[[list[bytes], tuple[OffsetFetchResponsePartition, ...]], None]:
    string = form.string

    def newer(parts: list[bytes], partitions: tuple[OffsetFetchResponsePartition, ...]) -> None:
        for p in partitions:
            parts.append(p.encoded or encoded(p))

    def older(parts: list[bytes], partitions: tuple[OffsetFetchResponsePartition, ...]) -> None:
        for p in partitions:
            if version >= 5:
                parts.append(_WITH_EPOCH(p.partition_index, p.committed_offset, p.committed_leader_epoch))
            else:
                parts.append(_WITHOUT_EPOCH(p.partition_index, p.committed_offset))
            parts += string(p.metadata), SHORT.pack(p.error_code)

    return newer if form is FLEXIBLE else older


MESSAGE = Message(
    "offset_fetch",
    OffsetFetchRequest,
    OffsetFetchResponse,
    older_request=Older(7, _RequestForOne, _request_to_newest, _request_from_newest),
    older_response=Older(7, _ResponseForOne, _response_to_newest, _response_from_newest),
    write_by_hand=_writer,
)
