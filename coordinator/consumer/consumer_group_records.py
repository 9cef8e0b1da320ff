"""Keys and values of the records of a consumer group, in the format of Kafka 4.3 (consumer-groups §18)."""

import struct
from collections.abc import Callable, Iterable
from uuid import UUID

from kohort.coordinator.consumer.consumer_states import MemberState
from kohort.coordinator.consumer.values import (
    ClassicMetadata,
    CurrentAssignment,
    Kind,
    MemberMetadata,
    Owned,
    ResolvedRegex,
)
from kohort.coordinator.modern.modern_values import Change, GroupEpoch
from kohort.coordinator.modern.record_parts import (
    NO_TAGS,
    VERSION_0,
    integers,
    key_of,
    long_tag,
    read_long_tag,
    read_partitions_by_topic,
    read_target_epoch,
    strings,
    write_target,
    write_target_epoch,
)
from kohort.coordinator.offsets.offsets_topic_records import RecordReader, UnreadableRecord
from kohort.protocol.batches import encode_record
from kohort.protocol.wire import INT, compact_bytes, compact_length, compact_string, tag

_NOTHING = compact_length(0)

EPOCHS = struct.Struct(">ii")  # epoch and previous epoch of a member: the start of an assignment value

NAMED = (Kind.MEMBER, Kind.TARGET, Kind.CURRENT, Kind.REGEX)  # record types whose keys contain a member ID or a pattern


def value_of(change: Change) -> bytes | None:
    if change.value is None:
        return None
    return VERSION_0 + _WRITERS[change.kind](change.value)


def read_change(kind: int, key: RecordReader, value: bytes | None) -> tuple[str, Change]:
    """Decode a record and return its group ID and change; `key` is positioned after the record type.

    Raises:
        UnreadableRecord: The record cannot be decoded.
    """
    group_id = key.string()
    record_type = Kind(kind)
    name = key.string() if record_type in NAMED else None
    if value is None or record_type is Kind.PARTITION_METADATA:
        return group_id, Change(record_type, name, None)
    reader = RecordReader(value)
    version = reader.int16()
    if version != 0:
        raise UnreadableRecord(f"record of type {kind} has unsupported version {version}; expected 0")
    return group_id, Change(record_type, name, _READERS[record_type](reader))


# Writing


def _write_group_epoch(value: GroupEpoch) -> bytes:
    return INT.pack(value.epoch) + long_tag(value.metadata_hash)


def _write_member(value: MemberMetadata) -> bytes:
    parts = [
        compact_string(value.instance_id),
        compact_string(value.rack_id),
        compact_string(value.client_id),
        compact_string(value.client_host),
        strings(value.topic_names),
        compact_string(value.topic_regex),
        INT.pack(value.rebalance_timeout_ms),
        compact_string(value.assignor),
        b"\x01",
        tag(0, _write_classic(value.classic)),  # written for every member, as Kafka does
    ]
    return b"".join(parts)


def _write_classic(value: ClassicMetadata | None) -> bytes:
    if value is None:
        return b"\x00"
    parts = [b"\x01", INT.pack(value.session_timeout_ms), compact_length(len(value.protocols))]
    for name, metadata in value.protocols:
        parts += compact_string(name), compact_bytes(metadata), NO_TAGS
    return b"".join((*parts, NO_TAGS))


def _write_current(value: CurrentAssignment) -> bytes:
    start = struct.pack(">iib", value.epoch, value.previous_epoch, value.state)
    return start + _owned(value.assigned) + _owned(value.revoking) + NO_TAGS


def _owned(value: Owned) -> bytes:
    if not value:
        return _NOTHING
    parts = [compact_length(len(value))]
    for topic_id, partitions in value.items():
        numbers = sorted(partitions)
        epochs = struct.pack(f">{len(numbers)}i", *(partitions[number] for number in numbers))
        parts += topic_id.bytes, integers(numbers), b"\x01"
        parts.append(tag(0, compact_length(len(numbers)) + epochs))
    return b"".join(parts)


def _write_regex(value: ResolvedRegex) -> bytes:
    return strings(value.topics) + struct.pack(">qq", value.version, value.timestamp_ms) + NO_TAGS


def record_around_epochs(group_id: str, member_id: str, assigned: Owned) -> tuple[bytes, bytes]:
    """Encode a stable member's record as the first one of a batch; return the parts before and after both epochs."""
    value = VERSION_0 + _write_current(CurrentAssignment(assigned=assigned))
    record = encode_record(key_of(group_id, Kind.CURRENT, member_id), value, 0)
    at = record.rindex(value) + len(VERSION_0)
    return record[:at], record[at + EPOCHS.size :]


# Reading


def _read_group_epoch(reader: RecordReader) -> GroupEpoch:
    return GroupEpoch(reader.int32(), read_long_tag(reader.tags()))


def _read_member(reader: RecordReader) -> MemberMetadata:
    instance_id, rack_id = reader.compact_nullable_string(), reader.compact_nullable_string()
    client_id, client_host = reader.compact_string(), reader.compact_string()
    topic_names = tuple(reader.array(reader.compact_string))
    topic_regex = reader.compact_nullable_string() or ""
    rebalance_timeout_ms = reader.int32()
    assignor = reader.compact_nullable_string()
    return MemberMetadata(
        instance_id=instance_id,
        rack_id=rack_id,
        client_id=client_id,
        client_host=client_host,
        topic_names=topic_names,
        topic_regex=topic_regex,
        rebalance_timeout_ms=rebalance_timeout_ms,
        assignor=assignor,
        classic=_read_classic(reader.tags().get(0, b"\x00")),
    )


def _read_classic(data: bytes) -> ClassicMetadata | None:
    reader = RecordReader(data)
    if reader.int8() != 1:
        return None
    session_timeout_ms = reader.int32()

    def protocol() -> tuple[str, bytes]:
        entry = reader.compact_string(), reader.compact_bytes()
        reader.tags()
        return entry

    return ClassicMetadata(session_timeout_ms, tuple(reader.array(protocol)))


def _read_current(reader: RecordReader) -> CurrentAssignment:
    epoch, previous_epoch, state = reader.int32(), reader.int32(), reader.int8()
    states: Iterable[int] = MemberState
    return CurrentAssignment(
        epoch=epoch,
        previous_epoch=previous_epoch,
        state=MemberState(state) if state in set(states) else MemberState.UNKNOWN,
        assigned=_read_owned(reader, max(epoch, 0)),
        revoking=_read_owned(reader, max(epoch, 0)),
    )


def _read_owned(reader: RecordReader, default_epoch: int) -> dict[UUID, dict[int, int]]:
    def topic() -> tuple[UUID, dict[int, int]]:
        topic_id, partitions = reader.uuid(), list(reader.array(reader.int32))
        tag = reader.tags().get(0)
        if tag is None:
            return topic_id, dict.fromkeys(partitions, default_epoch)
        epochs = RecordReader(tag)
        return topic_id, dict(zip(partitions, epochs.array(epochs.int32), strict=True))

    return dict(reader.array(topic))


def _read_regex(reader: RecordReader) -> ResolvedRegex:
    return ResolvedRegex(tuple(reader.array(reader.compact_string)), reader.int64(), reader.int64())


_WRITERS: dict[int, Callable[..., bytes]] = {
    Kind.GROUP_EPOCH: _write_group_epoch,
    Kind.MEMBER: _write_member,
    Kind.TARGET_EPOCH: write_target_epoch,
    Kind.TARGET: write_target,
    Kind.CURRENT: _write_current,
    Kind.REGEX: _write_regex,
}

_READERS: dict[Kind, Callable[[RecordReader], object]] = {
    Kind.GROUP_EPOCH: _read_group_epoch,
    Kind.MEMBER: _read_member,
    Kind.TARGET_EPOCH: read_target_epoch,
    Kind.TARGET: read_partitions_by_topic,
    Kind.CURRENT: _read_current,
    Kind.REGEX: _read_regex,
}
