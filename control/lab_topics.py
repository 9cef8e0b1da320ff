"""Topics and records without a client, for what a test needs before its subject starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kohort.broker.apis.delete_topics import delete_topic
from kohort.control.control_errors import ControlError, NotFoundError
from kohort.protocol.batches import CONTROL, Record, build_batch, iterate_records, read_batch
from kohort.protocol.compression import CodecMissingError
from kohort.protocol.visible import visible
from kohort.storage.refusal import Refusal
from kohort.storage.topic import Partition, Topic

if TYPE_CHECKING:
    from kohort.control.brokers import Brokers

Data = str | bytes | None
SHOWN = 10
"""As many topics are named where a person looks."""


@dataclass(frozen=True)
class StoredRecord:
    """A record as it stands in a partition's log."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    """Wall clock: since 1970, in UTC."""
    key: bytes | None
    value: bytes | None
    """None: a tombstone."""
    headers: tuple[tuple[str, bytes | None], ...]


class Topics:
    """The cluster's topics. What cannot be done is a ControlError, which is a ValueError, that says why."""

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers

    def create(
        self,
        name: str,
        partitions: int = 1,
        configs: Mapping[str, str] | None = None,
        replicas: int | Sequence[Sequence[int]] | None = None,
    ) -> None:
        """Creates a topic, its leaders spread over the nodes.

        `replicas`: how many nodes have a copy of each partition, so that another one leads when a node stops; or, by
        partition, which nodes, the preferred leader first. Without it the setting `default.replication.factor` counts.
        """
        by_hand = None
        if replicas is not None and not isinstance(replicas, int):
            by_hand = [(number, tuple(nodes)) for number, nodes in enumerate(replicas)]
        with self._stored(f"topic {name}"):
            created = self._brokers.cluster.topics.create(
                name,
                -1 if by_hand else partitions,
                replicas if isinstance(replicas, int) else -1,
                configs,
                assignments=by_hand,
            )
        if isinstance(created, Refusal):
            raise ControlError(f"topic {name} cannot be created: {created.message}")

    def delete(self, name: str) -> None:
        """Deletes a topic with its records; groups forget what they have committed for it."""
        topic, cluster = self.find(name), self._brokers.cluster
        if topic.internal:
            raise ControlError(f"{name} is the brokers' own; it stays")

        def forget(now_ms: int) -> None:
            for _ in delete_topic(cluster, topic, now_ms):
                pass

        with self._stored(f"topic {name}"):
            self._brokers.act(forget)

    def create_partitions(self, name: str, partitions: int) -> None:
        """Gives a topic more partitions, so that there are so many."""
        with self._stored(f"topic {name}"):
            refusal = self._brokers.cluster.topics.grow(self.find(name), partitions)
        if refusal is not None:
            raise ControlError(f"topic {name} cannot be given {partitions} partitions: {refusal.message}")

    def append(
        self, name: str, *values: Data, partition: int = 0, key: Data = None, headers: Mapping[str, Data] | None = None
    ) -> int:
        """Writes records as one batch, and wakes whoever waits for them. Returns the offset of the first.

        `key` and `headers` are those of all of them. Text is written as UTF-8; a value of None is a tombstone.
        """
        if not values:
            raise ControlError("there is nothing to append; give at least one value")
        clock = self._brokers.cluster.clock
        wall_ms = clock.now_ms() + clock.epoch_ms
        common = tuple((each, _bytes(value, f"header {each}")) for each, value in (headers or {}).items())
        batch = build_batch([Record(_bytes(key, "a key"), _bytes(each, "a value"), wall_ms, common) for each in values])
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

    def values(self, name: str, partition: int | None = None) -> list[bytes | None]:
        """The values of all records that are there, partition by partition, or those of one partition."""
        return [record.value for record in self.records(name, partition)]

    def records(self, name: str, partition: int | None = None) -> list[StoredRecord]:
        """All records that are there, partition by partition in the order of their offsets, or those of one partition.

        Records of transactions that were aborted are among them, markers of transactions are not.
        """
        return list(self.iterate(name, partition))

    def iterate(self, name: str, partition: int | None = None) -> Iterator[StoredRecord]:
        """The records that `records` lists, one by one: they are read as they are asked for."""
        partitions = self.find(name).partitions if partition is None else [self._partition(name, partition)]
        return (record for each in partitions for record in _records_of(name, each))

    def delete_records(self, name: str, before: int, partition: int = 0) -> int:
        """Deletes the records before an offset (Kafka: DeleteRecords). Returns the first offset that is left."""
        found = self._partition(name, partition)
        start, end = found.log.log_start_offset, found.log.high_watermark
        if isinstance(before, bool) or not isinstance(before, int) or not 0 <= before <= end:
            raise ControlError(f"{name}-{partition} has offsets {start} to {end}; it cannot be trimmed to {before!r}")
        if before > start:
            with self._stored(f"{name}-{partition}"):
                found.log.delete_before(before)
        return found.log.log_start_offset

    def start(self, name: str, partition: int = 0) -> int:
        """The first offset that is there: 0 until records are trimmed or expire."""
        return self._partition(name, partition).log.log_start_offset

    def end(self, name: str, partition: int = 0) -> int:
        """The offset that the next record gets."""
        return self._partition(name, partition).log.log_end_offset

    def __repr__(self) -> str:
        topics = [each for each in self._brokers.cluster.topics if not each.internal]
        shown = ", ".join(f"{each.name} ({len(each.partitions)} partitions)" for each in topics[:SHOWN])
        more = f" and {len(topics) - SHOWN} more" if len(topics) > SHOWN else ""
        return visible(f"<topics: {shown or 'none'}{more}>")

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


def _records_of(topic: str, partition: Partition) -> Iterator[StoredRecord]:
    log = partition.log
    try:
        for data in log.batches():
            batch = read_batch(data)
            if batch.attributes & CONTROL or batch.last_offset < log.log_start_offset:
                continue
            for each in iterate_records(data, batch):
                if each.offset >= log.log_start_offset:
                    yield StoredRecord(
                        topic, partition.index, each.offset, each.timestamp_ms, each.key, each.value, each.headers
                    )
    except CodecMissingError:
        raise ControlError(
            f"records of {topic}-{partition.index} are compressed by snappy, lz4 or zstd: pip install 'kohort[codecs]'"
        ) from None


def _bytes(data: object, what: str) -> bytes | None:
    if data is None or isinstance(data, bytes):
        return data
    if isinstance(data, str):
        return data.encode()
    advice = "; give values one by one, or with a star: *values" if isinstance(data, list | tuple) else ""
    raise ControlError(f"{what} is text, bytes or None, not {data!r:.100}{advice}")
