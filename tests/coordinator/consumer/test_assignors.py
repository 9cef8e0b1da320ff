"""The server-side assignors, compared with assignments of Apache Kafka 4.3.0, and their guarantees."""

import json
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.coordinator.consumer.assignors import assign
from kohort.coordinator.consumer.assignors.subscriber import Subscriber

# recorded; `possible`: number of results by the order of members and topics, in which Kafka iterates over hash maps
CASES = [json.loads(line) for line in (Path(__file__).parent / "assignments.jsonl").read_text().splitlines()]

Shares = dict[str, dict[str, list[int]]]


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["case"]))
def test_kafka_assignment_matches_some_iteration_order(case: dict[str, Any]) -> None:
    outcomes = {json.dumps(outcome, sort_keys=True) for outcome in _outcomes(case)}
    assert json.dumps(_without_nothing(case["target"]), sort_keys=True) in outcomes
    if len(case["members"]) <= 4:
        assert len(outcomes) == case["possible"]


def _outcomes(case: dict[str, Any]) -> Iterator[Shares]:
    """Return the results of all orders; for large groups only until Kafka's result is among them."""
    wanted = _without_nothing(case["target"])
    for members in permutations(case["members"]):
        for topics in permutations([topic["name"] for topic in case["topics"]]):
            outcome = _assign(case, list(members), list(topics))
            yield outcome
            if len(case["members"]) > 4 and outcome == wanted:
                return


def _assign(case: dict[str, Any], members: list[dict[str, Any]], topics: list[str]) -> Shares:
    equal = len({frozenset(member["topics"]) for member in members}) == 1
    ids = {topic["name"]: UUID(topic["topic_id"]) for topic in case["topics"]}
    if equal:  # previous targets are read in the order of hash maps, which is then that of `topics`
        ids = {name: UUID(int=position) for position, name in enumerate(topics)}
    counts = {topic["name"]: topic["partitions"] for topic in case["topics"]}
    subscribed = {topic for member in members for topic in member["topics"]}
    subscribers = [
        Subscriber(
            member["member_id"],
            member["instance_id"],
            frozenset(ids[topic] for topic in member["topics"]),
            {
                ids[topic]: frozenset(case["previous"].get(member["member_id"], {})[topic])
                for topic in topics
                if topic in case["previous"].get(member["member_id"], {})
            },
        )
        for member in members
    ]
    targets = assign(case["assignor"], subscribers, {ids[t]: counts[t] for t in topics if t in subscribed}, equal)
    names = {topic_id: name for name, topic_id in ids.items()}
    return _without_nothing(
        {
            member_id: {names[topic_id]: sorted(partitions) for topic_id, partitions in target.items()}
            for member_id, target in targets.items()
        }
    )


def _without_nothing(shares: Shares) -> Shares:
    return {member: {topic: sorted(p) for topic, p in share.items() if p} for member, share in shares.items()}


TOPICS = [UUID(int=number) for number in range(1, 5)]


@st.composite
def groups(draw: st.DrawFn, *, equal: bool) -> tuple[list[Subscriber], dict[UUID, int]]:
    """Generate members with targets of an earlier round, without shared partitions."""
    counts = {topic: draw(st.integers(1, 12)) for topic in TOPICS[: draw(st.integers(1, 4))]}
    everything = [(topic, number) for topic, count in counts.items() for number in range(count)]
    size = draw(st.integers(1, 6))
    owners = draw(st.lists(st.integers(-1, size - 1), min_size=len(everything), max_size=len(everything)))
    members = []
    for number in range(size):
        target: dict[UUID, set[int]] = {}
        for (topic, partition), owner in zip(everything, owners, strict=True):
            if owner == number:
                target.setdefault(topic, set()).add(partition)
        wanted = frozenset(counts) if equal else frozenset(draw(st.sets(st.sampled_from(list(counts)))))
        members.append(
            Subscriber(f"m{number}", None, wanted, {topic: frozenset(parts) for topic, parts in target.items()})
        )
    return members, counts


@pytest.mark.parametrize("name", ["uniform", "range"])
@given(data=st.data(), equal=st.booleans())
def test_every_partition_has_one_subscribed_owner(name: str, data: st.DataObject, equal: bool) -> None:
    members, counts = data.draw(groups(equal=equal))
    targets = assign(name, members, counts, equal)
    given_out = [
        (topic, partition) for target in targets.values() for topic, parts in target.items() for partition in parts
    ]
    wanted = {topic for member in members for topic in member.topics}
    assert sorted(given_out) == [(t, p) for t in sorted(wanted) for p in range(counts[t])]
    for member in members:
        assert targets[member.member_id].keys() <= member.topics


@given(group=groups(equal=True))
def test_uniform_is_even_and_sticky(
    group: tuple[list[Subscriber], dict[UUID, int]],
) -> None:
    members, counts = group
    targets = assign("uniform", members, counts, True)
    sizes = [sum(map(len, targets[member.member_id].values())) for member in members]
    assert max(sizes) - min(sizes) <= 1
    for member, size in zip(members, sizes, strict=True):
        had = {(topic, partition) for topic, parts in member.target.items() for partition in parts}
        has = {(topic, partition) for topic, parts in targets[member.member_id].items() for partition in parts}
        assert had <= has or size == len(had & has)


def test_range_prefers_static_members() -> None:
    topic = TOPICS[0]
    members = [
        Subscriber("z", None, frozenset({topic}), {}),
        Subscriber("b", "i2", frozenset({topic}), {}),
        Subscriber("c", "i1", frozenset({topic}), {}),
    ]
    targets = assign("range", members, {topic: 7}, True)
    assert {member: sorted(target[topic]) for member, target in targets.items()} == {
        "c": [0, 1, 2],
        "b": [3, 4],
        "z": [5, 6],
    }
