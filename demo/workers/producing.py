"""Producer process: a steady stream of numbered records to every partition, idempotent.

Run as `python -m kohort.demo.workers.producing BOOTSTRAP TOPIC SEED OFFSET...`, with the next offset of each partition.
A record's value starts with its partition and offset, so that a consumer can check whether it is the right one.
"""

from __future__ import annotations

import random
import sys
import time
from typing import Any

from confluent_kafka import Producer

from kohort.demo.reports import Closed, Produced, Ready, Wrong, ranges_of
from kohort.demo.workers.pipes import Orders, Reporter

PERIOD_S = 0.1
RECORDS_PER_PERIOD = 8  # for each partition
PADDING_BYTES = (20, 200)


def main() -> None:
    reporter, orders = Reporter(), Orders()
    bootstrap, topic, seed, *offsets = sys.argv[1:]
    producer = Producer({"bootstrap.servers": bootstrap, "client.id": "producer", "enable.idempotence": True})
    stream = _Stream(producer, topic, random.Random(int(seed)), [int(offset) for offset in offsets])
    reporter(Ready())
    orders.wait_to_join()
    due = time.monotonic()
    while not orders.stopping:
        stream.send()
        due += PERIOD_S
        while (left_s := due - time.monotonic()) > 0:
            producer.poll(left_s)  # returns early when acknowledgements come
        stream.report(reporter)
    producer.flush()
    stream.report(reporter)
    reporter(Closed())


class _Stream:
    def __init__(self, producer: Producer, topic: str, chance: random.Random, offsets: list[int]) -> None:
        self._producer = producer
        self._topic = topic
        self._chance = chance
        self._next = offsets
        self._acknowledged: list[tuple[int, int]] = []
        self._refused: list[str] = []

    def send(self) -> None:
        for partition, offset in enumerate(self._next):
            for number in range(offset, offset + RECORDS_PER_PERIOD):
                padding = b"." * self._chance.randint(*PADDING_BYTES)
                value = b"%d:%d %b" % (partition, number, padding)
                self._producer.produce(self._topic, value, partition=partition, on_delivery=self._delivered)
            self._next[partition] += RECORDS_PER_PERIOD

    def report(self, reporter: Reporter) -> None:
        if self._acknowledged:
            reporter(Produced(time.monotonic(), ranges_of(self._acknowledged)))
            self._acknowledged = []
        while self._refused:
            reporter(Wrong(self._refused.pop()))

    def _delivered(self, error: Any, message: Any) -> None:
        if error is not None:
            self._refused.append(f"a record for partition {message.partition()} was refused: {error}")
        else:
            self._acknowledged.append((message.partition(), message.offset()))


if __name__ == "__main__":
    main()
