"""Topics and records without a client, for what a test needs before its subject starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kohort.broker.effects import perform
from kohort.protocol.batches import Record, build_batch, iterate_records, read_batch
from kohort.storage.refusal import Refusal
from kohort.storage.segment import batches_of
from kohort.storage.topics import Partition

if TYPE_CHECKING:
    from kohort.control.laboratory import Laboratory

Data = str | bytes | None


class Topics:
    """The cluster's topics. What cannot be done is a ValueError that says why."""

    def __init__(self, laboratory: Laboratory) -> None:
        self._laboratory = laboratory

    def create(self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        """Creates a topic, its leaders spread over the nodes."""
        created = self._laboratory.cluster.topics.create(name, partitions, configs=configs)
        if isinstance(created, Refusal):
            raise ValueError(f"topic {name} cannot be created: {created.message}")

    def grow(self, name: str, partitions: int) -> None:
        """Gives a topic more partitions, so that there are so many."""
        topics = self._laboratory.cluster.topics
        topic = topics.by_name(name)
        if topic is None:
            raise ValueError(f"there is no topic {name}")
        refusal = topics.grow(topic, partitions)
        if isinstance(refusal, Refusal):
            raise ValueError(f"topic {name} cannot be given {partitions} partitions: {refusal.message}")

    def append(self, name: str, *values: Data, partition: int = 0, key: Data = None) -> int:
        """Writes records as one batch, and wakes whoever waits for them. Returns the offset of the first."""
        if not values:
            raise ValueError("there is nothing to append; give at least one value")
        clock = self._laboratory.cluster.clock
        wall_ms = clock.now_ms() + clock.epoch_ms
        batch = build_batch([Record(_bytes(key), _bytes(value), wall_ms) for value in values])
        return self.append_batch(name, batch, partition=partition)

    def append_batch(self, name: str, batch: bytes, partition: int = 0) -> int:
        """The same for a record batch that somebody has made already, whatever it says; nothing in it is checked."""
        cluster, server = self._laboratory.cluster, self._laboratory.server
        now_ms = cluster.clock.now_ms()
        offset = cluster.append(self._partition(name, partition), batch, now_ms)
        perform(cluster, now_ms)
        server.end_turn(now_ms)
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

    def _partition(self, name: str, index: int) -> Partition:
        topic = self._laboratory.cluster.topics.by_name(name)
        if topic is None:
            raise ValueError(f"there is no topic {name}; create it first")
        partition = topic.partition(index)
        if partition is None:
            raise ValueError(f"topic {name} has partitions 0 to {len(topic.partitions) - 1}, not {index}")
        return partition


def _bytes(data: Data) -> bytes | None:
    return data.encode() if isinstance(data, str) else data
