"""Responses are compared without ids, and relative to the first generations."""

from __future__ import annotations

import pytest

from kohort.proxy.talk.answer_comparing import differences
from kohort.proxy.talk.bindings import Bindings, Owner, RecordedExpectations
from kohort.proxy.talk.talk_values import Value, read_values

BILLING = Owner("billing")


def compared(bindings: Bindings, expected: str, received: str, owner: Owner = BILLING) -> list[str]:
    """Return the differences between two responses in text form."""
    return differences("Any", read_values(expected), read_values(received), RecordedExpectations(bindings, owner))


def test_first_use_binds_a_name() -> None:
    bindings = Bindings()
    assert compared(bindings, "{member_id: $ada}", "{member_id: m-1}") == []
    assert compared(bindings, "{leader: $ada}", "{leader: m-1}") == []
    assert compared(bindings, "{leader: $ada}", "{leader: m-2}") == ["leader: expected $ada, received m-2"]
    assert compared(bindings, "{leader: $bob}", "{leader: m-1}") == ["leader: expected $bob, received $ada"]
    assert bindings.filled({"member_id": "$ada", "group_id": "$ada"}) == {"member_id": "m-1", "group_id": "$ada"}


def test_differing_response_binds_no_names() -> None:
    bindings = Bindings()
    expected, received = "{error_code: NONE, member_id: $ada}", "{error_code: FENCED_INSTANCE_ID, member_id: m-1}"
    assert compared(bindings, expected, received) == ["error_code: expected NONE, received FENCED_INSTANCE_ID"]
    assert bindings.value_of("$ada") is None
    bindings.learn(read_values(expected), read_values(received), BILLING)
    assert bindings.value_of("$ada") == "m-1"


def test_generations_keep_their_distance() -> None:
    bindings = Bindings()
    assert compared(bindings, "{generation_id: 57}", "{generation_id: 1}") == []
    assert compared(bindings, "{generation_id: 59}", "{generation_id: 3}") == []
    assert compared(bindings, "{generation_id: 60}", "{generation_id: 3}") == ["generation_id: expected 4, received 3"]
    assert compared(bindings, "{member_epoch: 5}", "{member_epoch: 9}", Owner("other")) == []
    assert bindings.filled({"group_id": "billing", "generation_id": 58}) == {"group_id": "billing", "generation_id": 2}
    assert bindings.filled({"group_id": "billing", "generation_id": -1})["generation_id"] == -1


def test_producer_epochs_count_separately() -> None:
    bindings = Bindings()
    expected = "{producer_id: $p, producer_epoch: 7}"
    assert compared(bindings, expected, "{producer_id: 4000, producer_epoch: 0}") == []
    assert bindings.filled(read_values("{producer_id: $p, producer_epoch: 8}")) == {
        "producer_id": 4000,
        "producer_epoch": 1,
    }


@pytest.mark.parametrize(
    ("expected", "received", "lines"),
    [
        ("{}", "{members: []}", ["members: expected nothing, received []"]),
        ("{a: 1, b: 2}", "{b: 2}", ["a: expected 1, received nothing"]),
        ("{a: [1, 2]}", "{a: [2, 1]}", ["a[0]: expected 1, received 2", "a[1]: expected 2, received 1"]),
        ("{a: [{x: 1}]}", "{a: []}", ["a: expected 1 entries, received 0"]),
        ("{a: 1}", '{a: "1"}', ['a: expected 1, received "1"']),
    ],
)
def test_differences_show_their_location(expected: str, received: str, lines: list[str]) -> None:
    assert compared(Bindings(), expected, received) == lines


def test_members_may_come_in_any_order() -> None:
    bindings = Bindings()
    expected = "{members: [{member_id: $ada, metadata: a}, {member_id: $bob, metadata: b}]}"
    received = "{members: [{member_id: m-2, metadata: b}, {member_id: m-1, metadata: a}]}"
    assert compared(bindings, expected, received) == []
    assert (bindings.value_of("$ada"), bindings.value_of("$bob")) == ("m-1", "m-2")
    other = "{members: [{member_id: m-2, metadata: a}, {member_id: m-1, metadata: b}]}"
    assert len(compared(bindings, expected, other)) == 2


def test_thousand_members_are_compared_quickly() -> None:
    def members(numbers: range, name: str) -> Value:
        return {"members": [{"member_id": f"{name}{number}", "metadata": ""} for number in numbers]}

    expectations = RecordedExpectations(Bindings(), BILLING)
    assert differences("Any", members(range(1_000), "$m"), members(range(1_000), "id-"), expectations) == []
    back = members(range(999, -1, -1), "id-")
    assert differences("Any", members(range(1_000), "$m"), back, expectations) == []
