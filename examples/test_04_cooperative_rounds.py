"""Cooperative rebalancing: two rounds, and who keeps a partition never stops reading it.

The first round says who gives up what; only when that is done does a second one hand it on. librdkafka's consumer runs
in this process too.
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


def test_two_rounds_and_nothing_is_taken_that_stays(kafka: Any) -> None:
    kafka.topics.create("orders", partitions=6)
    group = kafka.group("billing")
    revoked: dict[str, list[int]] = {"ada": [], "bob": []}

    def until_shared(**consumers: Consumer) -> None:
        # What the broker handed out is a member's own only once its next poll has taken it: one that joins again before
        # that owns nothing yet, and has nothing to give up.
        for _ in range(2_000):
            for each in consumers.values():
                each.poll(0.02)
            assigned = {each.client_id: sorted(each.partitions.get("orders", ())) for each in group.members}
            held = {name: sorted(part.partition for part in each.assignment()) for name, each in consumers.items()}
            shared = all(len(partitions) == 6 // len(consumers) for partitions in held.values())
            if group.state == "Stable" and held == assigned and shared:
                return
        raise AssertionError(group.timeline())

    with closing(member(kafka, "ada", revoked["ada"])) as ada:
        until_shared(ada=ada)
        generation = group.generation
        with closing(member(kafka, "bob", revoked["bob"])) as bob:
            until_shared(ada=ada, bob=bob)
            kept = set(group.member("ada").partitions["orders"])
            assert group.generation >= generation + 2, "one round to give up, one to hand on"
            assert len(kept) == 3
            assert sorted(revoked["ada"]) == sorted(set(range(6)) - kept), "what ada keeps was never taken from it"
