"""A worker exceeds its lock: another worker receives the record, and the late acknowledgement is rejected.

A member of a share group (KIP-932) holds a record for `share.record.lock.duration.ms`, 30 seconds. A worker that takes
longer is not notified. Its record is delivered to another worker, and so is processed twice.
"""

from __future__ import annotations

from typing import Any

from confluent_kafka import AcknowledgeType

from examples.workers import say, take, workers


def test_record_is_processed_twice(kafka: Any) -> None:
    kafka.topics.create("orders")
    queue = kafka.share_group("queue")
    queue.configure({"share.auto.offset.reset": "earliest"})
    kafka.topics.append("orders", "a")
    with workers(kafka, "queue", "ada", "bob") as (ada, bob):
        hers = take(ada)
        (wait,) = queue.explain().waits
        assert (wait.for_whom, wait.what) == (("ada",), "to acknowledge orders-0 0, delivered once")
        assert 25_000 < wait.ends_in_ms <= 30_000

        kafka.clock.advance(seconds=30)  # ada keeps working
        his = take(bob)
        assert (his.value(), his.delivery_count()) == (hers.value(), 2)
        (held,) = queue.held("orders")
        assert held.holder == "bob"
        assert say(ada, hers, AcknowledgeType.ACCEPT) == "INVALID_RECORD_STATE"
        assert say(bob, his, AcknowledgeType.ACCEPT) == ""
        queue.wait_caught_up()
    assert [event.kind for event in queue.events if event.kind.startswith(("records", "lock"))] == [
        "records_acquired",
        "lock_expired",
        "records_acquired",
        "records_accepted",
    ]
