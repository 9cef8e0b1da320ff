"""Topics and records without a client, for what a test needs before its subject starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kohort.control.control_errors import ControlError, NotFoundError
from kohort.protocol.batches import Record, build_batch, iterate_records, read_batch
from kohort.storage.refusal import Refusal
from kohort.storage.segment import batches_of
from kohort.storage.topics import Partition, Topic

if TYPE_CHECKING:
    from kohort.control.brokers import Brokers

Data = str | bytes | None


class Topics:
    """The cluster's topics. What cannot be done is a ControlError, which is a ValueError, that says why."""

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers

    def create(self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        """Creates a topic, its leaders spread over the nodes."""
        with self._stored(f"topic {name}"):
            created = self._brokers.cluster.topics.create(name, partitions, configs=configs)
        if isinstance(created, Refusal):
            raise ControlError(f"topic {name} cannot be created: {created.message}")

    def grow(self, name: str, partitions: int) -> None:
        """Gives a topic more partitions, so that there are so many."""
        with self._stored(f"topic {name}"):
            refusal = self._brokers.cluster.topics.grow(self.find(name), partitions)
        if refusal is not None:
            raise ControlError(f"topic {name} cannot be given {partitions} partitions: {refusal.message}")

    def append(self, name: str, *values: Data, partition: int = 0, key: Data = None) -> int:
        """Writes records as one batch, and wakes whoever waits for them. Returns the offset of the first."""
        if not values:
            raise ControlError("there is nothing to append; give at least one value")
        clock = self._brokers.cluster.clock
        wall_ms = clock.now_ms() + clock.epoch_ms
        batch = build_batch([Record(_bytes(key), _bytes(value), wall_ms) for value in values])
        return self.append_batch(name, batch, partition=partition)

    def append_batch(self, name: str, batch: bytes, partition: int = 0) -> int:
        """Appends a record batch as it is, and returns its offset. Nothing in it is checked."""
        found, offset = self._partition(name, partition), 0

        def write(now_ms: int) -> None:
            nonlocal offset
            offset = self._brokers.cluster.append(found, batch, now_ms)

        with self._stored(f"{name}-{partition}"):
            self._brokers.act(write)
        return offset

    def values(self, name: str, partition: int = 0) -> list[bytes | None]:
        """The values of all records that are there."""
        log = self._partition(name, partition).log
        return [
            record.value
            for chunk in log.read(log.log_start_offset, log.size_bytes)
            for batch in batches_of(chunk)
            for record in iterate_records(batch, read_batch(batch))
        ]

    def end(self, name: str, partition: int = 0) -> int:
        """The offset that the next record gets."""
        return self._partition(name, partition).log.log_end_offset

    def find(self, name: str) -> Topic:
        """As the broker holds it."""
        topic = self._brokers.cluster.topics.by_name(name)
        if topic is None:
            raise NotFoundError(f"there is no topic {name}; create it first")
        return topic

    @contextmanager
    def _stored(self, what: str) -> Iterator[None]:
        """Says of a disk that fails what clients' requests have said in the log."""
        try:
            yield
        except OSError as problem:
            self._brokers.cluster.storage_failed(what, problem)
            raise ControlError(f"{what} cannot be stored: {problem.strerror or problem}") from problem

    def _partition(self, name: str, index: int) -> Partition:
        topic = self.find(name)
        partition = topic.partition(index)
        if partition is None:
            raise NotFoundError(f"topic {name} has partitions 0 to {len(topic.partitions) - 1}, not {index}")
        return partition


def _bytes(data: Data) -> bytes | None:
    return data.encode() if isinstance(data, str) else data
