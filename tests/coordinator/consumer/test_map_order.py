"""Targets that depend on the order of Kafka's hash maps, compared with those of Apache Kafka 4.4 on Java 17."""

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from kohort.coordinator.topic_info import TopicInfo
from kohort.whatif.clients.virtual_topics import Topics
from tests.coordinator.consumer.world import ConsumerWorld

# recorded; each step names what happened, such as `+ada` for a member that joins, and the targets afterwards
CASES = [json.loads(line) for line in (Path(__file__).parent / "map_orders.jsonl").read_text().splitlines()]


class RecordedTopics(Topics):
    """Topics with the ids that Kafka gave them."""

    def __init__(self, recorded: dict[str, tuple[str, int]]) -> None:
        super().__init__({})
        for name, (topic_id, partitions) in recorded.items():
            self._topics[name] = TopicInfo(UUID(topic_id), name, partitions)
            self._names[UUID(topic_id)] = name


@pytest.mark.parametrize("case", CASES, ids=lambda case: next(iter(case["topics"])))
def test_targets_match_kafka(case: dict[str, Any]) -> None:
    world = ConsumerWorld()
    world.topics = world.coordinator.topics = RecordedTopics(case["topics"])
    members = {}
    for actions, expected in case["steps"]:
        for action, name in [(step[0], step[1:]) for step in actions]:
            if name not in members:
                members[name] = world.consumer(name, member_id=name, names=tuple(case["topics"]))
            if action == "-":
                members[name].leaves()
            else:
                members[name].joins()
        assert targets(world) == expected


def targets(world: ConsumerWorld) -> dict[str, dict[str, list[int]]]:
    group, name_of = world.consumer_group, world.topics.name_of
    return {
        member_id: {
            name_of(topic_id): sorted(partitions) for topic_id, partitions in group.target_of(member_id).items()
        }
        for member_id in group.members
    }
