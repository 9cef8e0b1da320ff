"""Writing of dead letters of share groups (KIP-1191)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from kohort.broker.cluster.retries import MAX_ATTEMPTS, backoff_ms
from kohort.coordinator.pace import Pace
from kohort.coordinator.share_partitions.archiving import archive
from kohort.coordinator.share_partitions.record_observer import joined
from kohort.protocol.batches import Record, build_batch, iterate_records, read_batch, read_batches
from kohort.protocol.errors import DecodeError
from kohort.purgatory import DelayedOperation, work_in_turns
from kohort.storage.placement import NO_LEADER
from kohort.storage.refusal import Refusal
from kohort.storage.topic import Partition
from kohort.storage.validation import Rejection, check_batch

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from kohort.broker.cluster.shared_state import SharedState
    from kohort.coordinator.share_partitions.dead_letters import DeadLetters
    from kohort.coordinator.share_partitions.record_observer import RecordObserver
    from kohort.coordinator.share_partitions.share_partition import SharePartition
    from kohort.coordinator.share_state.share_partition_key import SharePartitionKey
    from kohort.storage.topic import Topic

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


class Leader(Hashable, Protocol):
    """The node that leads the records."""

    @property
    def running(self) -> bool: ...


def send(
    cluster: SharedState,
    leader: Leader,
    partition: SharePartition,
    letters: Sequence[DeadLetters],
    observer: RecordObserver,
    now_ms: int,
) -> None:
    """Write dead letters to the topic of the group, and archive their records, also of those that cannot be written."""
    _Sending(cluster, leader, partition, letters, observer).attempt(now_ms)


def _one_by_one(letters: Sequence[DeadLetters]) -> Iterator[Sequence[DeadLetters]]:
    for letter in letters:
        for offset in range(letter.first_offset, letter.last_offset + 1):
            yield (letter._replace(first_offset=offset, last_offset=offset),)


class _Sending(DelayedOperation):
    """Writes dead letters of one share partition.

    While their partition has no leader, it is tried again, as in Kafka. A node that stops does not try again: the next
    leader of the records sends their dead letters.
    Source: Kafka's `ShareGroupDLQStateManager`. All other errors end the attempts there, too.
    """

    __slots__ = ("_attempts", "_cluster", "_config", "_key", "_leader", "_letters", "_observer", "_share_partition")

    def __init__(
        self,
        cluster: SharedState,
        leader: Leader,
        share_partition: SharePartition,
        letters: Sequence[DeadLetters],
        observer: RecordObserver,
    ) -> None:
        super().__init__(0)
        self._cluster = cluster
        self._leader = leader
        self._share_partition = share_partition
        self._letters = letters
        self._key = share_partition.key
        self._config = share_partition.config
        self._observer = observer
        self._attempts = 0

    def attempt(self, now_ms: int) -> None:
        self._attempts += 1
        failure = self._validate()
        if failure is not None:
            self._fail(failure)
            archive(self._share_partition, self._letters, now_ms)
            return
        target = self._find_target()
        if isinstance(target, Partition) and target.leader == NO_LEADER:
            if self._attempts < MAX_ATTEMPTS:
                self.completed = False
                self.deadline_ms = now_ms + backoff_ms(self._attempts)
                self._cluster.purgatory.wait(self, (self._leader,))
                return
            name = self._config.dead_letter_topic
            target = Failure("no_leader", f"{name}-{target.index} has no leader in {MAX_ATTEMPTS} attempts")
        if isinstance(target, Failure):
            self._fail(target)
            self._archive_one_by_one(None, now_ms)
        else:
            work_in_turns(self._cluster.purgatory, self._write_all(target, now_ms), self._archive_one_by_one, now_ms)

    def can_complete(self, now_ms: int) -> bool:
        return not self._leader.running

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        if expired:
            self.attempt(now_ms)

    def _archive_one_by_one(self, result: None, now_ms: int) -> None:
        for part in _one_by_one(self._letters):  # as Kafka writes the states
            archive(self._share_partition, part, now_ms)

    def _write_all(self, target: Partition, now_ms: int) -> Generator[None, None, None]:
        source = self._cluster.topics.by_id(self._key.topic_id)
        assert source is not None, "otherwise the configuration is invalid"
        pace, batch = Pace(), list[_Letter]()
        originals = Originals(source.partition(self._key.partition) if self._config.copies_dead_letters else None)
        for letter in self._letters:
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

    def _validate(self) -> Failure | None:
        """Return why no dead letters can be written, before each attempt.

        The checks and their order are Kafka's (`ProduceRequestHandler.validateDlqTopic`): the prefix applies to
        existing topics, too.
        """
        self._config = self._share_partition.config
        cluster, name = self._cluster, self._config.dead_letter_topic
        settings, topic = cluster.settings, cluster.topics.by_name(name)
        if not name:
            return Failure("topic_name", "the group has no dead-letter topic anymore")
        if cluster.topics.by_id(self._key.topic_id) is None:
            return Failure("topic_deleted", "their topic was deleted")
        if topic is not None and cluster.topics.effective_configs(topic.configs).get(ENABLED) != "true":
            return Failure("topic_not_enabled", f"topic {name} does not have {ENABLED}=true")
        if topic is None and not settings.errors_deadletterqueue_auto_create_topics_enable:
            return Failure("topic_missing", f"topic {name} does not exist")
        prefix = settings.errors_deadletterqueue_topic_name_prefix
        if not name.startswith(prefix):
            return Failure(
                "topic_name", f"the name {name} does not begin with {prefix} (errors.deadletterqueue.topic.name.prefix)"
            )
        return None

    def _find_target(self) -> Partition | Failure:
        """Return the partition for dead letters: the source partition modulo the number of partitions."""
        topics, name = self._cluster.topics, self._config.dead_letter_topic
        topic = topics.by_name(name) or self._create(name)
        if isinstance(topic, Failure):
            return topic
        target = topic.partitions[self._key.partition % len(topic.partitions)]
        if target.leader != NO_LEADER and topics.lacks_copies(topic, target):
            return self._rejected(target, "NOT_ENOUGH_REPLICAS")
        return target

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
            failure: Failure | None = self._rejected(target, verdict.message or verdict.error_code.name.upper())
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

    def _rejected(self, target: Partition, reason: str) -> Failure:
        return Failure("rejected", f"{self._config.dead_letter_topic}-{target.index} rejects them: {reason}")

    def _fail(self, failure: Failure) -> None:
        for letter in self._letters:
            self._report_failure(letter, failure)

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
