"""Cached values of a member that takes one epoch after another: its record, and its response."""

from uuid import UUID

import pytest

from kohort.coordinator.consumer.consumer_group_records import CONSUMER_RECORDS
from kohort.coordinator.consumer.steady_assignment import SteadyAssignment
from kohort.coordinator.consumer.values import CurrentAssignment, Kind, MemberMetadata, Owned
from kohort.coordinator.modern.modern_values import Change, Target
from kohort.coordinator.modern.record_parts import key_of
from kohort.protocol.batches import encode_record
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.consumer_group_heartbeat import MESSAGE, ConsumerGroupHeartbeatResponse, in_epoch

T, U = UUID(int=1), UUID(int=2)
METADATA = MemberMetadata(client_id="ada", client_host="/10.0.0.7", topic_names=("t",))
SHARES: list[Owned] = [{}, {T: {0: 3}}, {T: dict.fromkeys(range(300), 7), U: {1: 2, 0: 2**31 - 1}}]


def steady(assigned: Owned, target: Target) -> SteadyAssignment:
    return SteadyAssignment("g", "member", assigned, METADATA, target, frozenset((T, U)))


@pytest.mark.parametrize("assigned", SHARES, ids=["nothing", "little", "much"])
def test_cached_record_equals_encoded_one(assigned: Owned) -> None:
    share = steady(assigned, {})
    for epoch, previous in ((2, 1), (300, 299), (2**31 - 1, 0), (7, -1)):
        change = Change(Kind.CURRENT, "member", CurrentAssignment(epoch, previous, assigned=assigned))
        written = encode_record(key_of("g", change.kind, change.name), CONSUMER_RECORDS.value_of(change), 0)
        assert share.record(epoch, previous) == written


def test_replaced_assignment_is_compared_again() -> None:
    assigned, target, subscribed = SHARES[1], {T: frozenset((0,))}, frozenset((T,))
    share = SteadyAssignment("g", "member", assigned, METADATA, target, subscribed)
    assert share.is_of(assigned, METADATA, target, subscribed)
    assert not share.is_of({T: {0: 3}}, METADATA, target, subscribed)
    assert not share.is_of(assigned, METADATA._replace(rack_id=""), target, subscribed)
    assert not share.is_of(assigned, METADATA, {T: frozenset((0,))}, subscribed)
    assert not share.is_of(assigned, METADATA, target, frozenset((T, U)))


@pytest.mark.parametrize("written", [False, True])
def test_cached_response_differs_only_in_epoch(written: bool) -> None:
    def answer(epoch: int) -> ConsumerGroupHeartbeatResponse:
        return ConsumerGroupHeartbeatResponse(
            error_code=ErrorCode.none, member_id="member", member_epoch=epoch, heartbeat_interval_ms=5_000
        )

    before = answer(7)
    if written:
        MESSAGE.write(1, 1, before)
    after = in_epoch(before, 2**31 - 1)
    assert after == answer(2**31 - 1)
    assert MESSAGE.write(1, 9, after) == MESSAGE.write(1, 9, answer(2**31 - 1))
    assert MESSAGE.write(1, 9, before) == MESSAGE.write(1, 9, answer(7)), (
        "a waiting request receives the previous response"
    )
