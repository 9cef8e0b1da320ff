"""The records of `__share_group_state`: Kafka's bytes."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.coordinator.at_once import at_once
from kohort.coordinator.pace import Pace
from kohort.coordinator.share_state.share_partition_key import SharePartitionKey, read_key
from kohort.coordinator.share_state.share_state import ShareState, StateUpdate
from kohort.coordinator.share_state.share_state_records import (
    read_snapshot,
    read_state_key,
    read_update,
    snapshot_value,
    state_key,
    update_value,
)
from kohort.coordinator.share_state.state_batches import StateBatch, StateBatches
from kohort.protocol.records.layouts import SHARE_GROUP_STATE, SHARE_SNAPSHOT, SHARE_UPDATE
from kohort.protocol.records.schema import RecordError
from tests.support.record_layouts import assert_follows_table

KEY = SharePartitionKey("g", UUID("00000000-0000-4000-8000-000000000001"), 3)
INTS = st.integers(-1, 2**31 - 1)
LONGS = st.integers(-1, 2**63 - 1)
BATCHES = st.lists(st.builds(StateBatch, LONGS, LONGS, st.integers(0, 4), st.integers(0, 2**15 - 1)), max_size=4).map(
    StateBatches.of
)


@given(st.builds(ShareState, INTS, INTS, INTS, LONGS, INTS, BATCHES, LONGS, LONGS))
def test_snapshots_are_read_again(state: ShareState) -> None:
    value = at_once(snapshot_value(state, Pace()))
    assert at_once(read_snapshot(value, Pace())) == state
    assert_follows_table(state_key(SHARE_SNAPSHOT, KEY), value, SHARE_GROUP_STATE)


@given(st.builds(StateUpdate, INTS, INTS, LONGS, INTS, BATCHES))
def test_updates_are_read_again(update: StateUpdate) -> None:
    value = at_once(update_value(update, Pace()))
    assert at_once(read_update(value, Pace())) == update
    assert_follows_table(state_key(SHARE_UPDATE, KEY), value, SHARE_GROUP_STATE)


@pytest.mark.parametrize("kind", [SHARE_SNAPSHOT, SHARE_UPDATE])
def test_keys_are_read_again(kind: int) -> None:
    assert read_state_key(state_key(kind, KEY)) == (kind, KEY)
    assert read_state_key(b"\x00\x07" + state_key(kind, KEY)[2:]) is None


def test_snapshot_bytes() -> None:
    state = ShareState(1, 2, 3, 4, 5, StateBatches.of([StateBatch(6, 7, 2, 8)]), 9, 10)
    assert state_key(SHARE_SNAPSHOT, KEY).hex() == "0000 000167 00000000000040008000000000000001 00000003".replace(
        " ", ""
    )
    assert at_once(snapshot_value(state, Pace())).hex() == (
        "0000 00000001 00000002 00000003 0000000000000004 0000000000000009 000000000000000a"
        "02 0000000000000006 0000000000000007 02 0008 00  01 00 04 00000005"
    ).replace(" ", "")


def test_update_bytes_with_unknown_count() -> None:
    update = StateUpdate(1, 2, -1, -1, StateBatches())
    assert at_once(update_value(update, Pace())).hex() == "0000 00000001 00000002 ffffffffffffffff 01 00".replace(
        " ", ""
    )


def test_unknown_version_is_rejected() -> None:
    with pytest.raises(RecordError, match="version 1"):
        at_once(read_snapshot(b"\x00\x01" + bytes(50), Pace()))
    with pytest.raises(RecordError):
        at_once(read_update(b"\x00\x00" + bytes(3), Pace()))


def test_keys_as_clients_write_them() -> None:
    assert KEY.text == "g:AAAAAAAAQACAAAAAAAAAAQ:3"
    assert read_key(KEY.text) == KEY
    assert read_key("a:b:AAAAAAAAQACAAAAAAAAAAQ:3") == KEY._replace(group_id="a:b")
    for text in ("", "g", "g:x:0", ":AAAAAAAAQACAAAAAAAAAAQ:0", "g:AAAAAAAAQACAAAAAAAAAAQ:2147483648"):
        assert read_key(text) is None
