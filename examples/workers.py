"""Workers of a share group: each acquires records and acknowledges them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from confluent_kafka import AcknowledgeType, KafkaException, Message, ShareConsumer

PATIENCE_S = 60.0


@contextmanager
def workers(kafka: Any, group: str, *names: str) -> Iterator[list[ShareConsumer]]:
    """Yield workers with these client ids, which acquire one record of the topic `orders` at a time."""
    with ExitStack() as stack:
        consumers = [_worker(kafka.bootstrap, group, name) for name in names]
        for worker in consumers:
            stack.callback(worker.close)
        yield consumers


def _worker(bootstrap: str, group: str, name: str) -> ShareConsumer:
    worker = ShareConsumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "client.id": name,
            "share.acknowledgement.mode": "explicit",
            "max.poll.records": 1,
        }
    )
    worker.subscribe(["orders"])
    return worker


def take(worker: ShareConsumer) -> Message:
    """Return the next record that the worker acquires."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        for record in worker.poll(timeout=0.1):
            return record
    raise AssertionError(f"no record within {PATIENCE_S:g} s")


def say(worker: ShareConsumer, record: Message, how: AcknowledgeType) -> str:
    """Acknowledge a record and return the name of the error in the response, or an empty string."""
    worker.acknowledge(record, how)
    try:
        errors = [error for error in worker.commit_sync(PATIENCE_S).values() if error is not None]
    except KafkaException as failed:
        errors = [failed]
    return str(errors[0].args[0].name()) if errors else ""
