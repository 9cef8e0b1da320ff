"""Records of streams groups are read back and follow the table of layouts."""

import pytest

from kohort.coordinator.modern.modern_values import Change, TargetEpoch
from kohort.coordinator.modern.record_parts import key_of
from kohort.coordinator.streams.streams_group_records import STREAMS_RECORDS
from kohort.coordinator.streams.streams_group_values import (
    OwnedTasks,
    StreamsAssignment,
    StreamsEpoch,
    StreamsKind,
    StreamsMetadata,
    UserEndpoint,
)
from kohort.coordinator.streams.streams_states import StreamsMemberState
from kohort.coordinator.streams.streams_values import CopartitionGroup, Subtopology, TaskSets, TopicInfo, Topology
from kohort.protocol.records.record_reader import RecordReader
from kohort.protocol.records.schema import RecordError
from tests.support.record_layouts import assert_follows_table

REPARTITION = TopicInfo("rep", 3, 2, (("cleanup.policy", "delete"), ("retention.ms", "-1")))
TOPOLOGY = Topology(
    3,
    (
        Subtopology("0", ("in", "other"), ("a.*",), (TopicInfo("store"),), ("rep",)),
        Subtopology(
            "1", repartition_source_topics=(REPARTITION,), copartition_groups=(CopartitionGroup((0, 1), (), (0,)),)
        ),
    ),
)
ASSIGNED = OwnedTasks({"0": {1: 4, 0: 2}, "1": {7: 4}}, {"1": frozenset({3, 200})}, {"0": frozenset({9})})
REVOKING = OwnedTasks({"0": {2: 1}}, {}, {})
MEMBER = StreamsMetadata("i", "r", "c", "/127.0.0.1", 500, 3, "p", UserEndpoint("h", 65_535), (("zone", "a"),))

CHANGES = [
    Change(StreamsKind.GROUP_EPOCH, None, StreamsEpoch(5, -17, 3, (("num.standby.replicas", "1"),))),
    Change(StreamsKind.GROUP_EPOCH, None, StreamsEpoch(5)),
    Change(StreamsKind.GROUP_EPOCH, None, None),
    Change(StreamsKind.MEMBER, "ada", MEMBER),
    Change(StreamsKind.MEMBER, "ada", StreamsMetadata()),
    Change(StreamsKind.MEMBER, "ada", None),
    Change(StreamsKind.TARGET_EPOCH, None, TargetEpoch(3, 1_700_000_000_000)),
    Change(StreamsKind.TARGET, "ada", TaskSets({"0": frozenset({0, 200, 3})}, {"1": frozenset({1})}, {})),
    Change(StreamsKind.TARGET, "ada", TaskSets()),
    Change(StreamsKind.CURRENT, "ada", StreamsAssignment(4, 3, StreamsMemberState.UNREVOKED_TASKS, ASSIGNED, REVOKING)),
    Change(StreamsKind.CURRENT, "ada", StreamsAssignment()),
    Change(StreamsKind.CURRENT, "ada", None),
    Change(StreamsKind.TOPOLOGY, None, TOPOLOGY),
    Change(StreamsKind.TOPOLOGY, None, Topology()),
    Change(StreamsKind.TOPOLOGY, None, None),
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.kind.name.lower())
def test_written_records_are_read_back(change: Change) -> None:
    key, value = key_of("g", change.kind, change.name), STREAMS_RECORDS.value_of(change)
    reader = RecordReader(key)
    assert STREAMS_RECORDS.read_change(reader.int16(), reader, value) == ("g", change)
    assert_follows_table(key, value)


def test_record_bytes_equal_kafka() -> None:
    epoch = STREAMS_RECORDS.value_of(Change(StreamsKind.GROUP_EPOCH, None, StreamsEpoch(2, 1)))
    assert epoch == bytes.fromhex("000000000002000000000000000100")
    full = STREAMS_RECORDS.value_of(Change(StreamsKind.GROUP_EPOCH, None, StreamsEpoch(2, 1, 0, (("k", "v"),))))
    assert full == bytes.fromhex("0000000000020000000000000001" + "02" + "000400000000" + "0106" + "02026b027600")
    current = STREAMS_RECORDS.value_of(
        Change(StreamsKind.CURRENT, "m", StreamsAssignment(3, 2, assigned=OwnedTasks({"0": {1: 3}}, {}, {})))
    )
    active = "02" + "0230" + "0200000001" + "01" + "0005" + "0200000003"
    assert current == bytes.fromhex("0000" + "0000000300000002" + "01" + active + "0101" + "010101" + "00")
    member = STREAMS_RECORDS.value_of(
        Change(StreamsKind.MEMBER, "m", StreamsMetadata(client_id="c", client_host="h", process_id="p"))
    )
    assert member == bytes.fromhex("0000" + "0000" + "02630268" + "ffffffffffffffff" + "0270" + "ff" + "01" + "00")


def test_old_records_use_member_epoch() -> None:
    value = bytes.fromhex(
        "0000" + "0000000300000002" + "09" + "02" + "0230" + "0200000001" + "00" + "0101" + "010101" + "00"
    )
    reader = RecordReader(key_of("g", StreamsKind.CURRENT, "m"))
    read = STREAMS_RECORDS.read_change(reader.int16(), reader, value)
    assert read is not None
    assert read[1].value == StreamsAssignment(3, 2, StreamsMemberState.UNKNOWN, OwnedTasks({"0": {1: 3}}, {}, {}))


@pytest.mark.parametrize("value", [b"\x00\x01\x00\x00", b"", b"\x00", b"\x00\x00\x05"])
@pytest.mark.parametrize("kind", StreamsKind)
def test_other_versions_and_ends_are_unreadable(kind: StreamsKind, value: bytes) -> None:
    reader = RecordReader(key_of("g", kind, "ada"))
    with pytest.raises(RecordError):
        STREAMS_RECORDS.read_change(reader.int16(), reader, value)


def test_mismatched_task_epochs_are_rejected() -> None:
    value = bytes.fromhex(
        "0000"
        + "0000000300000002"
        + "01"
        + "02"
        + "0230"
        + "0200000001"
        + "01"
        + "0001"
        + "01"
        + "0101"
        + "010101"
        + "00"
    )
    reader = RecordReader(key_of("g", StreamsKind.CURRENT, "m"))
    with pytest.raises(RecordError):
        STREAMS_RECORDS.read_change(reader.int16(), reader, value)


def test_unused_record_type_is_ignored() -> None:
    reader = RecordReader(b"\x00\x12\x00\x01g")
    assert STREAMS_RECORDS.read_change(reader.int16(), reader, b"?") is None
