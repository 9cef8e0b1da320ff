"""Writing of dead letters of share groups (KIP-1191)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from kohort.coordinator.pace import Pace
from kohort.coordinator.share_partitions.archiving import archive
from kohort.protocol.batches import Record, build_batch, iterate_records, read_batches
from kohort.protocol.errors import DecodeError
from kohort.purgatory import work_in_turns
from kohort.storage.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from kohort.broker.cluster.shared_state import SharedState
    from kohort.coordinator.share_partitions.dead_letters import DeadLetters
    from kohort.coordinator.share_partitions.share_partition import SharePartition
    from kohort.coordinator.share_state.share_partition_key import SharePartitionKey
    from kohort.storage.topic import Partition, Topic

ENABLED: Final = "errors.deadletterqueue.group.enable"  # setting of a topic that may hold dead letters
RECORDS_AT_ONCE: Final = 500  # maximum of one batch
READ_BYTES: Final = 1 << 20


def send(cluster: SharedState, partition: SharePartition, letters: Sequence[DeadLetters], now_ms: int) -> None:
    """Write dead letters to the topic of the group, and archive their records.

    If the topic does not exist or does not allow it, nothing is written.
    """

    def sent(are_written: bool, now_ms: int) -> None:
        for part in _one_by_one(letters) if are_written else [letters]:  # as Kafka writes the states
            archive(partition, part, now_ms)

    work_in_turns(cluster.purgatory, _sending(cluster, partition, letters, now_ms), sent, now_ms)


def _one_by_one(letters: Sequence[DeadLetters]) -> Iterator[Sequence[DeadLetters]]:
    for letter in letters:
        for offset in range(letter.first_offset, letter.last_offset + 1):
            yield (letter._replace(first_offset=offset, last_offset=offset),)


def _sending(
    cluster: SharedState, partition: SharePartition, letters: Sequence[DeadLetters], now_ms: int
) -> Generator[None, None, bool]:
    """Return whether there is a topic for them."""
    target, source = _target(cluster, partition), cluster.topics.by_id(partition.key.topic_id)
    if target is None or source is None:
        return False
    pace, records = Pace(), list[Record]()
    write = partial(_append, cluster, target)
    originals = Originals(source.partition(partition.key.partition) if partition.config.copies_dead_letters else None)
    for letter in letters:
        for offset in range(letter.first_offset, letter.last_offset + 1):
            original = originals.find(offset)
            records.append(_record(cluster, partition.key, source.name, letter, offset, original))
            if len(records) == RECORDS_AT_ONCE:
                write(records, now_ms)
                records = []
            if pace.add():
                yield
    if records:
        write(records, now_ms)
    return True


def _target(cluster: SharedState, partition: SharePartition) -> Partition | None:
    """Return the partition for dead letters: the source partition modulo the number of partitions."""
    topic = cluster.topics.by_name(partition.config.dead_letter_topic) or _create(cluster, partition)
    if topic is None or cluster.topics.effective_configs(topic.configs).get(ENABLED) != "true":
        return None
    return topic.partition(partition.key.partition % len(topic.partitions))


def _create(cluster: SharedState, partition: SharePartition) -> Topic | None:
    settings, name = cluster.settings, partition.config.dead_letter_topic
    prefix = settings.errors_deadletterqueue_topic_name_prefix
    if not settings.errors_deadletterqueue_auto_create_topics_enable or not name.startswith(prefix):
        return None
    try:
        created = cluster.topics.create(name, -1, -1, {ENABLED: "true"})
    except OSError as error:
        cluster.storage_failed(f"creating topic {name}", error)
        return None
    return None if isinstance(created, Refusal) else created


def _append(cluster: SharedState, target: Partition, records: Sequence[Record], now_ms: int) -> None:
    try:
        cluster.append(target, build_batch(records), now_ms)
    except OSError as error:
        cluster.storage_failed("writing dead letters of a share group", error)


def _record(
    cluster: SharedState,
    key: SharePartitionKey,
    topic_name: str,
    letter: DeadLetters,
    offset: int,
    original: Record | None,
) -> Record:
    values = (topic_name, key.partition, offset, key.group_id, letter.delivery_count, letter.message)
    names = ("topic", "partition", "offset", "group", "delivery.count", "message")
    headers = tuple((f"__dlq.errors.{name}", str(value).encode()) for name, value in zip(names, values, strict=True))
    wall_ms = cluster.clock.now_ms() + cluster.clock.epoch_ms
    if original is None:
        return Record(None, None, wall_ms, headers)
    return Record(original.key, original.value, wall_ms, headers)


class Originals:
    """Records that are given up, read from their partition; none without a partition.

    Reading continues after the previous record, so that a batch with several of them is decoded once.
    """

    def __init__(self, partition: Partition | None) -> None:
        self._partition = partition
        self._records: Iterator[Record] = iter(())
        self._record: Record | None = None  # the last one of `_records` that was read

    def find(self, offset: int) -> Record | None:
        """Return a record, or None if it cannot be read any more."""
        if self._partition is None:
            return None
        if self._record is None or self._record.offset > offset:
            self._records = _records_from(self._partition, offset)
            self._record = None
        try:
            while self._record is None or self._record.offset < offset:
                self._record = next(self._records, None)
                if self._record is None:
                    return None
        except (OSError, DecodeError):
            self._record = None
            return None
        return self._record if self._record.offset == offset else None


def _records_from(partition: Partition, offset: int) -> Iterator[Record]:
    log = partition.log
    while log.log_start_offset <= offset < log.log_end_offset:
        for chunk in log.read(offset, READ_BYTES):
            for batch in read_batches(chunk):
                yield from iterate_records(chunk, batch)
                offset = batch.last_offset + 1
