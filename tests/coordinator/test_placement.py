"""Which partition holds a group (classic-groups §1.1), and which protocol a generation uses (classic-groups §2.7)."""

import pytest

from kohort.coordinator.classic.classic_member import Member
from kohort.coordinator.classic.voting import NoCommonProtocol, select_protocol
from kohort.coordinator.groups.group_placement import java_hash, partition_for
from kohort.protocol.errors import ErrorCode as E
from tests.support.coordinator_world import World


@pytest.mark.parametrize(
    ("group_id", "value", "of_50", "of_3"),
    [
        ("", 0, 0, 0),
        ("a", 97, 47, 1),
        ("group", 98629247, 47, 2),
        ("test-group", 627841412, 12, 2),
        ("my-group", -1906497762, 12, 0),
        ("console-consumer", -648006740, 40, 2),
        ("polygenelubricants", -(2**31), 0, 0),
        ("DESIGNING WORKHOUSES", -(2**31), 0, 0),
        ("grüße", 98768023, 23, 1),
        ("消费者", 28099956, 6, 0),
        ("😀", 1772899, 49, 1),
        ("foo😀bar", 1561448138, 38, 2),
        ("group-1", 293427299, 49, 2),
        ("orders", -1008770331, 31, 0),
        ("console-consumer-1", 35782224, 24, 0),
    ],
)
def test_placement(group_id: str, value: int, of_50: int, of_3: int) -> None:
    assert java_hash(group_id) == value
    assert (partition_for(group_id, 50), partition_for(group_id, 3)) == (of_50, of_3)


def vote(*lists: str) -> str:
    """Select a protocol. Each member's list is written as `range roundrobin`."""
    members = [
        Member(f"m{number}", None, "", "", 0, 0, tuple((name, b"") for name in names.split()))
        for number, names in enumerate(lists)
    ]
    candidates = set.intersection(*(set(names.split()) for names in lists))
    return select_protocol(members, candidates)


@pytest.mark.parametrize(
    ("lists", "selected"),
    [
        (["range rr", "rr range", "rr"], "rr"),
        (["range rr", "rr range", "range rr"], "range"),
        # A tie goes to the first in Kafka's hash map: 2 default, 4 eager, 5 stream, 8 sticky, 9 range, 10 roundrobin.
        (["range roundrobin", "roundrobin range"], "range"),
        (["roundrobin range", "range roundrobin"], "range"),
        (["range sticky", "sticky range"], "sticky"),
        (["cooperative-sticky roundrobin", "roundrobin cooperative-sticky"], "roundrobin"),
        (["default eager", "eager default"], "default"),
        (["stream eager", "eager stream"], "eager"),
        # In one bucket, 2 and 15: first voted.
        (["default compatible", "compatible default"], "default"),
        (["compatible default", "default compatible"], "compatible"),
        (["sessioned cooperative-sticky", "cooperative-sticky sessioned"], "sessioned"),
    ],
)
def test_voting(lists: list[str], selected: str) -> None:
    assert vote(*lists) == selected


def test_there_is_nothing_to_vote_for() -> None:
    with pytest.raises(NoCommonProtocol):
        vote("range", "sticky")
    with pytest.raises(NoCommonProtocol):
        select_protocol([], set())


def test_leader_receives_selected_protocol_metadata() -> None:
    world = World()
    lists = ["range rr", "rr range", "rr"]
    speakers = [
        world.speaker(f"c{number}", protocols=tuple((name, f"{name}{number}".encode()) for name in names.split()))
        for number, names in enumerate(lists)
    ]
    joins = [speaker.enters() for speaker in speakers]
    world.after(0)
    assert {join.heard.protocol_name for join in joins} == {"rr"}
    assert [len(join.heard.members) for join in joins] == [3, 0, 0]
    assert [member.metadata for member in joins[0].heard.members] == [b"rr0", b"rr1", b"rr2"]


def test_sole_member_can_add_protocols() -> None:
    world = World()
    (ada,) = world.stable("ada")
    assert ada.joins(protocols=(("sticky", b""),)).error is E.inconsistent_group_protocol
    assert ada.joins(protocols=(("range", b""), ("sticky", b""))).heard.generation_id == 2
    assert ada.joins(protocol_type="connect").error is E.inconsistent_group_protocol
    ada.leaves()
    assert world.speaker("bob", protocol_type="connect", needs_id=False).joins().error is None  # an empty group may
