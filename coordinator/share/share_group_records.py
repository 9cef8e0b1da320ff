"""Keys and values of a share group's records, in the format of Kafka 4.4 (share-groups §17)."""

from struct import pack
from uuid import UUID

from kohort.coordinator.modern.modern_values import GroupEpoch
from kohort.coordinator.modern.record_parts import (
    NO_TAGS,
    TARGET_EPOCH_FORM,
    TARGET_FORM,
    GroupRecords,
    RecordForm,
    Row,
    read_partitions,
    write_partitions,
)
from kohort.coordinator.share.share_values import ShareAssignment, ShareKind, ShareMetadata
from kohort.coordinator.share.state_partitions import InitializedTopic, InitializingTopic, StatePartitions


def _write_current(value: ShareAssignment) -> bytes:
    start = pack(">iib", value.epoch, value.previous_epoch, value.state)
    return start + write_partitions(value.assigned) + NO_TAGS


def _read_current(row: Row) -> ShareAssignment:
    *fields, assigned = row
    return ShareAssignment._make((*fields, read_partitions(assigned)))


def _state_row(value: StatePartitions) -> Row:
    initialized = (
        [(topic_id.bytes, topic.name, sorted(topic.partitions)) for topic_id, topic in topics.items()]
        for topics in (value.initializing, value.initialized)
    )
    return *initialized, [(topic_id.bytes, name) for topic_id, name in value.deleting.items()]


def _read_states(row: Row) -> StatePartitions:
    """Return the state partitions. The log does not contain the start of an initialization; the caller sets it."""
    initializing, initialized, deleting = row
    return StatePartitions(
        {UUID(bytes=topic_id): InitializingTopic(name, frozenset(parts), 0) for topic_id, name, parts in initializing},
        {UUID(bytes=topic_id): InitializedTopic(name, frozenset(parts)) for topic_id, name, parts in initialized},
        {UUID(bytes=topic_id): name for topic_id, name in deleting},
    )


SHARE_RECORDS = GroupRecords(
    ShareKind,
    {
        ShareKind.MEMBER: RecordForm(lambda row: ShareMetadata(*row)),
        ShareKind.GROUP_EPOCH: RecordForm(lambda row: GroupEpoch(*row)),
        ShareKind.TARGET_EPOCH: TARGET_EPOCH_FORM,
        ShareKind.TARGET: TARGET_FORM,
        ShareKind.CURRENT: RecordForm(_read_current, write=_write_current),
        ShareKind.STATE_PARTITIONS: RecordForm(_read_states, _state_row),
    },
)
