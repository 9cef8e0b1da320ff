"""Keys and values of a share group's records, in the format of Kafka 4.3 (share-groups §17)."""

from collections.abc import Callable
from struct import pack
from uuid import UUID

from kohort.coordinator.modern.modern_values import Change, GroupEpoch
from kohort.coordinator.modern.record_parts import (
    LONG,
    NO_TAGS,
    VERSION_0,
    integers,
    partitions_by_topic,
    read_partitions_by_topic,
    read_target_epoch,
    strings,
    write_target,
    write_target_epoch,
)
from kohort.coordinator.offsets.offsets_topic_records import RecordReader, UnreadableRecord
from kohort.coordinator.share.share_values import ShareAssignment, ShareKind, ShareMetadata
from kohort.coordinator.share.state_partitions import InitializedTopic, InitializingTopic, StatePartitions
from kohort.protocol.wire import INT, compact_length, compact_string

NAMED = (ShareKind.MEMBER, ShareKind.TARGET, ShareKind.CURRENT)  # record types whose keys have a member id


def value_of(change: Change) -> bytes | None:
    if change.value is None:
        return None
    return VERSION_0 + _WRITERS[change.kind](change.value)


def read_change(kind: int, key: RecordReader, value: bytes | None) -> tuple[str, Change]:
    """Return the group id and the change that a record describes.

    Args:
        key: Positioned after the record type.

    Raises:
        UnreadableRecord: The version of the record is unknown.
    """
    group_id = key.string()
    record_type = ShareKind(kind)
    name = key.string() if record_type in NAMED else None
    if value is None:
        return group_id, Change(record_type, name, None)
    reader = RecordReader(value)
    version = reader.int16()
    if version != 0:
        raise UnreadableRecord(f"unsupported version {version} of a record of type {kind}; expected 0")
    change = Change(record_type, name, _READERS[record_type](reader))
    if record_type is not ShareKind.TARGET_EPOCH:
        reader.tags()  # always present, always empty
    return group_id, change


# Writing


def _write_member(value: ShareMetadata) -> bytes:
    client = compact_string(value.client_id) + compact_string(value.client_host)
    return compact_string(value.rack_id) + client + strings(value.topic_names) + NO_TAGS


def _write_group_epoch(value: GroupEpoch) -> bytes:
    return INT.pack(value.epoch) + LONG.pack(value.metadata_hash) + NO_TAGS


def _write_current(value: ShareAssignment) -> bytes:
    start = pack(">iib", value.epoch, value.previous_epoch, value.state)
    return start + partitions_by_topic(value.assigned) + NO_TAGS


def _write_states(value: StatePartitions) -> bytes:
    parts: list[bytes] = []
    for topics in (value.initializing, value.initialized):
        parts.append(compact_length(len(topics)))
        for topic_id, topic in topics.items():
            parts += topic_id.bytes, compact_string(topic.name), integers(topic.partitions), NO_TAGS
    parts.append(compact_length(len(value.deleting)))
    for topic_id, name in value.deleting.items():
        parts += topic_id.bytes, compact_string(name), NO_TAGS
    return b"".join((*parts, NO_TAGS))


# Reading


def _read_member(reader: RecordReader) -> ShareMetadata:
    rack_id = reader.compact_nullable_string()
    client_id, client_host = reader.compact_string(), reader.compact_string()
    return ShareMetadata(rack_id, client_id, client_host, tuple(reader.array(reader.compact_string)))


def _read_group_epoch(reader: RecordReader) -> GroupEpoch:
    return GroupEpoch(reader.int32(), reader.int64())


def _read_current(reader: RecordReader) -> ShareAssignment:
    return ShareAssignment(reader.int32(), reader.int32(), reader.int8(), read_partitions_by_topic(reader))


def _read_states(reader: RecordReader) -> StatePartitions:
    """Parse the state partitions. The log does not contain the start of an initialization; the caller sets it."""

    def topic() -> tuple[UUID, InitializedTopic]:
        entry = reader.uuid(), InitializedTopic(reader.compact_string(), frozenset(reader.array(reader.int32)))
        reader.tags()
        return entry

    def name() -> tuple[UUID, str]:
        entry = reader.uuid(), reader.compact_string()
        reader.tags()
        return entry

    initializing = {topic_id: InitializingTopic(*topic_fields, 0) for topic_id, topic_fields in reader.array(topic)}
    return StatePartitions(initializing, dict(reader.array(topic)), dict(reader.array(name)))


_WRITERS: dict[int, Callable[..., bytes]] = {
    ShareKind.MEMBER: _write_member,
    ShareKind.GROUP_EPOCH: _write_group_epoch,
    ShareKind.TARGET_EPOCH: write_target_epoch,
    ShareKind.TARGET: write_target,
    ShareKind.CURRENT: _write_current,
    ShareKind.STATE_PARTITIONS: _write_states,
}

_READERS: dict[ShareKind, Callable[[RecordReader], object]] = {
    ShareKind.MEMBER: _read_member,
    ShareKind.GROUP_EPOCH: _read_group_epoch,
    ShareKind.TARGET_EPOCH: read_target_epoch,
    ShareKind.TARGET: read_partitions_by_topic,
    ShareKind.CURRENT: _read_current,
    ShareKind.STATE_PARTITIONS: _read_states,
}
