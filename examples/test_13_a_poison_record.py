"""A poison record is delivered up to the limit, and processing continues.

A worker that cannot process a record releases it, and the share group (KIP-932) delivers it again, to any member, up to
`share.delivery.count.limit` times. Then it is archived and not delivered any more. Handle such records yourself: Kafka
has no dead letter topic for share groups.
"""

from __future__ import annotations

from typing import Any

from confluent_kafka import AcknowledgeType

from examples.workers import say, take, workers


def test_poison_record_is_archived(kafka: Any) -> None:
    kafka.topics.create("orders")
    queue = kafka.share_group("queue")
    queue.configure({"share.auto.offset.reset": "earliest", "share.delivery.count.limit": 3})
    for value in ("a", "poison", "b"):
        kafka.topics.append("orders", value)
    handled, failed = [], []
    with workers(kafka, "queue", "ada") as (ada,):
        while len(handled) < 2 or len(failed) < 3:
            record = take(ada)
            if record.value() == b"poison":
                failed.append(record.delivery_count())
                say(ada, record, AcknowledgeType.RELEASE)
            else:
                handled.append(record.value())
                say(ada, record, AcknowledgeType.ACCEPT)
        queue.wait_caught_up()
    assert (handled, failed) == ([b"a", b"b"], [1, 2, 3])
    assert queue.delivery_count("orders", 0, 1) == 3
    assert queue.explain_record("orders", 0, 1) == (
        "orders-0 1: archived, delivered 3 times, the group's delivery limit (3)"
    )
    queue.wait_accepted(2)
