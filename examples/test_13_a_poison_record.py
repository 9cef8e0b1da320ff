"""A poison record is delivered to its limit, and the others go on.

A worker that cannot handle a record releases it, and the share group (KIP-932) delivers it again: to anybody, up to
`share.delivery.count.limit` times. Then it is archived, and nobody is given it any more. What you do about that is up
to you: Kafka has no dead letter topic for it.
"""

from __future__ import annotations

from typing import Any

from confluent_kafka import AcknowledgeType

from examples.workers import say, take, workers


def test_the_bad_record_stops_nobody(kafka: Any) -> None:
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
