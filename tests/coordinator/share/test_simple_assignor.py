"""The simple assignor: balanced members, evenly shared partitions, and as few moves as possible."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.coordinator.modern.modern_values import Target
from kohort.coordinator.share.simple_assignor import Subscriber, assigning, desired_counts

FOO, BAR = UUID(int=1), UUID(int=2)


def assign(members: list[Subscriber], ready: dict[UUID, frozenset[int]], *, homogeneous: bool) -> dict[str, Target]:
    """Compute the targets in one go."""
    steps = assigning(members, ready, homogeneous=homogeneous)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            targets: dict[str, Target] = end.value
            return targets


# Inputs and results of `SimpleAssignor` of Apache Kafka 4.4.0; topics are in the order of its set of names.
RECORDED = [json.loads(line) for line in (Path(__file__).parent / "assignments.jsonl").read_text().splitlines()]


def target_of(partitions: dict[str, list[int]]) -> Target:
    return {UUID(topic_id): frozenset(numbers) for topic_id, numbers in partitions.items() if numbers}


@pytest.mark.parametrize("case", RECORDED)
def test_recorded_assignment(case: dict[str, Any]) -> None:
    ids = {name: UUID(topic_id) for name, (topic_id, _) in case["topics"].items()}
    members = [
        Subscriber(member["id"], frozenset(ids[name] for name in member["topics"]), target_of(member["before"]))
        for member in case["members"]
    ]
    names = case["members"][0]["topics"] if case["homogeneous"] else case["topics"]
    ready = {ids[name]: frozenset(range(case["topics"][name][1])) for name in names}
    targets = assign(members, ready, homogeneous=case["homogeneous"])
    assert targets == {member["id"]: target_of(member["after"]) for member in case["members"]}


def counts(targets: dict[str, Target]) -> list[int]:
    return [sum(map(len, target.values())) for target in targets.values()]


def sharers(targets: dict[str, Target], topic_id: UUID, partition: int) -> int:
    return sum(partition in target.get(topic_id, ()) for target in targets.values())


def newcomers(count: int, *topics: UUID) -> list[Subscriber]:
    return [Subscriber(f"m{number}", frozenset(topics), {}) for number in range(count)]


@pytest.mark.parametrize(
    ("members", "partitions", "expected"),
    [(2, 4, [2, 2]), (4, 2, [1, 1, 1, 1]), (3, 2, [2, 1, 1]), (1, 3, [3]), (3, 1, [1, 1, 1]), (5, 3, [2, 1, 1, 1, 1])],
)
def test_counts_of_the_specification(members: int, partitions: int, expected: list[int]) -> None:
    ready = {FOO: frozenset(range(partitions))}
    targets = assign(newcomers(members, FOO), ready, homogeneous=True)
    assert counts(targets) == expected
    assert sum(expected) == partitions * -(-members // partitions)


def test_different_subscriptions_balance_each_topic() -> None:
    members = [
        Subscriber("ada", frozenset({FOO}), {}),
        Subscriber("bob", frozenset({BAR}), {}),
        Subscriber("cem", frozenset({FOO, BAR}), {}),
    ]
    ready = {FOO: frozenset(range(4)), BAR: frozenset(range(2))}
    targets = assign(members, ready, homogeneous=False)
    assert [len(targets[name].get(FOO, ())) for name in ("ada", "bob", "cem")] == [2, 0, 2]
    assert [len(targets[name].get(BAR, ())) for name in ("ada", "bob", "cem")] == [0, 1, 1]


def test_unready_and_unsubscribed_partitions_are_removed() -> None:
    had = {FOO: frozenset({0, 1, 2}), BAR: frozenset({0})}
    targets = assign([Subscriber("ada", frozenset({FOO}), had)], {FOO: frozenset({0, 2})}, homogeneous=True)
    assert targets == {"ada": {FOO: frozenset({0, 2})}}
    assert assign(newcomers(2, FOO), {FOO: frozenset()}, homogeneous=True) == {"m0": {}, "m1": {}}
    assert assign(newcomers(1), {}, homogeneous=True) == {"m0": {}}


def test_new_member_takes_only_its_quota() -> None:
    before = assign(newcomers(2, FOO), {FOO: frozenset(range(6))}, homogeneous=True)
    members = [Subscriber(name, frozenset({FOO}), target) for name, target in before.items()]
    after = assign([*members, Subscriber("m2", frozenset({FOO}), {})], {FOO: frozenset(range(6))}, homogeneous=True)
    assert counts(after) == [2, 2, 2]
    for name, target in before.items():
        assert after[name][FOO] < target[FOO], "it keeps two of three"


@given(st.integers(1, 40), st.integers(1, 40))
def test_desired_counts_differ_by_one(members: int, partitions: int) -> None:
    sharing = -(-members // partitions)
    wanted = desired_counts(members, partitions, sharing)
    assert sum(wanted) == sharing * partitions
    assert max(wanted) - min(wanted) <= 1


@st.composite
def groups(draw: st.DrawFn) -> tuple[list[Subscriber], dict[UUID, frozenset[int]], bool]:
    """Generate members with arbitrary previous assignments, and ready partitions."""
    ready = {topic: frozenset(range(draw(st.integers(0, 6)))) for topic in (FOO, BAR)}
    homogeneous = draw(st.booleans())
    wanted = draw(st.sets(st.sampled_from([FOO, BAR])))
    members = []
    for number in range(draw(st.integers(1, 7))):
        topics = wanted if homogeneous else draw(st.sets(st.sampled_from([FOO, BAR])))
        had = {
            topic: frozenset(draw(st.sets(st.integers(0, 7)))) for topic in draw(st.sets(st.sampled_from([FOO, BAR])))
        }
        members.append(Subscriber(f"m{number}", frozenset(topics), had))
    subscribed = {topic for member in members for topic in member.topics}
    return members, {topic: ready[topic] for topic in subscribed}, homogeneous


@given(groups())
def test_reassignment_is_fair(
    group: tuple[list[Subscriber], dict[UUID, frozenset[int]], bool],
) -> None:
    members, ready, homogeneous = group
    targets = assign(members, ready, homogeneous=homogeneous)
    assert targets.keys() == {member.member_id for member in members}
    for member in members:
        for topic_id, partitions in targets[member.member_id].items():
            assert topic_id in member.topics
            assert partitions <= ready[topic_id]
    for topic_id, partitions in ready.items():
        subscribers = [member for member in members if topic_id in member.topics]
        count = sum(map(len, ready.values())) if homogeneous else len(partitions)
        for partition in partitions:
            assert 1 <= sharers(targets, topic_id, partition) <= -(-len(subscribers) // count)


@given(groups())
def test_computed_again_nothing_moves(group: tuple[list[Subscriber], dict[UUID, frozenset[int]], bool]) -> None:
    members, ready, homogeneous = group
    targets = assign(members, ready, homogeneous=homogeneous)
    again = [member._replace(target=targets[member.member_id]) for member in members]
    assert assign(again, ready, homogeneous=homogeneous) == targets
