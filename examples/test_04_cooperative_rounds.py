"""Cooperative rebalancing: two rounds, and members keep reading the partitions that they keep.

In the first round members revoke the partitions that move; then a second round assigns them to their new owners.
librdkafka's consumer runs in this process, too.
"""

from __future__ import annotations

from contextlib import closing
from typing import Any

from confluent_kafka import Consumer


def member(kafka: Any, name: str, revoked: list[int]) -> Consumer:
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "group.id": "billing",
            "client.id": name,
            "partition.assignment.strategy": "cooperative-sticky",
            "heartbeat.interval.ms": 100,
            "session.timeout.ms": 10_000,
        }
    )
    consumer.subscribe(["orders"], on_revoke=lambda _, parts: revoked.extend(part.partition for part in parts))
    return consumer


def test_two_rounds_revoke_only_moved_partitions(kafka: Any) -> None:
    kafka.topics.create("orders", partitions=6)
    group = kafka.group("billing")
    revoked: dict[str, list[int]] = {"ada": [], "bob": []}

    def poll_until_balanced(**consumers: Consumer) -> None:
        # A member owns assigned partitions only after its next poll: if it rejoins before that, it owns nothing and has
        # nothing to revoke.
        for _ in range(2_000):
            for consumer in consumers.values():
                consumer.poll(0.02)
            assigned = {consumer.client_id: sorted(consumer.partitions.get("orders", ())) for consumer in group.members}
            held = {
                name: sorted(part.partition for part in consumer.assignment()) for name, consumer in consumers.items()
            }
            shared = all(len(partitions) == 6 // len(consumers) for partitions in held.values())
            if group.state == "Stable" and held == assigned and shared:
                return
        raise AssertionError(group.timeline())

    with closing(member(kafka, "ada", revoked["ada"])) as ada:
        poll_until_balanced(ada=ada)
        generation = group.generation
        with closing(member(kafka, "bob", revoked["bob"])) as bob:
            poll_until_balanced(ada=ada, bob=bob)
            kept = set(group.member("ada").partitions["orders"])
            assert group.generation >= generation + 2, "one round to revoke, one to assign"
            assert len(kept) == 3
            assert sorted(revoked["ada"]) == sorted(set(range(6)) - kept), (
                "ada's remaining partitions were never revoked"
            )
