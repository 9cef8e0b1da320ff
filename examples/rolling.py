"""Consumers in threads that are restarted one by one, while a producer keeps writing records."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

PATIENCE_S = 60.0

# callback for revoked partitions; the consumer owns them until it returns
Revoke = Callable[[Consumer, list[TopicPartition]], object]


class Fleet:
    """The consumers of a group by client id, and a producer that writes all the time. Use it as a context manager."""

    def __init__(self, bootstrap: str, group: str, topic: str) -> None:
        self._bootstrap, self._group, self._topic = bootstrap, group, topic
        self._running: dict[str, Worker] = {}
        self.read: set[bytes] = set()
        """Values of all records that the consumers have read."""
        self._producer = threading.Thread(target=self._write, daemon=True)
        self._enough = threading.Event()
        self._written = 0

    def start(self, name: str, protocol: str, on_revoke: Revoke = lambda *_: None) -> None:
        """Start a consumer with this client id and `group.protocol`."""
        settings: dict[str, str | int] = {
            "bootstrap.servers": self._bootstrap,
            "group.id": self._group,
            "client.id": name,
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
        }
        if protocol == "classic":  # with the new protocol the coordinator decides these
            settings |= {"partition.assignment.strategy": "range", "heartbeat.interval.ms": 100}
        self._running[name] = Worker(settings, self._topic, self.read, on_revoke)

    def restart(self, name: str, protocol: str) -> None:
        """Stop a consumer properly, and start it again with another protocol."""
        self._running.pop(name).stop()
        self.start(name, protocol)

    def stop_writing(self) -> int:
        """Stop the producer and return the number of records that it has written."""
        self._enough.set()
        self._producer.join()
        return self._written

    def until_read(self, count: int) -> None:
        """Wait until this many different records have been read."""
        end = time.monotonic() + PATIENCE_S
        while len(self.read) < count:
            assert time.monotonic() < end, f"{len(self.read)} of {count} records were read"
            time.sleep(0.02)

    def _write(self) -> None:
        producer = Producer({"bootstrap.servers": self._bootstrap})
        while not self._enough.wait(0.005):
            producer.produce(self._topic, b"%d" % self._written)
            producer.poll(0)
            self._written += 1
        assert producer.flush(PATIENCE_S) == 0, "not everything was written"

    def __enter__(self) -> Fleet:
        self._producer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop_writing()
        for worker in self._running.values():
            worker.stop()


class Worker:
    """Consumer in a thread."""

    def __init__(self, settings: dict[str, str | int], topic: str, read: set[bytes], on_revoke: Revoke) -> None:
        self._consumer = Consumer(settings)
        self._consumer.subscribe([topic], on_revoke=on_revoke)
        self._read = read
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._enough.is_set():
            message = self._consumer.poll(0.05)
            if message is None:
                continue
            error = message.error()
            if error is None:
                self._read.add(message.value() or b"")
            else:
                assert error.retriable() or error.code() == KafkaError._ALL_BROKERS_DOWN, str(error)
        self._consumer.close()

    def stop(self) -> None:
        """Leave the group, and commit the read records."""
        self._enough.set()
        self._thread.join()
