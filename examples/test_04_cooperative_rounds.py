"""Cooperative rebalancing: two rounds, and who keeps a partition never stops reading it.

The first round tells who gives up what; only when that is done does a second one hand it on. librdkafka's consumer runs
in this process too.
"""

from __future__ import annotations

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
    ada = member(kafka, "ada", revoked["ada"])

    def until(members: int, *consumers: Consumer) -> None:
        for _ in range(400):
            for each in consumers:
                each.poll(0.02)
            shares = [set(each.partitions.get("orders", ())) for each in group.members]
            if group.state == "Stable" and len(shares) == members and sum(map(len, shares)) == 6:
                return
        raise AssertionError(group.timeline())

    until(1, ada)
    generation = group.generation
    bob = member(kafka, "bob", revoked["bob"])
    until(2, ada, bob)
    kept = set(group.member("ada").partitions["orders"])
    assert group.generation >= generation + 2, "one round to give up, one to hand on"
    assert len(kept) == 3
    assert sorted(revoked["ada"]) == sorted(set(range(6)) - kept), "what ada keeps was never taken from it"
    ada.close()
    bob.close()
