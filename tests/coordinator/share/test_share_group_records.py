"""Records of share groups are read back and follow the table of layouts."""

from uuid import UUID

import pytest

from kohort.coordinator.modern.modern_values import Change, GroupEpoch, TargetEpoch
from kohort.coordinator.modern.record_parts import key_of
from kohort.coordinator.share.share_group_records import SHARE_RECORDS
from kohort.coordinator.share.share_values import ShareAssignment, ShareKind, ShareMetadata
from kohort.coordinator.share.state_partitions import InitializedTopic, InitializingTopic, StatePartitions
from kohort.protocol.records.record_reader import RecordReader
from kohort.protocol.records.schema import RecordError
from tests.support.record_layouts import assert_follows_table

TOPIC, OTHER = UUID(int=7), UUID(int=8)

STATES = StatePartitions(
    initializing={TOPIC: InitializingTopic("foo", frozenset({2, 0}), 0)},
    initialized={TOPIC: InitializedTopic("foo", frozenset({1})), OTHER: InitializedTopic("bar", frozenset())},
    deleting={OTHER: "bar"},
)

CHANGES = [
    Change(ShareKind.MEMBER, "ada", ShareMetadata("r1", "c", "/127.0.0.1", ("a", "b"))),
    Change(ShareKind.MEMBER, "ada", ShareMetadata()),
    Change(ShareKind.MEMBER, "ada", None),
    Change(ShareKind.GROUP_EPOCH, None, GroupEpoch(5, -17)),
    Change(ShareKind.GROUP_EPOCH, None, None),
    Change(ShareKind.TARGET_EPOCH, None, TargetEpoch(3, 1_700_000_000_000)),
    Change(ShareKind.TARGET_EPOCH, None, TargetEpoch(3)),
    Change(ShareKind.TARGET, "ada", {TOPIC: frozenset({0, 200, 3})}),
    Change(ShareKind.TARGET, "ada", {}),
    Change(ShareKind.CURRENT, "ada", ShareAssignment(4, 3, assigned={TOPIC: frozenset({1, 0})})),
    Change(ShareKind.CURRENT, "ada", None),
    Change(ShareKind.STATE_PARTITIONS, None, STATES),
    Change(ShareKind.STATE_PARTITIONS, None, StatePartitions()),
    Change(ShareKind.STATE_PARTITIONS, None, None),
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.kind.name.lower())
def test_written_records_are_read_back(change: Change) -> None:
    key, value = key_of("g", change.kind, change.name), SHARE_RECORDS.value_of(change)
    reader = RecordReader(key)
    assert SHARE_RECORDS.read_change(reader.int16(), reader, value) == ("g", change)
    assert_follows_table(key, value)


def test_record_bytes_equal_kafka() -> None:
    assert key_of("g", ShareKind.GROUP_EPOCH, None) == b"\x00\x0b\x00\x01g"
    assert key_of("g", ShareKind.CURRENT, "m") == b"\x00\x0e\x00\x01g\x00\x01m"
    epoch = SHARE_RECORDS.value_of(Change(ShareKind.GROUP_EPOCH, None, GroupEpoch(2, 1)))
    assert epoch == bytes.fromhex("000000000002000000000000000100")
    target = SHARE_RECORDS.value_of(Change(ShareKind.TARGET_EPOCH, None, TargetEpoch(2, 1)))
    assert target == bytes.fromhex("0000000000020100080000000000000001")
    member = SHARE_RECORDS.value_of(Change(ShareKind.MEMBER, "m", ShareMetadata(None, "c", "h", ("t",))))
    assert member == bytes.fromhex("0000000263026802027400")
    current = SHARE_RECORDS.value_of(
        Change(ShareKind.CURRENT, "m", ShareAssignment(3, 2, assigned={TOPIC: frozenset({0})}))
    )
    assert current == bytes.fromhex("000000000003000000020002" + TOPIC.hex + "02000000000000")
    states = SHARE_RECORDS.value_of(Change(ShareKind.STATE_PARTITIONS, None, StatePartitions(deleting={TOPIC: "t"})))
    assert states == bytes.fromhex("0000010102" + TOPIC.hex + "02740000")


@pytest.mark.parametrize("value", [b"\x00\x01\x00\x00", b"", b"\x00", b"\x00\x00\x05"])
@pytest.mark.parametrize("kind", ShareKind)
def test_other_versions_and_ends_are_unreadable(kind: ShareKind, value: bytes) -> None:
    reader = RecordReader(key_of("g", kind, "ada"))
    with pytest.raises(RecordError):
        SHARE_RECORDS.read_change(reader.int16(), reader, value)
