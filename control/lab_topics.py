"""Topics and records without a Kafka client, for the preparation of a test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from kohort.base.visible import visible
from kohort.broker.apis.delete_topics import delete_topic
from kohort.broker.scheduling.cooperative import finished
from kohort.control.control_errors import ControlError, NotFoundError
from kohort.control.suggesting import suggest_names
from kohort.protocol.batches import CONTROL, Record, build_batch, iterate_records, read_batch
from kohort.protocol.compression import CodecMissingError
from kohort.storage.refusal import Refusal
from kohort.storage.topic import Partition, Topic

if TYPE_CHECKING:
    from kohort.control.brokers import Brokers

Data = str | bytes | None
Headers = Mapping[str, Data] | Sequence[tuple[str, Data]]
MAX_SHOWN_TOPICS = 10  # maximum number of topics in a repr


@dataclass(frozen=True)
class StoredRecord:
    """A record as it is stored in the log of a partition."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int  # wall-clock time since 1970, in UTC
    key: bytes | None
    value: bytes | None  # None is a tombstone
    headers: tuple[tuple[str, bytes | None], ...]


# Within the class, `list` is its method.
Names = list[str]
Values = list[bytes | None]
Records = list[StoredRecord]


@suggest_names
class Topics:
    """The topics of the cluster. Invalid requests raise ControlError, which is a ValueError."""

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers

    def create(
        self,
        name: str,
        partitions: int = 1,
        configs: Mapping[str, str] | None = None,
        replicas: int | Sequence[Sequence[int]] | None = None,
    ) -> None:
        """Create a topic, with its leaders spread over the nodes.

        Args:
            replicas: The number of replicas of each partition, so that another node leads when a node stops; or, for
                each partition, the ids of the nodes, the preferred leader first. The default is the setting
                `default.replication.factor`.
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

    def list(self, internal: bool = False) -> Names:
        """Return the names of the topics in order of creation, with `internal` including internal topics."""
        return [topic.name for topic in self._brokers.cluster.topics if internal or not topic.internal]

    def __contains__(self, name: object) -> bool:
        return name in self._brokers.cluster.topics

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of `list`."""
        return iter(self.list())

    def __len__(self) -> int:
        return len(self.list())

    def delete(self, name: str) -> None:
        """Delete a topic with its records and the offsets that groups have committed for it."""
        topic, cluster = self.find(name), self._brokers.cluster
        if topic.internal:
            raise ControlError(f"{name} is an internal topic and cannot be deleted")

        def forget(now_ms: int) -> None:
            for _ in delete_topic(cluster, topic, now_ms):
                pass

        with self._stored(f"topic {name}"):
            self._brokers.act(forget)

    def create_partitions(self, name: str, partitions: int) -> None:
        """Add partitions to a topic until it has `partitions`."""
        with self._stored(f"topic {name}"):
            refusal = self._brokers.cluster.topics.grow(self.find(name), partitions)
        if refusal is not None:
            raise ControlError(f"topic {name} cannot have {partitions} partitions: {refusal.message}")

    def append(
        self,
        name: str,
        *values: Data,
        partition: int = 0,
        key: Data = None,
        headers: Headers | None = None,
        timestamp: int | datetime | None = None,
    ) -> int:
        """Append records as one batch, wake waiting fetches, and return the offset of the first record.

        `key`, `headers` and `timestamp` apply to all records. Text is encoded as UTF-8; a value of None is a tombstone.

        Args:
            headers: A mapping, or a list of pairs if a name occurs more than once.
            timestamp: Milliseconds since 1970 in UTC, or a datetime with a time zone; the cluster's time if None.
        """
        if not values:
            raise ControlError("nothing to append; pass at least one value")
        clock = self._brokers.cluster.clock
        wall_ms = clock.now_ms() + clock.epoch_ms if timestamp is None else _as_ms(timestamp)
        pairs = headers.items() if isinstance(headers, Mapping) else headers or ()
        common = tuple((item, _bytes(value, f"header {item}")) for item, value in pairs)
        batch = build_batch([Record(_bytes(key, "a key"), _bytes(item, "a value"), wall_ms, common) for item in values])
        return self.append_batch(name, batch, partition=partition)

    def append_batch(self, name: str, batch: bytes, partition: int = 0) -> int:
        """Append a record batch without any check, and return its offset."""
        topic_partition, offset = self._partition(name, partition), 0

        def write(now_ms: int) -> None:
            nonlocal offset
            offset = self._brokers.cluster.append(topic_partition, batch, now_ms)

        with self._stored(f"{name}-{partition}"):
            self._brokers.act(write)
        return offset

    def values(self, name: str, partition: int | None = None) -> Values:
        """Return the values of all stored records, partition by partition, or of one partition."""
        return [record.value for record in self.records(name, partition)]

    def records(
        self,
        name: str,
        partition: int | None = None,
        *,
        offset: int = 0,
        since: int | datetime | None = None,
        key: str | bytes | None = None,
    ) -> Records:
        """Return all stored records, partition by partition in the order of their offsets, or those of one partition.

        Includes records of aborted transactions, but no transaction markers.

        Args:
            offset: First offset in each partition.
            since: Begin at the first record of each partition at or after this time, as Kafka's ListOffsets does:
                milliseconds since 1970, or a datetime. Later records may have earlier timestamps.
            key: Only records with this key.
        """
        return list(self.iterate(name, partition, offset=offset, since=since, key=key))

    def iterate(
        self,
        name: str,
        partition: int | None = None,
        *,
        offset: int = 0,
        since: int | datetime | None = None,
        key: str | bytes | None = None,
    ) -> Iterator[StoredRecord]:
        """Return the records of `records` as an iterator that reads them on demand."""
        partitions = self.find(name).partitions if partition is None else [self._partition(name, partition)]
        since_ms, key_bytes = None if since is None else _as_ms(since), _bytes(key, "key")
        return (
            record
            for topic_partition in partitions
            for record in _records_of(name, topic_partition, max(offset, _offset_since(topic_partition, since_ms)))
            if key_bytes is None or record.key == key_bytes
        )

    def delete_records(self, name: str, before: int, partition: int = 0) -> int:
        """Delete the records before an offset, as Kafka's DeleteRecords does, and return the new start offset."""
        topic_partition = self._partition(name, partition)
        start, end = topic_partition.log.log_start_offset, topic_partition.log.high_watermark
        if isinstance(before, bool) or not isinstance(before, int) or not 0 <= before <= end:
            raise ControlError(
                f"{name}-{partition} has offsets {start} to {end}; cannot delete records before {before!r}"
            )
        if before > start:
            with self._stored(f"{name}-{partition}"):
                topic_partition.log.delete_before(before)
        return topic_partition.log.log_start_offset

    def start(self, name: str, partition: int = 0) -> int:
        """Return the log start offset: 0 until records are deleted or expire."""
        return self._partition(name, partition).log.log_start_offset

    def end(self, name: str, partition: int = 0) -> int:
        """Return the offset that the next record gets."""
        return self._partition(name, partition).log.log_end_offset

    def __repr__(self) -> str:
        topics = [topic for topic in self._brokers.cluster.topics if not topic.internal]
        names = ", ".join(f"{topic.name} ({len(topic.partitions)} partitions)" for topic in topics[:MAX_SHOWN_TOPICS])
        more = f" and {len(topics) - MAX_SHOWN_TOPICS} more" if len(topics) > MAX_SHOWN_TOPICS else ""
        return visible(f"<topics: {names or 'none'}{more}>")

    def find(self, name: str) -> Topic:
        topic = self._brokers.cluster.topics.by_name(name)
        if topic is None:
            raise NotFoundError(f"topic {name} does not exist; create it first")
        return topic

    @contextmanager
    def _stored(self, subject: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._brokers.cluster.storage_failed(subject, error)
            raise ControlError(f"cannot store {subject}: {error.strerror or error}") from error

    def _partition(self, name: str, index: int) -> Partition:
        topic = self.find(name)
        partition = topic.partition(index)
        if partition is None:
            raise NotFoundError(f"topic {name} has partitions 0 to {len(topic.partitions) - 1}, not {index}")
        return partition


def _offset_since(partition: Partition, since_ms: int | None) -> int:
    """Return the offset of the first record at or after a time, the end of the log without one, or 0 for None."""
    if since_ms is None:
        return 0
    record = finished(partition.log.offset_for_timestamp(since_ms))
    return partition.log.log_end_offset if record is None else record[1]


def _records_of(topic: str, partition: Partition, first_offset: int) -> Iterator[StoredRecord]:
    log = partition.log
    first_offset = max(first_offset, log.log_start_offset)
    try:
        for data in log.batches():
            batch = read_batch(data)
            if batch.attributes & CONTROL or batch.last_offset < first_offset:
                continue
            for record in iterate_records(data, batch):
                if record.offset >= first_offset:
                    yield StoredRecord(
                        topic,
                        partition.index,
                        record.offset,
                        record.timestamp_ms,
                        record.key,
                        record.value,
                        record.headers,
                    )
    except CodecMissingError:
        raise ControlError(
            f"records of {topic}-{partition.index} use snappy, lz4 or zstd; run pip install 'kohort[codecs]'"
        ) from None


def _as_ms(timestamp: object) -> int:
    if isinstance(timestamp, datetime):
        if timestamp.tzinfo is None:
            raise ControlError(f"timestamp must have a time zone, as in datetime.now(UTC); got {timestamp!r}")
        return round(timestamp.timestamp() * 1_000)
    if isinstance(timestamp, bool) or not isinstance(timestamp, int) or timestamp < 0:
        raise ControlError(f"timestamp must be milliseconds since 1970, or a datetime; got {timestamp!r}")
    return timestamp


def _bytes(data: object, subject: str) -> bytes | None:
    if data is None or isinstance(data, bytes):
        return data
    if isinstance(data, str):
        return data.encode()
    advice = "; pass values one by one or as *values" if isinstance(data, list | tuple) else ""
    raise ControlError(f"{subject} must be text, bytes or None, got {data!r:.100}{advice}")
