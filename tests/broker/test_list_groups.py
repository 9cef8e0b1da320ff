"""ListGroups names groups in the order in which Kafka walks its tables: recorded from Apache Kafka 4.3.0."""

from __future__ import annotations

from typing import Any

from kohort.whatif.clients.group_member import to_commit
from tests.support.broker import Broker, Client


def commits(client: Client, group_id: str) -> None:
    response = client.asks("offset_commit", 2, group_id=group_id, member_id="", topics=to_commit("t", {0: 1}))
    assert not response.topics[0].partitions[0].error_code


def ready(**settings: Any) -> Broker:
    broker = Broker(**settings)
    broker.cluster.topics.create("t", 1, 1)
    broker.cluster.offsets_topic.create(0)
    return broker


def listed(client: Client) -> list[str]:
    return [group.group_id for group in client.asks("list_groups", 4, states_filter=()).groups]


def test_partitions_follow_hash_order() -> None:
    ada = ready().client()
    for number in range(0, 12, 2):
        commits(ada, f"g{number}")
    commits(ada, "cg")
    assert listed(ada) == ["g4", "g0", "g8", "g10", "g6", "g2", "cg"]


def test_groups_follow_hash_order() -> None:
    broker = ready(offsets_topic_num_partitions=1)
    ada = broker.client()
    for number in range(20):
        commits(ada, f"group-{number}")
    assert listed(ada) == [
        f"group-{number}" for number in (15, 1, 6, 12, 3, 17, 8, 14, 0, 5, 19, 11, 16, 2, 7, 13, 4, 18, 10, 9)
    ]
    ada.asks("delete_groups", 2, groups_names=tuple(f"group-{number}" for number in range(0, 20, 2)))
    commits(ada, "zoe")
    commits(ada, "group-2")
    left = [f"group-{number}" for number in (15, 1, 3, 17, 5, 19, 11, 2, 7, 13, 9)]
    assert listed(ada) == [*left[:6], "zoe", *left[6:]]
