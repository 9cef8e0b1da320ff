"""Applications of Kafka Streams: a stream, its topics, its instances, and records that come all the time."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.clients.kafkas_own import command
from tests.clients.ordered_process import PATIENCE_S
from tests.clients.processes import Process, eventually

PARTITIONS = 4
KEYS = [f"key-{number}" for number in range(20)]
# long transactions, so that a killed instance leaves an open one with records
COMMIT_INTERVAL_MS = {"at_least_once": 100, "exactly_once_v2": 2_000}


class Traffic:
    """Records that are written continuously, until `stop` returns them."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._sent: Counter[str] = Counter()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._over.wait(0.05):
            self._sent |= self._application.produce(len(self._sent), len(KEYS))

    def stop(self) -> Counter[str]:
        self._over.set()
        self._thread.join(PATIENCE_S)
        return self._sent


class Application:
    """A stream, its topics, and its instances."""

    def __init__(self, bootstrap: str, guarantee: str, folder: Path, *, copies: int = 1) -> None:
        name = uuid4().hex[:8]
        self.bootstrap = bootstrap
        self.group_id = f"app-{name}"
        self.source, self.sink, self.counts = f"source-{name}", f"sink-{name}", f"counts-{name}"
        self._topics = [self.source, self.sink, self.counts]
        interval_ms = str(COMMIT_INTERVAL_MS[guarantee])
        self._arguments = [bootstrap, self.group_id, *self._topics, guarantee, interval_ms]
        self._folder = folder
        self._in_a_streams_group: list[str] = []
        self.instances: list[Process] = []
        self._producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
        self._copies = copies
        self._create(*self._topics)

    def count_last_digits(self) -> str:
        """Make instances members of a streams group, with a second count by the last digit of the value.

        That needs an internal topic between two parts of the topology. Returns the topic of these counts.
        """
        topic = f"digits-{self.group_id}"
        self._create(topic)
        self._in_a_streams_group = [topic]
        return topic

    def change_topology(self) -> None:
        """Make further instances count a third time, by the first digit."""
        self._in_a_streams_group.append(f"first-digits-{self.group_id}")
        self._create(self._in_a_streams_group[-1])

    def _create(self, *names: str) -> None:
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        topics = [NewTopic(name, PARTITIONS, self._copies) for name in names]
        for created in admin.create_topics(topics).values():
            created.result(PATIENCE_S)

    def start(self, home: str = "", instance_id: str = "") -> Process:
        """Start an instance, and wait until it runs. Instances with the same `home` share their state."""
        instance = self.launch(home, instance_id)
        instance.until(lambda lines: "RUNNING" in lines, "an instance runs", 90)
        return instance

    def launch(self, home: str = "", instance_id: str = "") -> Process:
        """Start an instance, which may fail."""
        folder = self._folder / (home or f"instance-{len(self.instances)}")
        environment = ["env", f"GROUP_INSTANCE_ID={instance_id}"] if instance_id else []
        program = command("CopyingStream", *self._arguments, str(folder), *self._in_a_streams_group)
        instance = Process([*environment, *program])
        self.instances.append(instance)
        return instance

    def produce(self, first: int, count: int) -> Counter[str]:
        """Send numbered records; return their values."""
        values = [f"{number}" for number in range(first, first + count)]
        for number, value in enumerate(values):
            self._producer.produce(self.source, value, key=KEYS[number % len(KEYS)])
        assert self._producer.flush(PATIENCE_S) == 0
        return Counter(values)

    def copied(self, expected: Counter[str]) -> Counter[str]:
        """Return the contents of the sink, once all expected records are in it."""
        return self._read(self.sink, lambda heard: set(expected) <= set(heard))[0]

    def counted(self, total: int, topic: str = "") -> dict[str, int]:
        """Return the last count of each key, once the sum is reached."""

        def last(rows: list[tuple[str, str]]) -> dict[str, int]:
            return {key: int(value) for key, value in rows}

        _, rows = self._read(topic or self.counts, lambda _: False, lambda rows: sum(last(rows).values()) >= total)
        return last(rows)

    def all_copied(self, expected: Counter[str]) -> tuple[Counter[str], list[tuple[str, str]]]:
        """Return keys and values of the sink in the order of each partition, once all expected records are in it."""
        heard, rows = self._read(self.sink, lambda heard: set(expected) <= set(heard))
        return heard, rows

    def everything_copied(self) -> Counter[str]:
        """Return the contents of the sink, including uncommitted records."""
        heard, _ = self._read(self.sink, lambda _: True, isolation="read_uncommitted")
        return heard

    def end(self, isolation: str = "read_committed") -> int:
        """Return the sum of the sink's end offsets for an isolation level."""
        settings = {"bootstrap.servers": self.bootstrap, "group.id": "unused", "isolation.level": isolation}
        with closing(Consumer(settings)) as consumer:
            parts = [TopicPartition(self.sink, number) for number in range(PARTITIONS)]
            return sum(consumer.get_watermark_offsets(part, PATIENCE_S)[1] for part in parts)

    def is_in_a_transaction(self) -> bool:
        """Return whether the sink has undecided records."""
        committed = self.end()
        return self.end("read_uncommitted") > committed

    def crashes_in_a_transaction(self, home: str) -> None:
        """Start the only instance, and kill it while its records are undecided."""
        for _ in range(5):
            instance = self.start(home)
            eventually(self.is_in_a_transaction, "something is written")
            instance.crash()
            if self.is_in_a_transaction():
                return
        pytest.fail("it always committed in the last moment")

    def goes_on(self) -> None:
        """Wait until more records have been committed than now."""
        before = self.end()
        eventually(lambda: self.end() > before, "the stream continues", 60)

    def _read(
        self,
        topic: str,
        enough: Callable[[Counter[str]], bool],
        enough_rows: Callable[[list[tuple[str, str]]], bool] = lambda rows: False,
        isolation: str = "read_committed",
    ) -> tuple[Counter[str], list[tuple[str, str]]]:
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": f"reader-{uuid4().hex[:8]}",
                "auto.offset.reset": "earliest",
                "isolation.level": isolation,
                "enable.auto.commit": False,
            }
        )
        consumer.subscribe([topic])
        heard: Counter[str] = Counter()
        rows: list[tuple[str, str]] = []
        deadline = time.monotonic() + 90
        calm_until = None
        while calm_until is None or time.monotonic() < calm_until:
            message = consumer.poll(0.2)
            if message is not None and message.error() is None:
                key, value = message.key(), message.value()
                assert isinstance(key, bytes)
                assert isinstance(value, bytes)
                heard[value.decode()] += 1
                rows.append((key.decode(), value.decode()))
            elif calm_until is None and (enough(heard) or enough_rows(rows)):
                calm_until = time.monotonic() + 1  # whatever comes twice comes now
            assert time.monotonic() < deadline, f"{topic} has {len(rows)} records"
        consumer.close()
        return heard, rows
