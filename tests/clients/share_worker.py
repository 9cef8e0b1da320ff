"""A share consumer with confluent-kafka, as `sharing.py` talks to it.

Bootstrap, topic, group, name, mode and most records as arguments; reports on stdout; on stdin how each record of a poll
is acknowledged, and "stop".
"""

from __future__ import annotations

import json
import sys
import threading
from queue import Empty, SimpleQueue
from typing import Any

from confluent_kafka import AcknowledgeType, KafkaException, ShareConsumer

STOP = "stop"

orders: SimpleQueue[str] = SimpleQueue()


def listen() -> None:
    for line in sys.stdin:
        orders.put(line.strip())
    orders.put(STOP)


def report(*values: object) -> None:
    print(json.dumps(values), flush=True)


def main(bootstrap: str, topic: str, group: str, name: str, mode: str, most: str) -> None:
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "client.id": name,
        "share.acknowledgement.mode": mode,
        "max.poll.records": int(most),
        "fetch.wait.max.ms": 100,
    }
    threading.Thread(target=listen, daemon=True).start()
    consumer = ShareConsumer(settings)
    consumer.subscribe([topic])
    while consume(consumer, topic, explicit=mode == "explicit"):
        pass
    consumer.close()
    report("Closed")


def consume(consumer: Any, topic: str, *, explicit: bool) -> bool:
    """Poll once, and acknowledge the records. Return False if it must stop."""
    got = [message for message in consumer.poll(timeout=0.1) if message.error() is None]
    if got:
        report("Got", [(item.partition(), item.offset(), item.delivery_count()) for item in got])
    left = len(got)
    while explicit and left:
        order = orders.get()
        if order == STOP:
            return False
        left -= acknowledge(consumer, topic, order)
    try:
        return orders.get_nowait() != STOP
    except Empty:
        return True


def acknowledge(consumer: Any, topic: str, order: str) -> int:
    """Acknowledge records, and return the number of completed ones."""
    acknowledged = [part.split(",") for part in order.split()]
    for partition, offset, how in acknowledged:
        consumer.acknowledge_offset(topic, int(partition), int(offset), AcknowledgeType[how.upper()])
    try:
        outcome = consumer.commit_sync(30.0)
        problem = next((str(error.args[0].name()) for error in outcome.values() if error is not None), "")
    except KafkaException as failed:
        problem = str(failed.args[0].name())
    report("Acknowledged", problem)
    return len(acknowledged)


if __name__ == "__main__":
    main(*sys.argv[1:])
