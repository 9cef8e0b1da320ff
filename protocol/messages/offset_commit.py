"""OffsetCommit (key 8): commits offsets of a group."""

from collections.abc import Callable
from dataclasses import field
from struct import Struct
from uuid import UUID

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape
from kohort.protocol.wire import FLEXIBLE, INT, PLAIN, frame, uuid


@shape
class OffsetCommitRequestPartition:
    partition_index: int
    committed_offset: int
    committed_leader_epoch: int = -1  # from v6 on
    committed_metadata: str | None


@shape
class OffsetCommitRequestTopic:
    topic_id: UUID | None = None  # from v10 on
    partitions: tuple[OffsetCommitRequestPartition, ...]
    name: str = ""  # up to v9


@shape
class OffsetCommitRequest:
    group_id: str
    generation_id_or_member_epoch: int = -1
    member_id: str
    group_instance_id: str | None = None  # from v7 on
    topics: tuple[OffsetCommitRequestTopic, ...]
    retention_time_ms: int = -1  # up to v4


@shape
class OffsetCommitResponsePartition:
    partition_index: int
    error_code: ErrorCode


@shape
class OffsetCommitResponseTopic:
    topic_id: UUID | None = None  # from v10 on
    partitions: tuple[OffsetCommitResponsePartition, ...]
    name: str = ""  # up to v9
    # a version and its encoded bytes: a cached response is encoded only once
    encoded: tuple[int, bytes] | None = field(default=None, init=False, compare=False, repr=False)


@shape
class OffsetCommitResponse:
    throttle_time_ms: int = 0  # from v3 on
    topics: tuple[OffsetCommitResponseTopic, ...]


def _writer(version: int) -> Callable[[int, OffsetCommitResponse], bytes]:
    flexible = version >= 8
    form = FLEXIBLE if flexible else PLAIN
    array, string, tags = form.array, form.string, form.tags
    partition_without_tags, partition_with_tags = Struct(">ih").pack, Struct(">ihB").pack

    def encode(topic: OffsetCommitResponseTopic) -> bytes:
        parts = [uuid(topic.topic_id) if version >= 10 else string(topic.name), array(len(topic.partitions))]
        if flexible:
            parts += [partition_with_tags(p.partition_index, p.error_code, 0) for p in topic.partitions]
        else:
            parts += [partition_without_tags(p.partition_index, p.error_code) for p in topic.partitions]
        parts.append(tags)
        return b"".join(parts)

    def write(correlation_id: int, response: OffsetCommitResponse) -> bytes:
        parts = [INT.pack(response.throttle_time_ms)] if version >= 3 else []
        parts.append(array(len(response.topics)))
        for topic in response.topics:
            encoded = topic.encoded
            if encoded is None or encoded[0] != version:
                encoded = topic.encoded = version, encode(topic)
            parts.append(encoded[1])
        parts.append(tags)
        return frame(correlation_id, flexible, b"".join(parts))

    return write


MESSAGE = Message("offset_commit", OffsetCommitRequest, OffsetCommitResponse, write_by_hand=_writer)
