"""Keys and values of `__consumer_offsets` in Kafka's format (offsets-topic §4, §5).

These records are written by hand, because commits are frequent and classic groups large: type 1 (offset commit: value
version 4, or 3 as up to 4.0, or 1 with its own expiry) and type 2 (group metadata: value version 3). Every version
since Kafka 0.9 can be read, by the table of layouts.
"""

import struct
from functools import lru_cache
from typing import Final, NamedTuple
from uuid import UUID

from kohort.protocol.records.layouts import CONSUMER_OFFSETS, GROUP_METADATA, OFFSET_COMMIT, OFFSET_COMMIT_LEGACY
from kohort.protocol.records.record_reader import RecordReader, read_value
from kohort.protocol.wire import compact_length

LONGEST_TEXT: Final = 32_767  # maximum bytes of a text in a key or in group metadata

_SURELY_STORABLE: Final = LONGEST_TEXT // 4  # characters; each takes at most four bytes

EXPIRING_OFFSET_VALUE: Final = 1  # the value version with an expiry time

_SHORT: Final = struct.Struct(">h")
_INT: Final = struct.Struct(">i")
_LONG: Final = struct.Struct(">q")
_LONG_AND_COUNT: Final = struct.Struct(">qi")
_TIMEOUTS_AND_LENGTH: Final = struct.Struct(">iii")
_OFFSET_V1: Final = struct.Struct(">hq")
_OFFSET_V4: Final = struct.Struct(">hqi")
# Version, offset, leader epoch, length of the metadata plus 1, time and number of tags, of a value without either.
BARE_OFFSET_V4: Final = struct.Struct(">hqiBqB")
_NULL: Final = b"\xff\xff"
_NO_TAGS: Final = b"\x00"
_TOPIC_ID_TAG: Final = b"\x01\x00\x10"
_LONGEST_SHORT: Final = 127  # maximum length of a compact text whose length takes one byte

_OFFSET_LAYOUT: Final = CONSUMER_OFFSETS.values[OFFSET_COMMIT][0]
_GROUP_LAYOUT: Final = CONSUMER_OFFSETS.values[GROUP_METADATA][0]


class OffsetKey(NamedTuple):
    """Key of an offset commit."""

    group_id: str
    topic: str
    partition: int


class GroupKey(NamedTuple):
    """Key of a classic group's metadata."""

    group_id: str


class OffsetValue(NamedTuple):
    """An offset commit. Leader epoch, expiry and topic id are -1 or None in versions without them."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int = -1
    topic_id: UUID | None = None


class MemberValue(NamedTuple):
    """A member in a group's record."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int  # -1 in version 0, which uses the session timeout
    session_timeout_ms: int
    subscription: bytes
    assignment: bytes


class GroupValue(NamedTuple):
    """A classic group's record; `protocol_type` is empty until a member has joined."""

    protocol_type: str
    generation_id: int
    protocol_name: str | None
    leader_id: str | None
    state_timestamp_ms: int
    members: tuple[MemberValue, ...]


def is_storable(text: str) -> bool:
    """Return whether a text fits the two-byte length of texts in keys."""
    return len(text) <= _SURELY_STORABLE or len(text.encode()) <= LONGEST_TEXT


def offset_key(group_id: str, topic: str, partition: int) -> bytes:
    return b"".join((_SHORT.pack(OFFSET_COMMIT), _string(group_id), _string(topic), _INT.pack(partition)))


def group_key(group_id: str) -> bytes:
    return _SHORT.pack(GROUP_METADATA) + _string(group_id)


def expiring_offset_value(offset: int, metadata: str, commit_timestamp_ms: int, expire_timestamp_ms: int) -> bytes:
    """Return a value of version 1, which has an expiry time, but no leader epoch and no topic id."""
    return b"".join(
        (
            _OFFSET_V1.pack(1, offset),
            _string(metadata),
            _LONG.pack(commit_timestamp_ms),
            _LONG.pack(expire_timestamp_ms),
        )
    )


def offset_value_parts(metadata: str, topic_id: UUID | None, version: int = 4) -> tuple[bytes, bytes, bytes]:
    """Return the three parts of a value of version 4 or 3 that repeated commits have in common.

    They surround the offset with its leader epoch (12 bytes) and the time of the commit (8 bytes).
    """
    if version == 3:
        return b"\x00\x03", _string(metadata), b""
    raw = metadata.encode()
    tags = _NO_TAGS if topic_id is None else _TOPIC_ID_TAG + topic_id.bytes
    return b"\x00\x04", compact_length(len(raw)) + raw, tags


def group_value(group: GroupValue) -> bytes:
    """Return a value of version 3, which every release since 2.3 writes."""
    parts = [
        b"\x00\x03",
        _string(group.protocol_type),
        _INT.pack(group.generation_id),
        _nullable(group.protocol_name),
        _nullable(group.leader_id),
        _LONG_AND_COUNT.pack(group.state_timestamp_ms, len(group.members)),
    ]
    for member_id, instance_id, client_id, host, rebalance_ms, session_ms, subscription, assignment in group.members:
        parts += (
            _string(member_id),
            _NULL if instance_id is None else _string(instance_id),
            _client(client_id, host),
            _TIMEOUTS_AND_LENGTH.pack(rebalance_ms, session_ms, len(subscription)),
            subscription,
            _INT.pack(len(assignment)),
            assignment,
        )
    return b"".join(parts)


@lru_cache(maxsize=256)
def _client(client_id: str, client_host: str) -> bytes:
    """Return the client id and host of a member, which are the same for all members of an application."""
    return _string(client_id) + _string(client_host)


def read_key(key: bytes) -> OffsetKey | GroupKey | None:
    """Return the key, or None for the records of consumer, share and streams groups.

    Raises:
        RecordError: The bytes are truncated.
    """
    reader = RecordReader(key)
    record_type = reader.int16()
    if record_type in (OFFSET_COMMIT_LEGACY, OFFSET_COMMIT):
        return OffsetKey(reader.string(), reader.string(), reader.int32())
    if record_type == GROUP_METADATA:
        return GroupKey(reader.string())
    return None


def read_offset_value(value: bytes) -> OffsetValue:
    """Return an offset commit of any version.

    Raises:
        RecordError: The version is unknown, or the bytes are truncated.
    """
    usual = _read_usual_offset_value(value)
    if usual is not None:
        return usual
    *fields, topic_id = read_value(_OFFSET_LAYOUT, value)
    return OffsetValue._make((*fields, _topic_id(topic_id)))


def _read_usual_offset_value(value: bytes) -> OffsetValue | None:
    """Return a value of version 4 with short metadata and no tag except the topic id, or None for any other value.

    Nearly every commit in a log has this form. Reading field by field makes a load four times as slow.
    """
    if len(value) < _OFFSET_V4.size + 1:
        return None
    version, offset, leader_epoch = _OFFSET_V4.unpack_from(value)
    length = value[14]
    metadata_end = 14 + length
    if version != 4 or not 0 < length <= _LONGEST_SHORT:
        return None
    tags = value[metadata_end + 8 :]
    try:
        if tags == _NO_TAGS:
            topic_id = None
        elif len(tags) == 19 and tags.startswith(_TOPIC_ID_TAG):
            topic_id = _topic_id(tags[3:])
        else:
            return None
        metadata = value[15:metadata_end].decode()
    except UnicodeDecodeError:
        return None
    (commit_timestamp_ms,) = _LONG.unpack_from(value, metadata_end)
    return OffsetValue(offset, leader_epoch, metadata, commit_timestamp_ms, -1, topic_id)


@lru_cache(maxsize=4096)
def _topic_id(raw: bytes) -> UUID | None:
    return UUID(bytes=raw) if any(raw) else None


def read_group_value(value: bytes) -> GroupValue:
    """Return a classic group of any version.

    Raises:
        RecordError: The version is unknown, or the bytes are truncated.
    """
    *fields, members = read_value(_GROUP_LAYOUT, value)
    return GroupValue._make((*fields, tuple(map(MemberValue._make, members))))


def _string(text: str) -> bytes:
    raw = text.encode()
    return _SHORT.pack(len(raw)) + raw


def _nullable(text: str | None) -> bytes:
    return _NULL if text is None else _string(text)
