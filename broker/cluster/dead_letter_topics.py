"""Writing of dead letters of share groups (KIP-1191)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kohort.coordinator.pace import Pace
from kohort.coordinator.share_partitions.archiving import archive
from kohort.coordinator.share_partitions.record_observer import joined
from kohort.protocol.batches import Record, build_batch, iterate_records, read_batch, read_batches
from kohort.protocol.errors import DecodeError
from kohort.purgatory import work_in_turns
from kohort.storage.refusal import Refusal
from kohort.storage.validation import Rejection, check_batch

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from kohort.broker.cluster.shared_state import SharedState
    from kohort.coordinator.share_partitions.dead_letters import DeadLetters
    from kohort.coordinator.share_partitions.record_observer import RecordObserver
    from kohort.coordinator.share_partitions.share_partition import SharePartition
    from kohort.coordinator.share_state.share_partition_key import SharePartitionKey
    from kohort.storage.topic import Partition, Topic

ENABLED: Final = "errors.deadletterqueue.group.enable"  # setting of a topic that may hold dead letters
CONFIGS_OF_CREATED: Final = {ENABLED: "true", "message.timestamp.type": "CreateTime"}
HEADERS: Final = tuple(
    f"__dlq.errors.{name}" for name in ("topic", "partition", "offset", "group", "delivery.count", "message")
)
RECORDS_AT_ONCE: Final = 500  # maximum of one batch
READ_BYTES: Final = 1 << 20

_Letter = tuple["DeadLetters", Record]  # of one offset


class Failure(NamedTuple):
    """The reason for which dead letters are not written."""

    cause: str  # as in the event
    text: str


def send(
    cluster: SharedState,
    partition: SharePartition,
    letters: Sequence[DeadLetters],
    observer: RecordObserver,
    now_ms: int,
) -> None:
    """Write dead letters to the topic of the group, and archive their records, also of those that cannot be written."""

    def sent(has_topic: bool, now_ms: int) -> None:
        for part in _one_by_one(letters) if has_topic else [letters]:  # as Kafka writes the states
            archive(partition, part, now_ms)

    sending = _Sending(cluster, partition, observer)
    work_in_turns(cluster.purgatory, sending.run(letters, now_ms), sent, now_ms)


def _one_by_one(letters: Sequence[DeadLetters]) -> Iterator[Sequence[DeadLetters]]:
    for letter in letters:
        for offset in range(letter.first_offset, letter.last_offset + 1):
            yield (letter._replace(first_offset=offset, last_offset=offset),)


class _Sending:
    """Writes the dead letters of one share partition."""

    def __init__(self, cluster: SharedState, share_partition: SharePartition, observer: RecordObserver) -> None:
        self._cluster = cluster
        self._key = share_partition.key
        self._config = share_partition.config
        self._observer = observer

    def run(self, letters: Sequence[DeadLetters], now_ms: int) -> Generator[None, None, bool]:
        """Write dead letters, and return whether there is a topic for them."""
        source = self._cluster.topics.by_id(self._key.topic_id)
        target = Failure("topic_deleted", "their topic was deleted") if source is None else self._find_target()
        if isinstance(target, Failure):
            for letter in letters:
                self._report_failure(letter, target)
            return False
        assert source is not None, "otherwise the target is a failure"
        pace, batch = Pace(), list[_Letter]()
        originals = Originals(source.partition(self._key.partition) if self._config.copies_dead_letters else None)
        for letter in letters:
            for offset in range(letter.first_offset, letter.last_offset + 1):
                own = letter._replace(first_offset=offset, last_offset=offset)
                batch.append((own, _record(self._cluster, self._key, source.name, own, originals.find(offset))))
                if len(batch) == RECORDS_AT_ONCE:
                    self._write(target, batch, now_ms)
                    batch = []
                if pace.add():
                    yield
        if batch:
            self._write(target, batch, now_ms)
        return True

    def _find_target(self) -> Partition | Failure:
        """Return the partition for dead letters: the source partition modulo the number of partitions.

        The checks and their order are Kafka's (`ProduceRequestHandler.validateDlqTopic`): the prefix applies to
        existing topics, too.
        """
        cluster, name = self._cluster, self._config.dead_letter_topic
        settings, topic = cluster.settings, cluster.topics.by_name(name)
        if topic is not None and cluster.topics.effective_configs(topic.configs).get(ENABLED) != "true":
            return Failure("topic_not_enabled", f"topic {name} does not have {ENABLED}=true")
        if topic is None and not settings.errors_deadletterqueue_auto_create_topics_enable:
            return Failure("topic_missing", f"topic {name} does not exist")
        prefix = settings.errors_deadletterqueue_topic_name_prefix
        if not name.startswith(prefix):
            return Failure(
                "topic_name", f"the name {name} does not begin with {prefix} (errors.deadletterqueue.topic.name.prefix)"
            )
        if topic is None:
            created = self._create(name)
            if isinstance(created, Failure):
                return created
            topic = created
        target = topic.partitions[self._key.partition % len(topic.partitions)]
        return target if target.leader >= 0 else Failure("no_leader", f"{name}-{target.index} has no leader")

    def _create(self, name: str) -> Topic | Failure:
        try:
            created = self._cluster.topics.create(name, -1, -1, CONFIGS_OF_CREATED)
        except OSError as error:
            return Failure("storage_error", f"topic {name} cannot be stored: {error.strerror or error}")
        if isinstance(created, Refusal):
            return Failure("topic_not_created", f"topic {name} cannot be created: {created.message}")
        return created

    def _write(self, target: Partition, batch: Sequence[_Letter], now_ms: int) -> None:
        """Write dead letters in batches that are within the topic's `max.message.bytes`, if possible."""
        content = build_batch([record for _, record in batch])
        config, name = target.log.config, self._config.dead_letter_topic
        if len(content) > config.max_message_bytes and len(batch) > 1:
            middle = len(batch) // 2
            self._write(target, batch[:middle], now_ms)
            self._write(target, batch[middle:], now_ms)
            return
        wall_ms = now_ms + self._cluster.clock.epoch_ms
        verdict = check_batch(content, read_batch(content), config, (name, target.index), wall_ms, len(content))
        if isinstance(verdict, Rejection):
            reason = verdict.message or verdict.error_code.name.upper()
            failure: Failure | None = Failure("rejected", f"{name}-{target.index} rejects them: {reason}")
        else:
            failure = self._append(target, verdict.batch, now_ms)
        for letter in joined(letter for letter, _ in batch):
            if failure is None:
                self._observer.dead_letter_written(self._key, letter, name, target.index)
            else:
                self._report_failure(letter, failure)
        if failure is None:
            self._cluster.forget_warning(self._key.group_id)

    def _append(self, target: Partition, batch: bytes, now_ms: int) -> Failure | None:
        try:
            self._cluster.append(target, batch, now_ms)
        except OSError as error:
            name = f"{self._config.dead_letter_topic}-{target.index}"
            return Failure("storage_error", f"{name} cannot be stored: {error.strerror or error}")
        return None

    def _report_failure(self, letter: DeadLetters, failure: Failure) -> None:
        self._observer.dead_letter_failed(self._key, letter, self._config.dead_letter_topic, *failure)
        group_id, text = self._key.group_id, f"records are archived without dead letters: {failure.text}"
        self._cluster.warn(group_id, text, group=group_id, cause=failure.cause)


def _record(
    cluster: SharedState,
    key: SharePartitionKey,
    topic_name: str,
    letter: DeadLetters,
    original: Record | None,
) -> Record:
    values = (topic_name, key.partition, letter.first_offset, key.group_id, letter.delivery_count, letter.message)
    headers = tuple((name, str(value).encode()) for name, value in zip(HEADERS, values, strict=True))
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
