"""Equal values of an application's members are stored once (`kohort.coordinator.shared_values`)."""

import pytest

from kohort.coordinator import shared_values
from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.classic.classic_member import Member
from tests.support.coordinator_world import World, subscription


@pytest.mark.parametrize("restarts", [False, True])
def test_equal_members_share_values(restarts: bool) -> None:
    world = World()
    for group_id in ("a", "b"):
        world.stable("ada", group_id=group_id)
    if restarts:
        world.restart()
    a, b = world.group("a"), world.group("b")
    assert a.protocol_type is b.protocol_type
    assert a.subscribed_topics is not None
    assert a.subscribed_topics is b.subscribed_topics
    ada, bob = sole(a), sole(b)
    assert a.leader_id is ada.member_id
    assert ada.protocols is bob.protocols
    assert ada.client_id is bob.client_id
    assert ada.client_host is bob.client_host


def sole(group: ClassicGroup) -> Member:
    (member,) = group.members.values()
    return member


def test_long_protocols_are_not_shared() -> None:
    metadata = subscription("t" * shared_values.LARGEST_BYTES)
    first, second = (shared_values.shared_protocols((("range", bytes(metadata)),)) for _ in range(2))
    assert first == second
    assert first is not second


def test_few_are_remembered() -> None:
    for number in range(2 * shared_values.KEPT):
        shared_values.shared_protocols((("range", b"%d" % number),))
    assert shared_values._protocols.cache_info().currsize == shared_values.KEPT
