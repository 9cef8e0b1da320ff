"""Consumers that a thread of their own polls, as in an application."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

from confluent_kafka import Consumer


@contextmanager
def polled(consumer: Any, wait: float) -> Iterator[None]:
    """Poll a consumer while the context is open, with `wait` in the consumer's own unit; then close it."""
    over = Event()

    def poll() -> None:
        while not over.is_set():
            consumer.poll(wait)
        consumer.close()

    # A daemon: a consumer that hangs while it is closed fails its own test, and the run of all tests can still end.
    thread = Thread(target=poll, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def polling(bootstrap: str, group: str, client_id: str, topic: str = "orders") -> Iterator[None]:
    """Start a consumer of librdkafka that only polls. It joins in a thread, and revokes partitions when it polls."""
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "client.id": client_id,
        "heartbeat.interval.ms": 100,
        "auto.offset.reset": "earliest",
    }
    consumer = Consumer(settings)
    consumer.subscribe([topic])
    with polled(consumer, 0.05):
        yield
