"""Keys and values of the records of a consumer group, in the format of Kafka 4.4 (consumer-groups §18)."""

import struct
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
from kohort.coordinator.modern.modern_values import GroupEpoch
from kohort.coordinator.modern.record_parts import (
    NO_TAGS,
    TARGET_EPOCH_FORM,
    TARGET_FORM,
    VERSION_0,
    GroupRecords,
    RecordForm,
    Row,
    key_of,
)
from kohort.protocol.batches import encode_record
from kohort.protocol.records.schema import RecordError
from kohort.protocol.wire import compact_length, tag

_NOTHING = compact_length(0)

_STATES = {state.value: state for state in MemberState}

EPOCHS = struct.Struct(">ii")  # epoch and previous epoch of a member: the start of an assignment value


def _read_group_epoch(row: Row) -> GroupEpoch:
    return GroupEpoch(*row[:2])


def _read_member(row: Row) -> MemberMetadata:
    *fields, regex, rebalance_timeout_ms, assignor, classic = row
    classic = None if classic is None else ClassicMetadata(*classic)
    return MemberMetadata._make((*fields, regex or "", rebalance_timeout_ms, assignor, classic))


def _read_regex(row: Row) -> ResolvedRegex:
    return ResolvedRegex(*row)


def _write_current(value: CurrentAssignment) -> bytes:
    start = struct.pack(">iib", value.epoch, value.previous_epoch, value.state)
    return start + _write_owned(value.assigned) + _write_owned(value.revoking) + NO_TAGS


def _write_owned(value: Owned) -> bytes:
    if not value:
        return _NOTHING
    parts = [compact_length(len(value))]
    for topic_id, partitions in value.items():
        numbers = sorted(partitions)
        length, form = compact_length(len(numbers)), f">{len(numbers)}i"
        epochs = length + struct.pack(form, *[partitions[number] for number in numbers])
        parts += topic_id.bytes, length, struct.pack(form, *numbers), b"\x01", tag(0, epochs)
    return b"".join(parts)


def _read_current(row: Row) -> CurrentAssignment:
    epoch, previous_epoch, state, assigned, revoking = row
    return CurrentAssignment(
        epoch=epoch,
        previous_epoch=previous_epoch,
        state=_STATES.get(state, MemberState.UNKNOWN),
        assigned=_read_owned(assigned, max(epoch, 0)),
        revoking=_read_owned(revoking, max(epoch, 0)),
    )


def _read_owned(topics: Row, default_epoch: int) -> dict[UUID, dict[int, int]]:
    owned: dict[UUID, dict[int, int]] = {}
    for topic_id, partitions, epochs in topics:
        if epochs is None:
            owned[UUID(bytes=topic_id)] = dict.fromkeys(partitions, default_epoch)
        elif len(epochs) == len(partitions):
            owned[UUID(bytes=topic_id)] = dict(zip(partitions, epochs, strict=True))
        else:
            raise RecordError(f"{len(epochs)} epochs for {len(partitions)} partitions")
    return owned


def record_around_epochs(group_id: str, member_id: str, assigned: Owned) -> tuple[bytes, bytes]:
    """Encode a stable member's record as the first one of a batch; return the parts before and after both epochs."""
    value = VERSION_0 + _write_current(CurrentAssignment(assigned=assigned))
    record = encode_record(key_of(group_id, Kind.CURRENT, member_id), value, 0)
    at = record.rindex(value) + len(VERSION_0)
    return record[:at], record[at + EPOCHS.size :]


CONSUMER_RECORDS = GroupRecords(
    Kind,
    {
        Kind.GROUP_EPOCH: RecordForm(_read_group_epoch),
        Kind.MEMBER: RecordForm(_read_member),
        Kind.TARGET_EPOCH: TARGET_EPOCH_FORM,
        Kind.TARGET: TARGET_FORM,
        Kind.CURRENT: RecordForm(_read_current, write=_write_current),
        Kind.REGEX: RecordForm(_read_regex),
    },
)
