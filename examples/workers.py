"""Workers of a share group: each takes records, and says what has become of them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from confluent_kafka import AcknowledgeType, KafkaException, Message, ShareConsumer

PATIENCE_S = 60.0


@contextmanager
def workers(kafka: Any, group: str, *names: str) -> Iterator[list[ShareConsumer]]:
    """Workers with these client ids, which take one record at a time of the topic `orders`."""
    with ExitStack() as stack:
        made = [_worker(kafka.bootstrap, group, name) for name in names]
        for each in made:
            stack.callback(each.close)
        yield made


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
    """The next record that it is given."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        for record in worker.poll(timeout=0.1):
            return record
    raise AssertionError(f"no record within {PATIENCE_S:g} s")


def say(worker: ShareConsumer, record: Message, how: AcknowledgeType) -> str:
    """Says what has become of a record; returns the error that is answered, or nothing."""
    worker.acknowledge(record, how)
    try:
        problems = [each for each in worker.commit_sync(PATIENCE_S).values() if each is not None]
    except KafkaException as failed:
        problems = [failed]
    return str(problems[0].args[0].name()) if problems else ""
