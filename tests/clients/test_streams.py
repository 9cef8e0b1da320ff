"""Kafka Streams on the classic protocol: instances come, crash and come back, and nothing is lost."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.clients.company import PATIENCE_S
from tests.clients.kafkas_own import class_path, command
from tests.clients.libraries import Missing
from tests.clients.processes import Process

pytestmark = [pytest.mark.libraries, pytest.mark.timeout(300)]

PARTITIONS = 4
KEYS = [f"key-{number}" for number in range(20)]


class Application:
    """A stream, its topics, and its instances."""

    def __init__(self, bootstrap: str, guarantee: str, folder: Path) -> None:
        name = uuid4().hex[:8]
        self.bootstrap = bootstrap
        self.source, self.sink, self.counts = f"source-{name}", f"sink-{name}", f"counts-{name}"
        self._arguments = [bootstrap, f"app-{name}", self.source, self.sink, self.counts, guarantee]
        self._folder = folder
        self.instances: list[Process] = []
        self._producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
        admin = AdminClient({"bootstrap.servers": bootstrap})
        topics = [NewTopic(each, PARTITIONS, 1) for each in (self.source, self.sink, self.counts)]
        for created in admin.create_topics(topics).values():
            created.result(PATIENCE_S)

    def start(self) -> Process:
        """One more instance; returns when it runs."""
        folder = self._folder / f"instance-{len(self.instances)}"
        instance = Process(command("CopyingStream", *self._arguments, str(folder)))
        self.instances.append(instance)
        instance.until(lambda lines: "RUNNING" in lines, "an instance runs", 90)
        return instance

    def produce(self, first: int, count: int) -> Counter[str]:
        """Sends numbered records; returns their values."""
        values = [f"{number}" for number in range(first, first + count)]
        for number, value in enumerate(values):
            self._producer.produce(self.source, value, key=KEYS[number % len(KEYS)])
        assert self._producer.flush(PATIENCE_S) == 0
        return Counter(values)

    def copied(self, expected: Counter[str]) -> Counter[str]:
        """What is in the sink, once everything expected is there."""
        return self._read(self.sink, lambda heard: set(expected) <= set(heard))[0]

    def counted(self, total: int) -> dict[str, int]:
        """The last count of each key, once they add up."""

        def last(rows: list[tuple[str, str]]) -> dict[str, int]:
            return {key: int(value) for key, value in rows}

        _, rows = self._read(self.counts, lambda _: False, lambda rows: sum(last(rows).values()) >= total)
        return last(rows)

    def _read(self, topic, enough, enough_rows=lambda rows: False):  # type: ignore[no-untyped-def]
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": f"reader-{uuid4().hex[:8]}",
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
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
                heard[message.value().decode()] += 1
                rows.append((message.key().decode(), message.value().decode()))
            elif calm_until is None and (enough(heard) or enough_rows(rows)):
                calm_until = time.monotonic() + 1  # whatever comes twice comes now
            assert time.monotonic() < deadline, f"{topic} has {len(rows)} records"
        consumer.close()
        return heard, rows


@pytest.fixture
def application(request: pytest.FixtureRequest, bootstrap: str, tmp_path: Path) -> Iterator[Application]:
    """Of the processing guarantee that the test asks for."""
    try:
        class_path()
    except Missing as reason:
        pytest.skip(f"Kafka Streams: {reason}")
    made = Application(bootstrap, request.param, tmp_path)
    yield made
    for instance in made.instances:
        instance.crash()


@pytest.mark.parametrize("application", ["at_least_once"], indirect=True)
def test_instances_share_the_work_and_one_that_crashes_is_replaced(application: Application) -> None:
    first, second = application.start(), application.start()
    expected = application.produce(0, 400)
    assert set(application.copied(expected)) == set(expected)
    third = application.start()
    second.crash()
    expected |= application.produce(400, 400)
    assert set(application.copied(expected)) == set(expected)
    first.stop()
    third.stop()
    application.start()
    expected |= application.produce(800, 400)
    assert set(application.copied(expected)) == set(expected)
    counts = application.counted(1_200)
    assert set(counts) == set(KEYS)
    assert all(count >= 60 for count in counts.values())
