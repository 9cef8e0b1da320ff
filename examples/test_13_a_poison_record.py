"""A poison record ends in the dead-letter topic after five attempts, and processing continues.

A worker that cannot process a record releases it, and the share group (KIP-932) delivers it again, to any member, up to
`share.delivery.count.limit` times (5 by default). Then the record is archived. Since Kafka 4.4 a group can have a
dead-letter topic (KIP-1191), which must have `errors.deadletterqueue.group.enable=true` and a name that begins with the
broker's `errors.deadletterqueue.topic.name.prefix` (`dlq.`). Otherwise the record is archived without a dead letter
and no client receives an error: `explain_record` returns the reason.
"""

from __future__ import annotations

from typing import Any

from confluent_kafka import AcknowledgeType

from examples.workers import say, take, workers


def test_poison_record_becomes_dead_letter(kafka: Any) -> None:
    kafka.topics.create("orders")
    kafka.topics.create("dlq.orders", configs={"errors.deadletterqueue.group.enable": "true"})
    queue = kafka.share_group("queue")
    queue.configure(
        {
            "share.auto.offset.reset": "earliest",
            "errors.deadletterqueue.topic.name": "dlq.orders",
            "errors.deadletterqueue.copy.record.enable": "true",
        }
    )
    for value in ("a", "poison", "b"):
        kafka.topics.append("orders", value, key="7")
    handled, attempts = [], []
    with workers(kafka, "queue", "ada") as (ada,):
        while len(handled) < 2 or len(attempts) < 5:
            record = take(ada)
            if record.value() == b"poison":
                attempts.append(record.delivery_count())
                say(ada, record, AcknowledgeType.RELEASE)
            else:
                handled.append(record.value())
                say(ada, record, AcknowledgeType.ACCEPT)
        queue.wait_caught_up()
    assert (handled, attempts) == ([b"a", b"b"], [1, 2, 3, 4, 5])
    (letter,) = queue.dead_letters
    assert (letter.topic, letter.partition, letter.offset, letter.key, letter.value) == (
        "orders",
        0,
        1,
        b"7",
        b"poison",
    )
    assert (letter.delivery_count, letter.message) == (5, "Offset delivery count exceeded the threshold.")
    assert queue.explain_record("orders", 0, 1) == (
        "orders-0 1: archived, delivered 5 times, the group's delivery limit (5); its dead letter is in dlq.orders-0"
    )
