"""Consumer process: it joins on an order, processes and reports; it stalls or stops on an order.

Run as `python -m kohort.demo.workers.consuming PART`, where PART is a `Part` as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from importlib import import_module

from kohort.demo.reports import Closed, Consumed, Owns, Ready, Revoked, Working, Wrong, ranges_of
from kohort.demo.workers.consumer import Consumer, Fetched, Listener, Part
from kohort.demo.workers.pipes import Orders, Reporter

CONSUMERS = {
    "aiokafka": "using_aiokafka.AiokafkaConsumer",
    "kafka-python": "using_kafka_python.KafkaPythonConsumer",
    "confluent-kafka": "using_confluent_kafka.ConfluentKafkaConsumer",
}  # library: module and class; only the needed one is imported


def main() -> None:
    report, orders = Reporter(), Orders()
    part = Part(**json.loads(sys.argv[1]))
    listener = Listener(
        assigned=lambda partitions: report(Owns(time.monotonic(), partitions)),
        revoked=lambda partitions: report(Revoked(time.monotonic(), partitions)),
    )
    consumer = _make(part, listener)
    report(Ready())
    orders.wait_to_join()
    if not orders.stopping:
        consumer.join()
    while not orders.stopping:
        batch = consumer.poll()
        if batch:
            _process(consumer, batch, report, orders)
    consumer.close()
    report(Closed())


def _make(part: Part, listener: Listener) -> Consumer:
    module, kind = CONSUMERS[part.library].split(".")
    consumer: Consumer = getattr(import_module(f"kohort.demo.workers.{module}"), kind)(part, listener)
    return consumer


def _process(consumer: Consumer, batch: list[Fetched], report: Reporter, orders: Orders) -> None:
    generation, member_id = consumer.identity()
    stall_s = orders.take_stall()
    if stall_s:
        report(Working(time.monotonic(), stall_s))
        time.sleep(stall_s)  # like a consumer that calls a slow service for every record
    for record in batch:
        if record.value.split()[0] != b"%d:%d" % (record.partition, record.offset):
            report(Wrong(f"partition {record.partition} has {record.value[:20]!r} at offset {record.offset}"))
    # Reported before it may be committed: a commit without its report would hide a lost record.
    ranges = ranges_of([(record.partition, record.offset) for record in batch])
    report(Consumed(time.monotonic(), generation, member_id, ranges))
    consumer.processed()


if __name__ == "__main__":
    main()
