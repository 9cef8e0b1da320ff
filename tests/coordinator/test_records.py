"""Bytes of `__consumer_offsets` as Kafka writes them (offsets-topic §6), every version read, ours written."""

from contextlib import suppress
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.coordinator.offsets.offsets import CommittedOffset
from kohort.coordinator.offsets.offsets_topic_records import (
    GroupKey,
    GroupValue,
    MemberValue,
    OffsetKey,
    OffsetValue,
    expiring_offset_value,
    group_key,
    group_value,
    offset_key,
    read_group_value,
    read_key,
    read_offset_value,
)
from kohort.protocol.batches import EncodedRecords
from kohort.protocol.records.schema import RecordError
from tests.support.record_layouts import assert_follows_table

TOPIC_ID = UUID(bytes=bytes(range(16)))
OFFSET_KEY = bytes.fromhex("0001 0001 67 0001 74 00000003")
OFFSET_V1 = bytes.fromhex("0001 0000000000000064 0001 6d 00000000000004d2 ffffffffffffffff")
OFFSET_V3 = bytes.fromhex("0003 0000000000000064 0000000a 0001 6d 00000000000004d2")
OFFSET_V4 = bytes.fromhex("0004 0000000000000064 0000000a 02 6d 00000000000004d2 01 00 10" + TOPIC_ID.hex)
OFFSET_V4_BARE = bytes.fromhex("0004 0000000000000064 0000000a 01 00000000000004d2 00")
GROUP_KEY = bytes.fromhex("0002 0001 67")
SUBSCRIPTION = bytes.fromhex("0003 00000001 0001 74 ffffffff 00000001 0001 74 00000002 00000000 00000001 00000007 ffff")
ASSIGNMENT = bytes.fromhex("0003 00000001 0001 74 00000002 00000000 00000001 ffffffff")
GROUP_V3 = bytes.fromhex(
    "0003 0008 636f6e73756d6572 00000008 0005 72616e6765 0002 6d31 00000199c82cc000 00000001"
    "0002 6d31 ffff 0001 63 000a 2f3132372e302e302e31 000493e0 0000afc8"
    "00000026" + SUBSCRIPTION.hex() + "00000019" + ASSIGNMENT.hex()
)
GROUP_V3_EMPTY = bytes.fromhex("0003 0008 636f6e73756d6572 00000009 ffff ffff 00000199c82cc000 00000000")
MEMBER = MemberValue(
    member_id="m1",
    group_instance_id=None,
    client_id="c",
    client_host="/127.0.0.1",
    rebalance_timeout_ms=300_000,
    session_timeout_ms=45_000,
    subscription=SUBSCRIPTION,
    assignment=ASSIGNMENT,
)
GROUP = GroupValue(
    protocol_type="consumer",
    generation_id=8,
    protocol_name="range",
    leader_id="m1",
    state_timestamp_ms=1_760_000_000_000,
    members=(MEMBER,),
)
EMPTY = GroupValue(
    protocol_type="consumer",
    generation_id=9,
    protocol_name=None,
    leader_id=None,
    state_timestamp_ms=1_760_000_000_000,
    members=(),
)


def offset(**fields: object) -> OffsetValue:
    defaults = {"offset": 100, "leader_epoch": 10, "metadata": "m", "commit_timestamp_ms": 1_234}
    return OffsetValue(**(defaults | fields))  # type: ignore[arg-type]


def test_keys() -> None:
    assert offset_key("g", "t", 3) == OFFSET_KEY
    assert read_key(OFFSET_KEY) == OffsetKey("g", "t", 3)
    assert read_key(b"\x00\x00" + OFFSET_KEY[2:]) == OffsetKey("g", "t", 3)  # as clients before 0.9 wrote it
    assert group_key("g") == GROUP_KEY
    assert read_key(GROUP_KEY) == GroupKey("g")


@pytest.mark.parametrize("kind", [*range(3, 25), 999, -1])
def test_other_record_keys_are_ignored(kind: int) -> None:
    assert read_key(kind.to_bytes(2, "big", signed=True) + b"\x00\x01g") is None


def value_of_commit(metadata: str, topic_id: UUID | None) -> bytes | None:
    record = CommittedOffset(metadata, topic_id).record("g", "t", 3, 0, 100, 10, 1_234)
    ((key, value),) = EncodedRecords(record, 1)
    assert key == offset_key("g", "t", 3)
    return value


def test_offsets_are_written_as_version_4() -> None:
    assert value_of_commit("m", TOPIC_ID) == OFFSET_V4
    assert value_of_commit("", None) == OFFSET_V4_BARE


def test_prepared_record_precedes_next_offset() -> None:
    committed = CommittedOffset("m", TOPIC_ID)
    records = [committed.record("g", "t", 3, position, 100 + position, 10, 1_234) for position in (0, 0, 1)]
    assert records[0] == records[1]
    assert [read_offset_value(value).offset for _, value in EncodedRecords(b"".join(records[1:]), 2) if value] == [
        100,
        101,
    ]


def test_explicit_expiry_uses_version_1() -> None:
    written = expiring_offset_value(100, "m", 1_234, 5_000)
    assert_follows_table(OFFSET_KEY, written)
    assert written == OFFSET_V1[:-8] + (5_000).to_bytes(8, "big")
    assert read_offset_value(written) == offset(leader_epoch=-1, expire_timestamp_ms=5_000)


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (b"\x00\x00" + OFFSET_V1[2:-8], offset(leader_epoch=-1)),
        (OFFSET_V1, offset(leader_epoch=-1)),
        (b"\x00\x02" + OFFSET_V1[2:-8], offset(leader_epoch=-1)),
        (OFFSET_V3, offset()),
        (OFFSET_V4, offset(topic_id=TOPIC_ID)),
        (OFFSET_V4_BARE, offset(metadata="")),
        (OFFSET_V4_BARE[:-1] + bytes.fromhex("02 00 10" + bytes(16).hex() + "05 02 ffff"), offset(metadata="")),
    ],
)
def test_every_offset_version_is_readable(value: bytes, read: OffsetValue) -> None:
    assert read_offset_value(value) == read


def test_groups_are_written_as_version_3() -> None:
    assert group_value(GROUP) == GROUP_V3
    assert group_value(EMPTY) == GROUP_V3_EMPTY
    for value in (GROUP_V3, GROUP_V3_EMPTY):
        assert_follows_table(GROUP_KEY, value)


@pytest.mark.parametrize("version", range(4))
def test_every_group_version_is_readable(version: int) -> None:
    value = version.to_bytes(2, "big") + bytes.fromhex("0008 636f6e73756d6572 00000008 0005 72616e6765 0002 6d31")
    value += bytes.fromhex("00000199c82cc000") if version >= 2 else b""
    value += bytes.fromhex("00000001 0002 6d31") + (bytes.fromhex("0001 69") if version >= 3 else b"")
    value += bytes.fromhex("0001 63 000a 2f3132372e302e302e31") + (bytes.fromhex("000493e0") if version >= 1 else b"")
    value += bytes.fromhex("0000afc8 00000001 73 00000000")
    group = read_group_value(value)
    (member,) = group.members
    assert group.state_timestamp_ms == (1_760_000_000_000 if version >= 2 else -1)
    assert member.rebalance_timeout_ms == (300_000 if version >= 1 else -1)
    assert member.group_instance_id == ("i" if version >= 3 else None)
    assert (member.session_timeout_ms, member.subscription, member.assignment) == (45_000, b"s", b"")


def test_golden_groups_are_read() -> None:
    assert read_group_value(GROUP_V3) == GROUP
    assert read_group_value(GROUP_V3_EMPTY) == EMPTY


@pytest.mark.parametrize("value", [OFFSET_V1, OFFSET_V3, OFFSET_V4])
def test_rejects_truncated_offset(value: bytes) -> None:
    for size in range(len(value)):
        with pytest.raises(RecordError):
            read_offset_value(value[:size])


def test_rejects_truncated_group() -> None:
    for size in range(len(GROUP_V3)):
        with pytest.raises(RecordError):
            read_group_value(GROUP_V3[:size])


@pytest.mark.parametrize("version", [-1, 5, 99])
def test_unknown_versions_cannot_be_read(version: int) -> None:
    raw = version.to_bytes(2, "big", signed=True)
    with pytest.raises(RecordError):
        read_offset_value(raw + OFFSET_V3[2:])
    with pytest.raises(RecordError):
        read_group_value(raw + GROUP_V3[2:])


def test_rejects_topic_id_of_wrong_size() -> None:
    with pytest.raises(RecordError):
        read_offset_value(OFFSET_V4_BARE[:-1] + bytes.fromhex("01 00 02 ffff"))


@given(st.binary(max_size=80))
def test_no_bytes_do_any_harm(data: bytes) -> None:
    for read in (read_key, read_offset_value, read_group_value):
        for prefix in (b"", b"\x00\x01", b"\x00\x03", b"\x00\x04"):
            with suppress(RecordError):
                read(prefix + data)


@given(
    offset=st.integers(-(2**63), 2**63 - 1),
    epoch=st.integers(-1, 2**31 - 1),
    metadata=st.text(max_size=300),
    at_ms=st.integers(0, 2**60),
    topic_id=st.none() | st.uuids().filter(lambda value: value.int != 0),
)
def test_written_records_are_readable(
    offset: int, epoch: int, metadata: str, at_ms: int, topic_id: UUID | None
) -> None:
    record = CommittedOffset(metadata, topic_id).record("g", "t", 0, 0, offset, epoch, at_ms)
    ((key, value),) = EncodedRecords(record, 1)
    assert key is not None
    assert value is not None
    assert_follows_table(key, value)
    read = read_offset_value(value)
    assert (read.offset, read.leader_epoch, read.metadata, read.commit_timestamp_ms) == (offset, epoch, metadata, at_ms)
    assert (read.topic_id, read.expire_timestamp_ms) == (topic_id, -1)


@pytest.mark.parametrize("value", [OFFSET_V4_BARE, OFFSET_V4_BARE[:-1] + b"\x01" + b"\x05\x00", OFFSET_V3])
def test_stored_offset_equals_record(value: bytes) -> None:
    read, committed = read_offset_value(value), CommittedOffset.read(value)
    fields = (committed.offset, committed.leader_epoch, committed.metadata, committed.commit_timestamp_ms)
    assert (*fields, committed.expire_timestamp_ms, committed.topic_id) == read
