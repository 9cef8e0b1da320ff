"""Records of consumer groups are read back and follow the table of layouts."""

from uuid import UUID

import pytest

from kohort.coordinator.consumer.consumer_group_records import CONSUMER_RECORDS
from kohort.coordinator.consumer.consumer_states import MemberState
from kohort.coordinator.consumer.values import ClassicMetadata, CurrentAssignment, Kind, MemberMetadata, ResolvedRegex
from kohort.coordinator.modern.modern_values import Change, GroupEpoch, TargetEpoch
from kohort.coordinator.modern.record_parts import key_of
from kohort.protocol.records.record_reader import RecordReader
from kohort.protocol.records.schema import RecordError
from tests.support.record_layouts import assert_follows_table

TOPIC = UUID(int=7)

CHANGES = [
    Change(Kind.GROUP_EPOCH, None, GroupEpoch(5, -17)),
    Change(Kind.GROUP_EPOCH, None, GroupEpoch(5)),
    Change(Kind.GROUP_EPOCH, None, None),
    Change(Kind.TARGET_EPOCH, None, TargetEpoch(3, 1_700_000_000_000)),
    Change(Kind.TARGET_EPOCH, None, TargetEpoch(3)),
    Change(Kind.MEMBER, "ada", MemberMetadata(client_id="c", client_host="/127.0.0.1", topic_names=("a", "b"))),
    Change(
        Kind.MEMBER,
        "ada",
        MemberMetadata(
            instance_id="i1",
            rack_id="r1",
            topic_regex="a.*",
            rebalance_timeout_ms=30_000,
            assignor="range",
            classic=ClassicMetadata(10_000, (("range", b"\x00"), ("sticky", b""))),
        ),
    ),
    Change(Kind.MEMBER, "ada", None),
    Change(Kind.TARGET, "ada", {TOPIC: frozenset({0, 200, 3})}),
    Change(Kind.TARGET, "ada", {}),
    Change(
        Kind.CURRENT,
        "ada",
        CurrentAssignment(
            epoch=4,
            previous_epoch=3,
            state=MemberState.UNREVOKED_PARTITIONS,
            assigned={TOPIC: {0: 2, 1: 4}},
            revoking={TOPIC: {5: 2}},
        ),
    ),
    Change(Kind.CURRENT, "ada", CurrentAssignment(epoch=-2)),
    Change(Kind.REGEX, "a.*", ResolvedRegex(("a", "ab"), 3, 1_700_000_000_000)),
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.kind.name.lower())
def test_written_records_are_read_back(change: Change) -> None:
    key, value = key_of("g", change.kind, change.name), CONSUMER_RECORDS.value_of(change)
    reader = RecordReader(key)
    assert CONSUMER_RECORDS.read_change(reader.int16(), reader, value) == ("g", change)
    assert_follows_table(key, value)


def test_old_record_without_assignment_epochs() -> None:
    body = (
        b"\x00\x00"
        + bytes.fromhex("00000004 00000003 00")
        + b"\x02"
        + TOPIC.bytes
        + b"\x02\x00\x00\x00\x01\x00\x01\x00"
    )
    read = CONSUMER_RECORDS.read_change(8, RecordReader(b"\x00\x01g\x00\x03ada"), body)
    assert read is not None
    assert read[1].value == CurrentAssignment(epoch=4, previous_epoch=3, assigned={TOPIC: {1: 4}})


@pytest.mark.parametrize("value", [b"\x00\x01\x00\x00\x00\x05\x00", b"\x00\x00\x00", b"\x00\x00\x00\x00\x00\x05"])
def test_other_versions_and_ends_are_unreadable(value: bytes) -> None:
    with pytest.raises(RecordError):
        CONSUMER_RECORDS.read_change(3, RecordReader(b"\x00\x01g"), value)
