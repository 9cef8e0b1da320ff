"""A consumer of librdkafka's that does nothing but poll."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from confluent_kafka import Consumer


@contextmanager
def polling(bootstrap: str, group: str, client_id: str, topic: str = "orders") -> Iterator[None]:
    """A member of a group while it is entered. It joins in a thread of librdkafka's, and lets go when it is polled."""
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "client.id": client_id,
        "heartbeat.interval.ms": 100,
        "auto.offset.reset": "earliest",
    }
    consumer = Consumer(settings)
    consumer.subscribe([topic])
    over = Event()

    def poll() -> None:
        while not over.is_set():
            consumer.poll(0.05)
        consumer.close()

    thread = Thread(target=poll)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
