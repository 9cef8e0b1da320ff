"""Keys and values of a streams group's records, in the format of Kafka 4.3 (streams-groups §14)."""

from collections.abc import Callable, Generator
from itertools import repeat
from struct import pack
from typing import TypeVar

from kohort.coordinator.at_once import at_once
from kohort.coordinator.modern.modern_values import Change
from kohort.coordinator.modern.record_parts import (
    LONG,
    NO_TAGS,
    VERSION_0,
    integers,
    read_target_epoch,
    strings,
    write_target_epoch,
)
from kohort.coordinator.offsets.offsets_topic_records import RecordReader, UnreadableRecord
from kohort.coordinator.streams.streams_group_values import (
    NOT_VALIDATED,
    Owned,
    OwnedTasks,
    Pairs,
    StreamsAssignment,
    StreamsEpoch,
    StreamsKind,
    StreamsMetadata,
    UserEndpoint,
)
from kohort.coordinator.streams.streams_states import StreamsMemberState
from kohort.coordinator.streams.streams_values import (
    CopartitionGroup,
    Subtopology,
    Tasks,
    TaskSets,
    TopicInfo,
    Topology,
)
from kohort.protocol.wire import INT, SHORT, compact_length, compact_string, tag

T = TypeVar("T")

NAMED = (StreamsKind.MEMBER, StreamsKind.TARGET, StreamsKind.CURRENT)  # record types whose keys have a member id

VALIDATED_TAG, CONFIGS_TAG = 0, 1  # tagged fields of the group epoch


def value_of(change: Change) -> bytes | None:
    if change.value is None:
        return None
    return VERSION_0 + _WRITERS[change.kind](change.value)


def read_change(kind: int, key: RecordReader, value: bytes | None) -> tuple[str, Change] | None:
    """Return the group id and the change that a record describes, or None for a type that Kafka does not use.

    Args:
        key: Positioned after the record type.

    Raises:
        UnreadableRecord: The version of the record is unknown, or its value is invalid.
    """
    if kind not in _READERS:
        return None
    group_id = key.string()
    record_type = StreamsKind(kind)
    name = key.string() if record_type in NAMED else None
    if value is None:
        return group_id, Change(record_type, name, None)
    reader = RecordReader(value)
    version = reader.int16()
    if version != 0:
        raise UnreadableRecord(f"unsupported version {version} of a record of type {kind}; expected 0")
    return group_id, Change(record_type, name, _READERS[record_type](reader))


# Writing


def _array(values: tuple[T, ...], write: Callable[[T], bytes]) -> bytes:
    return compact_length(len(values)) + b"".join(map(write, values))


def _shorts(numbers: tuple[int, ...]) -> bytes:
    return compact_length(len(numbers)) + pack(f">{len(numbers)}h", *numbers)


def _pair(pair: tuple[str, str]) -> bytes:
    return compact_string(pair[0]) + compact_string(pair[1]) + NO_TAGS


def _write_group_epoch(value: StreamsEpoch) -> bytes:
    tags = []
    if value.validated_topology_epoch != NOT_VALIDATED:
        tags.append(tag(VALIDATED_TAG, INT.pack(value.validated_topology_epoch)))
    if value.configs:
        tags.append(tag(CONFIGS_TAG, _array(value.configs, _pair)))
    return INT.pack(value.epoch) + LONG.pack(value.metadata_hash) + bytes((len(tags),)) + b"".join(tags)


def _write_member(value: StreamsMetadata) -> bytes:
    return b"".join(
        (
            compact_string(value.instance_id),
            compact_string(value.rack_id),
            compact_string(value.client_id),
            compact_string(value.client_host),
            pack(">ii", value.rebalance_timeout_ms, value.topology_epoch),
            compact_string(value.process_id),
            _endpoint(value.user_endpoint),
            _array(value.client_tags, _pair),
            NO_TAGS,
        )
    )


def _endpoint(endpoint: UserEndpoint | None) -> bytes:
    """Encode a nullable structure, which begins with a byte that is -1 for null."""
    if endpoint is None:
        return b"\xff"
    return b"\x01" + compact_string(endpoint.host) + pack(">H", endpoint.port) + NO_TAGS


def _write_topology(value: Topology) -> bytes:
    return at_once(_topology_in_steps(value))


def encoding_topology(value: Topology) -> Generator[None, None, bytes]:
    """Encode a topology record like `value_of`. Yield after each subtopology."""
    return VERSION_0 + (yield from _topology_in_steps(value))


def _topology_in_steps(value: Topology) -> Generator[None, None, bytes]:
    parts = [INT.pack(value.epoch), compact_length(len(value.subtopologies))]
    for subtopology in value.subtopologies:
        parts.append(_subtopology(subtopology))
        yield
    parts.append(NO_TAGS)
    return b"".join(parts)


def _subtopology(value: Subtopology) -> bytes:
    return b"".join(
        (
            compact_string(value.subtopology_id),
            strings(value.source_topics),
            strings(value.source_topic_regex),
            _array(value.state_changelog_topics, _topic),
            strings(value.repartition_sink_topics),
            _array(value.repartition_source_topics, _topic),
            _array(value.copartition_groups, _copartition_group),
            NO_TAGS,
        )
    )


def _topic(value: TopicInfo) -> bytes:
    count = INT.pack(value.partitions) + SHORT.pack(value.replication_factor)
    return compact_string(value.name) + count + _array(value.topic_configs, _pair) + NO_TAGS


def _copartition_group(value: CopartitionGroup) -> bytes:
    return (
        _shorts(value.source_topics)
        + _shorts(value.source_topic_regex)
        + _shorts(value.repartition_source_topics)
        + NO_TAGS
    )


def _write_target(value: TaskSets) -> bytes:
    return _tasks(value.active) + _tasks(value.standby) + _tasks(value.warmup) + NO_TAGS


def _write_current(value: StreamsAssignment) -> bytes:
    start = pack(">iib", value.epoch, value.previous_epoch, value.state)
    return start + _owned_tasks(value.assigned) + _owned_tasks(value.revoking) + NO_TAGS


def _owned_tasks(value: OwnedTasks) -> bytes:
    return _active(value.active) + _tasks(value.standby) + _tasks(value.warmup)


def _tasks(value: Tasks) -> bytes:
    parts = [compact_length(len(value))]
    for subtopology_id in sorted(value):
        parts += compact_string(subtopology_id), integers(value[subtopology_id]), NO_TAGS
    return b"".join(parts)


def _active(value: Owned) -> bytes:
    """Encode active tasks, which have the epoch of the assignment that added them."""
    parts = [compact_length(len(value))]
    for subtopology_id in sorted(value):
        partitions = sorted(value[subtopology_id].items())
        epochs = [epoch for _, epoch in partitions]
        written = compact_length(len(epochs)) + pack(f">{len(epochs)}i", *epochs)
        parts += (
            compact_string(subtopology_id),
            integers(partition for partition, _ in partitions),
            b"\x01",
            tag(0, written),
        )
    return b"".join(parts)


# Reading


def _read_pairs(reader: RecordReader) -> Pairs:
    def pair() -> tuple[str, str]:
        entry = reader.compact_string(), reader.compact_string()
        reader.tags()
        return entry

    return tuple(reader.array(pair))


def _read_shorts(reader: RecordReader) -> tuple[int, ...]:
    return tuple(reader.array(reader.int16))


def _read_strings(reader: RecordReader) -> tuple[str, ...]:
    return tuple(reader.array(reader.compact_string))


def _read_group_epoch(reader: RecordReader) -> StreamsEpoch:
    epoch, metadata_hash, tags = reader.int32(), reader.int64(), reader.tags()
    validated, configs = tags.get(VALIDATED_TAG), tags.get(CONFIGS_TAG)
    return StreamsEpoch(
        epoch,
        metadata_hash,
        NOT_VALIDATED if validated is None else RecordReader(validated).int32(),
        () if configs is None else _read_pairs(RecordReader(configs)),
    )


def _read_member(reader: RecordReader) -> StreamsMetadata:
    metadata = StreamsMetadata(
        reader.compact_nullable_string(),
        reader.compact_nullable_string(),
        reader.compact_string(),
        reader.compact_string(),
        reader.int32(),
        reader.int32(),
        reader.compact_string(),
        _read_endpoint(reader),
        _read_pairs(reader),
    )
    reader.tags()
    return metadata


def _read_endpoint(reader: RecordReader) -> UserEndpoint | None:
    if reader.int8() < 0:
        return None
    endpoint = UserEndpoint(reader.compact_string(), reader.int16() & 0xFFFF)
    reader.tags()
    return endpoint


def _read_topology(reader: RecordReader) -> Topology:
    topology = Topology(reader.int32(), tuple(reader.array(lambda: _read_subtopology(reader))))
    reader.tags()
    return topology


def _read_subtopology(reader: RecordReader) -> Subtopology:
    subtopology = Subtopology(
        reader.compact_string(),
        _read_strings(reader),
        _read_strings(reader),
        _read_topics(reader),
        _read_strings(reader),
        _read_topics(reader),
        tuple(reader.array(lambda: _read_copartition_group(reader))),
    )
    reader.tags()
    return subtopology


def _read_topics(reader: RecordReader) -> tuple[TopicInfo, ...]:
    def topic() -> TopicInfo:
        topic_info = TopicInfo(reader.compact_string(), reader.int32(), reader.int16(), _read_pairs(reader))
        reader.tags()
        return topic_info

    return tuple(reader.array(topic))


def _read_copartition_group(reader: RecordReader) -> CopartitionGroup:
    group = CopartitionGroup(_read_shorts(reader), _read_shorts(reader), _read_shorts(reader))
    reader.tags()
    return group


def _read_target(reader: RecordReader) -> TaskSets:
    target = TaskSets(_read_tasks(reader), _read_tasks(reader), _read_tasks(reader))
    reader.tags()
    return target


def _read_current(reader: RecordReader) -> StreamsAssignment:
    """Parse an assignment. An unknown state becomes UNKNOWN, as in Kafka."""
    epoch, previous_epoch, state = reader.int32(), reader.int32(), reader.int8()
    assigned, revoking = (
        OwnedTasks(_read_active(reader, epoch), _read_tasks(reader), _read_tasks(reader)) for _ in range(2)
    )
    reader.tags()
    member_state = _STATES.get(state, StreamsMemberState.UNKNOWN)
    return StreamsAssignment(epoch, previous_epoch, member_state, assigned, revoking)


def _read_tasks(reader: RecordReader) -> Tasks:
    def task_ids() -> tuple[str, frozenset[int]]:
        entry = reader.compact_string(), frozenset(reader.array(reader.int32))
        reader.tags()
        return entry

    return dict(reader.array(task_ids))


def _read_active(reader: RecordReader, member_epoch: int) -> Owned:
    """Parse active tasks. Without assignment epochs, as in logs of Kafka 4.2, use the member epoch."""

    def task_ids() -> tuple[str, dict[int, int]]:
        subtopology_id, partitions = reader.compact_string(), reader.array(reader.int32)
        written = reader.tags().get(0)
        epochs = repeat(member_epoch) if written is None else _read_epochs(RecordReader(written), len(partitions))
        return subtopology_id, dict(zip(partitions, epochs, strict=False))

    return dict(reader.array(task_ids))


def _read_epochs(reader: RecordReader, partitions: int) -> tuple[int, ...]:
    epochs = tuple(reader.array(reader.int32))
    if len(epochs) != partitions:
        raise UnreadableRecord(f"{len(epochs)} epochs for {partitions} tasks")
    return epochs


_STATES = {state.value: state for state in StreamsMemberState}

_WRITERS: dict[int, Callable[..., bytes]] = {
    StreamsKind.GROUP_EPOCH: _write_group_epoch,
    StreamsKind.MEMBER: _write_member,
    StreamsKind.TARGET_EPOCH: write_target_epoch,
    StreamsKind.TARGET: _write_target,
    StreamsKind.CURRENT: _write_current,
    StreamsKind.TOPOLOGY: _write_topology,
}

_READERS: dict[int, Callable[[RecordReader], object]] = {
    StreamsKind.GROUP_EPOCH: _read_group_epoch,
    StreamsKind.MEMBER: _read_member,
    StreamsKind.TARGET_EPOCH: read_target_epoch,
    StreamsKind.TARGET: _read_target,
    StreamsKind.CURRENT: _read_current,
    StreamsKind.TOPOLOGY: _read_topology,
}
