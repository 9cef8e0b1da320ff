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
    records = Records(consumer, topic, explicit=mode == "explicit")
    while records.consume():
        pass
    consumer.close()
    report("Closed")


class Records:
    """Records of a topic that a consumer polls and acknowledges."""

    def __init__(self, consumer: Any, topic: str, *, explicit: bool) -> None:
        self._consumer, self._topic, self._explicit = consumer, topic, explicit
        self._idle = True

    def consume(self) -> bool:
        """Poll once, and acknowledge the records. Return False if it must stop."""
        received = [message for message in self._consumer.poll(timeout=0.1) if message.error() is None]
        if received:
            report("Got", [(item.partition(), item.offset(), item.delivery_count()) for item in received])
        elif not self._idle:
            report("Idle")
        self._idle = not received
        remaining = len(received)
        while self._explicit and remaining:
            order = orders.get()
            if order == STOP:
                return False
            remaining -= self._acknowledge(order)
        try:
            return orders.get_nowait() != STOP
        except Empty:
            return True

    def _acknowledge(self, order: str) -> int:
        """Acknowledge records, and return the number of completed ones."""
        acknowledged = [part.split(",") for part in order.split()]
        for partition, offset, how in acknowledged:
            self._consumer.acknowledge_offset(self._topic, int(partition), int(offset), AcknowledgeType[how.upper()])
        try:
            outcome = self._consumer.commit_sync(30.0)
            problem = next((str(error.args[0].name()) for error in outcome.values() if error is not None), "")
        except KafkaException as error:
            problem = str(error.args[0].name())
        report("Acknowledged", problem)
        return len(acknowledged)


if __name__ == "__main__":
    main(*sys.argv[1:])
