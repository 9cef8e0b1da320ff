"""Keys and values of a streams group's records, in the format of Kafka 4.3 (streams-groups §14)."""

from collections.abc import Generator
from struct import Struct, pack
from typing import Final

from kohort.coordinator.at_once import at_once
from kohort.coordinator.modern.record_parts import (
    NO_TAGS,
    TARGET_EPOCH_FORM,
    VERSION_0,
    GroupRecords,
    RecordForm,
    Row,
    integers,
)
from kohort.coordinator.streams.streams_group_values import (
    Owned,
    OwnedTasks,
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
from kohort.protocol.records.layouts import STREAMS_SUBTOPOLOGY
from kohort.protocol.records.record_writer import encode_fields_in_steps
from kohort.protocol.records.schema import RecordError
from kohort.protocol.wire import INT, compact_length, compact_string, tag

TOPICS_AT_ONCE = 250  # a millisecond

_EPOCHS: Final = Struct(">iib")  # epoch, previous epoch, state
_NOTHING: Final = b"\x01"  # no subtopology
_ONE_TAG: Final = b"\x01"

_STATES = {state.value: state for state in StreamsMemberState}


def _epoch_row(value: StreamsEpoch) -> Row:
    return *value[:3], value.configs or None, *value[4:]


def _read_group_epoch(row: Row) -> StreamsEpoch:
    epoch, metadata_hash, validated_topology_epoch, configs, *descriptions = row
    return StreamsEpoch(epoch, metadata_hash, validated_topology_epoch, configs or (), *descriptions)


def _read_member(row: Row) -> StreamsMetadata:
    *fields, endpoint, client_tags = row
    return StreamsMetadata._make((*fields, None if endpoint is None else UserEndpoint(*endpoint), client_tags))


def _write_topology(value: Topology) -> bytes:
    return at_once(_topology_in_steps(value))


def encoding_topology(value: Topology) -> Generator[None, None, bytes]:
    """Encode a topology record like `value_of`. Yield after TOPICS_AT_ONCE of a subtopology's topics."""
    return VERSION_0 + (yield from _topology_in_steps(value))


def _topology_in_steps(value: Topology) -> Generator[None, None, bytes]:
    parts = [INT.pack(value.epoch), compact_length(len(value.subtopologies))]
    for subtopology in value.subtopologies:
        parts.append((yield from encode_fields_in_steps(STREAMS_SUBTOPOLOGY, subtopology, TOPICS_AT_ONCE)))
    parts.append(NO_TAGS)
    return b"".join(parts)


def _read_topology(row: Row) -> Topology:
    epoch, subtopologies = row
    return Topology(epoch, tuple(_read_subtopology(subtopology) for subtopology in subtopologies))


def _read_subtopology(row: Row) -> Subtopology:
    subtopology_id, sources, regexes, changelogs, sinks, repartitioned, copartition_groups = row
    return Subtopology(
        subtopology_id,
        sources,
        regexes,
        tuple(TopicInfo(*topic) for topic in changelogs),
        sinks,
        tuple(TopicInfo(*topic) for topic in repartitioned),
        tuple(CopartitionGroup(*group) for group in copartition_groups),
    )


def _write_target(value: TaskSets) -> bytes:
    return b"".join((_tasks(value.active), _tasks(value.standby), _tasks(value.warmup), NO_TAGS))


def _read_target(row: Row) -> TaskSets:
    return TaskSets(*map(_read_tasks, row))


def _write_current(value: StreamsAssignment) -> bytes:
    parts = [_EPOCHS.pack(value.epoch, value.previous_epoch, value.state)]
    for tasks in (value.assigned, value.revoking):
        parts += _active_tasks(tasks.active), _tasks(tasks.standby), _tasks(tasks.warmup)
    parts.append(NO_TAGS)
    return b"".join(parts)


def _read_current(row: Row) -> StreamsAssignment:
    """Return an assignment. An unknown state becomes UNKNOWN, as in Kafka."""
    epoch, previous_epoch, state, *roles = row
    assigned, revoking = (
        OwnedTasks(_read_active(active, epoch), _read_tasks(standby), _read_tasks(warmup))
        for active, standby, warmup in (roles[:3], roles[3:])
    )
    return StreamsAssignment(epoch, previous_epoch, _STATES.get(state, StreamsMemberState.UNKNOWN), assigned, revoking)


def _tasks(value: Tasks) -> bytes:
    if not value:
        return _NOTHING
    parts = [compact_length(len(value))]
    for subtopology_id in sorted(value):
        parts += compact_string(subtopology_id), integers(value[subtopology_id]), NO_TAGS
    return b"".join(parts)


def _active_tasks(value: Owned) -> bytes:
    """Encode active tasks with the epochs of the assignments that added them."""
    if not value:
        return _NOTHING
    parts = [compact_length(len(value))]
    for subtopology_id in sorted(value):
        added_at = value[subtopology_id]
        partitions = sorted(added_at)
        count = compact_length(len(partitions))
        numbers = pack(f">{len(partitions)}i", *partitions)
        epochs = pack(f">{len(partitions)}i", *[added_at[partition] for partition in partitions])
        parts += compact_string(subtopology_id), count, numbers, _ONE_TAG, tag(0, count + epochs)
    return b"".join(parts)


def _read_tasks(rows: Row) -> Tasks:
    return {subtopology_id: frozenset(partitions) for subtopology_id, partitions, _ in rows}


def _read_active(rows: Row, member_epoch: int) -> Owned:
    """Return active tasks. Without assignment epochs, as in logs of Kafka 4.2, they have the member epoch."""
    owned: dict[str, dict[int, int]] = {}
    for subtopology_id, partitions, epochs in rows:
        if epochs is not None and len(epochs) != len(partitions):
            raise RecordError(f"{len(epochs)} epochs for {len(partitions)} tasks")
        owned[subtopology_id] = dict(zip(partitions, epochs or [member_epoch] * len(partitions), strict=True))
    return owned


STREAMS_RECORDS = GroupRecords(
    StreamsKind,
    {
        StreamsKind.GROUP_EPOCH: RecordForm(_read_group_epoch, _epoch_row),
        StreamsKind.MEMBER: RecordForm(_read_member),
        StreamsKind.TARGET_EPOCH: TARGET_EPOCH_FORM,
        StreamsKind.TARGET: RecordForm(_read_target, write=_write_target),
        StreamsKind.CURRENT: RecordForm(_read_current, write=_write_current),
        StreamsKind.TOPOLOGY: RecordForm(_read_topology, write=_write_topology),
    },
)
