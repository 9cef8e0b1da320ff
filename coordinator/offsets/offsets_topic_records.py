"""Keys and values of `__consumer_offsets` in Kafka's format (offsets-topic §4, §5).

Written are type 1 (offset commit: value version 4, or 3 as up to 4.0, or 1 with its own expiry) and type 2 (group
metadata: value version 3). Every version since Kafka 0.9 can be read.
"""

import struct
from collections.abc import Callable
from functools import lru_cache
from typing import Final, NamedTuple, TypeVar
from uuid import UUID

from kohort.protocol.wire import compact_length

T = TypeVar("T")

OFFSET_COMMIT: Final = 1
GROUP_METADATA: Final = 2

LONGEST_TEXT: Final = 32_767  # maximum bytes of a text in a key or in group metadata

EXPIRING_OFFSET_VALUE: Final = 1  # the value version with an expiry time

_SHORT: Final = struct.Struct(">h")
_INT: Final = struct.Struct(">i")
_LONG: Final = struct.Struct(">q")
_TIMEOUTS_AND_LENGTH: Final = struct.Struct(">iii")
_OFFSET_V1: Final = struct.Struct(">hq")
_OFFSET_V4: Final = struct.Struct(">hqi")
_NULL: Final = b"\xff\xff"
_NO_TAGS: Final = b"\x00"
_TOPIC_ID_TAG: Final = b"\x01\x00\x10"
_LONGEST_SHORT: Final = 127  # maximum length of a compact text whose length takes one byte


class UnreadableRecord(ValueError):
    """A record of an unknown type or version, or a truncated one."""


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
    return len(text) <= LONGEST_TEXT and len(text.encode()) <= LONGEST_TEXT


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
        _SHORT.pack(3),
        _string(group.protocol_type),
        _INT.pack(group.generation_id),
        _nullable(group.protocol_name),
        _nullable(group.leader_id),
        _LONG.pack(group.state_timestamp_ms),
        _INT.pack(len(group.members)),
    ]
    encoded_clients: dict[tuple[str, str], bytes] = {}  # members of one application have the same client id and host
    for member_id, instance_id, client_id, host, rebalance_ms, session_ms, subscription, assignment in group.members:
        client = encoded_clients.get((client_id, host))
        if client is None:
            client = encoded_clients[client_id, host] = _string(client_id) + _string(host)
        parts += (
            _string(member_id),
            _NULL if instance_id is None else _string(instance_id),
            client,
            _TIMEOUTS_AND_LENGTH.pack(rebalance_ms, session_ms, len(subscription)),
            subscription,
            _INT.pack(len(assignment)),
            assignment,
        )
    return b"".join(parts)


def read_key(key: bytes) -> OffsetKey | GroupKey | None:
    """Return the key, or None for the records of consumer, share and streams groups.

    Raises UnreadableRecord for truncated bytes.
    """
    reader = RecordReader(key)
    record_type = reader.int16()
    if record_type in (0, OFFSET_COMMIT):
        return OffsetKey(reader.string(), reader.string(), reader.int32())
    if record_type == GROUP_METADATA:
        return GroupKey(reader.string())
    return None


def read_offset_value(value: bytes) -> OffsetValue:
    """Return an offset commit of version 0 to 4. Raises UnreadableRecord."""
    return _read_usual_offset_value(value) or _read_any_offset_value(value)


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


def _read_any_offset_value(value: bytes) -> OffsetValue:
    reader = RecordReader(value)
    version = reader.int16()
    if not 0 <= version <= 4:
        raise UnreadableRecord(f"unsupported version {version} of an offset commit; expected 0 to 4")
    offset = reader.int64()
    leader_epoch = reader.int32() if version >= 3 else -1
    metadata = reader.compact_string() if version >= 4 else reader.string()
    commit_timestamp_ms = reader.int64()
    expire_timestamp_ms = reader.int64() if version == 1 else -1
    topic_id = None
    if version >= 4 and (raw := reader.tags().get(0)) is not None and any(raw):
        if len(raw) != 16:
            raise UnreadableRecord(f"a topic id has {len(raw)} bytes; expected 16")
        topic_id = _topic_id(raw)
    return OffsetValue(
        offset=offset,
        leader_epoch=leader_epoch,
        metadata=metadata,
        commit_timestamp_ms=commit_timestamp_ms,
        expire_timestamp_ms=expire_timestamp_ms,
        topic_id=topic_id,
    )


def read_group_value(value: bytes) -> GroupValue:
    reader = RecordReader(value)
    version = reader.int16()
    if not 0 <= version <= 3:  # version 4 is defined, but no release writes it
        raise UnreadableRecord(f"unsupported version {version} of group metadata; expected 0 to 3")
    protocol_type = reader.string()
    generation_id = reader.int32()
    protocol_name = reader.nullable_string()
    leader_id = reader.nullable_string()
    state_timestamp_ms = reader.int64() if version >= 2 else -1
    members = tuple(_member(reader, version) for _ in range(reader.int32()))
    return GroupValue(
        protocol_type=protocol_type,
        generation_id=generation_id,
        protocol_name=protocol_name,
        leader_id=leader_id,
        state_timestamp_ms=state_timestamp_ms,
        members=members,
    )


def _member(reader: "RecordReader", version: int) -> MemberValue:
    return MemberValue(
        member_id=reader.string(),
        group_instance_id=reader.nullable_string() if version >= 3 else None,
        client_id=reader.string(),
        client_host=reader.string(),
        rebalance_timeout_ms=reader.int32() if version >= 1 else -1,
        session_timeout_ms=reader.int32(),
        subscription=reader.blob(),
        assignment=reader.blob(),
    )


def _string(text: str) -> bytes:
    raw = text.encode()
    return _SHORT.pack(len(raw)) + raw


def _nullable(text: str | None) -> bytes:
    return _NULL if text is None else _string(text)


class RecordReader:
    """Reads values from the front of a record; raises UnreadableRecord if bytes are missing."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def _take(self, size: int) -> bytes:
        end = self._at + size
        if size < 0 or end > len(self._data):
            raise UnreadableRecord(f"truncated record: {len(self._data)} bytes, expected at least {end}")
        data = self._data[self._at : end]
        self._at = end
        return data

    def int8(self) -> int:
        return int.from_bytes(self._take(1), "big", signed=True)

    def int16(self) -> int:
        return int.from_bytes(self._take(2), "big", signed=True)

    def int32(self) -> int:
        return int.from_bytes(self._take(4), "big", signed=True)

    def int64(self) -> int:
        return int.from_bytes(self._take(8), "big", signed=True)

    def uvarint(self) -> int:
        value = shift = 0
        while (byte := self._take(1)[0]) & 128:
            value |= (byte & 127) << shift
            shift += 7
            if shift > 28:
                raise UnreadableRecord("a length is encoded in more than five bytes")
        return value | byte << shift

    def _text(self, size: int) -> str:
        try:
            return self._take(size).decode()
        except UnicodeDecodeError as error:
            raise UnreadableRecord(str(error)) from None

    def string(self) -> str:
        return self._text(self.int16())

    def nullable_string(self) -> str | None:
        size = self.int16()
        return None if size < 0 else self._text(size)

    def compact_string(self) -> str:
        return self._text(self.uvarint() - 1)

    def compact_nullable_string(self) -> str | None:
        size = self.uvarint() - 1
        return None if size < 0 else self._text(size)

    def compact_bytes(self) -> bytes:
        return self._take(self.uvarint() - 1)

    def uuid(self) -> UUID:
        return UUID(bytes=self._take(16))

    def array(self, element: Callable[[], T]) -> list[T]:
        """Return the elements of a compact array; a null array is empty."""
        return [element() for _ in range(self.count())]

    def count(self) -> int:
        """Return the length of a compact array. It is bounded because each element takes at least a byte."""
        count = self.uvarint() - 1
        if count > len(self._data) - self._at:
            raise UnreadableRecord(f"{count} elements in {len(self._data) - self._at} bytes")
        return count

    def blob(self) -> bytes:
        return self._take(self.int32())

    def tags(self) -> dict[int, bytes]:
        return {self.uvarint(): self._take(self.uvarint()) for _ in range(self.uvarint())}
