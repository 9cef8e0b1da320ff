"""The share partitions of a node: created by the first fetch, and dropped when leadership or sessions end.

Source: Kafka's `SharePartitionManager`, `SharePartitionCache`.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from kohort.base.logs import log
from kohort.broker.cluster.share_fetch_sessions import ShareSessions
from kohort.coordinator.pace import Pace
from kohort.coordinator.share_partitions.archiving import resume
from kohort.coordinator.share_partitions.locks import releasing
from kohort.coordinator.share_partitions.offset_reset import EARLIEST, duration_ms
from kohort.coordinator.share_partitions.record_observer import CONNECTION_CLOSED, SESSION_CLOSED, UNOBSERVED
from kohort.coordinator.share_partitions.share_partition import InvalidState, Progress, SharePartition
from kohort.coordinator.share_partitions.transitions import client_error
from kohort.coordinator.share_state.share_partition_key import SharePartitionKey
from kohort.coordinator.share_state.state_batches import UNKNOWN_OFFSET
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import DelayedOperation, work_in_turns

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence
    from uuid import UUID

    from kohort.broker.cluster.node import Node
    from kohort.broker.cluster.share_fetch_sessions import ShareSession
    from kohort.coordinator.share.share_config import ShareConfig
    from kohort.coordinator.share_partitions.dead_letters import DeadLetters
    from kohort.coordinator.share_partitions.record_observer import RecordObserver
    from kohort.coordinator.share_state.share_partition_key import TopicIdPartition
    from kohort.coordinator.share_state.state_outcome import OnOutcome, StateOutcome
    from kohort.coordinator.share_state.state_requests import StateWrite
    from kohort.storage.topic import Partition, Topic

_NONE: Final = ErrorCode.none

KeyT = TypeVar("KeyT")


STEPS_AT_ONCE: Final = 64  # steps of the search for a timestamp before other requests are handled

_GroupMember = tuple[str, str]  # group id and member id

_TimestampOffset = tuple[int, int] | None  # a timestamp, and the first offset with it or a later one


class LedSharePartitions:
    """The share partitions that a node leads, and the sessions of their members."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._cluster = node.cluster
        self.purgatory = node.cluster.purgatory
        self.sessions = ShareSessions(node.cluster.settings.group_share_max_share_sessions)
        self._share_partitions: dict[SharePartitionKey, SharePartition] = {}
        self._of_groups: dict[str, dict[SharePartitionKey, None]] = {}
        self._of_partitions: dict[TopicIdPartition, dict[SharePartitionKey, None]] = {}
        # Members whose ended sessions are being released, and the share partitions that they were refused meanwhile.
        self._ending_sessions = Counter[_GroupMember]()
        self._refused: dict[_GroupMember, dict[SharePartition, None]] = {}

    def __len__(self) -> int:
        return len(self._share_partitions)

    @property
    def in_flight(self) -> int:
        """The number of offsets in flight in all share partitions together."""
        return sum(share_partition.in_flight.count for share_partition in self._share_partitions.values())

    def find(self, key: SharePartitionKey) -> SharePartition | None:
        """Return a share partition that was fetched from and is still valid, or None."""
        return self._share_partitions.get(key)

    def of_group(self, group_id: str) -> list[SharePartition]:
        return [self._share_partitions[key] for key in self._of_groups.get(group_id, ())]

    def get(self, group_id: str, topic: Topic, partition: Partition, now_ms: int) -> tuple[SharePartition, bool]:
        """Return the share partition of a partition that this node leads, and whether it is new.

        A new one starts reading its state. It replaces one of an earlier leader epoch.
        """
        key = SharePartitionKey(group_id, topic.topic_id, partition.index)
        share_partition = self._share_partitions.get(key)
        if share_partition is not None and share_partition.leader_epoch != partition.leader_epoch:
            self.forget(share_partition, Progress.FENCED)
            share_partition = None
        if share_partition is not None:
            return share_partition, False
        share_partition = self._share_partitions[key] = SharePartition(key, partition.leader_epoch, self)
        self._of_groups.setdefault(group_id, {})[key] = None
        self._of_partitions.setdefault((key.topic_id, key.partition), {})[key] = None
        _Beginning(self, share_partition, topic, partition).read(now_ms)
        return share_partition, True

    def forget(self, partition: SharePartition, progress: Progress) -> None:
        """Drop a share partition. The next fetch reads its state again."""
        partition.end(progress)
        key = partition.key
        if self._share_partitions.get(key) is partition:
            del self._share_partitions[key]
            _discard(self._of_groups, key.group_id, key)
            _discard(self._of_partitions, (key.topic_id, key.partition), key)

    # Called by share partitions (`SharePartitionHost`)

    @property
    def record_observer(self) -> RecordObserver:
        return self._node.coordinator.record_observer or UNOBSERVED

    def config(self, group_id: str) -> ShareConfig:
        return self._cluster.group_configs.share_config(group_id)

    def write(self, key: SharePartitionKey, write: StateWrite, on_outcome: OnOutcome, now_ms: int) -> None:
        topic_partition = key.topic_id, key.partition

        def written(outcomes: dict[TopicIdPartition, StateOutcome], now_ms: int) -> None:
            on_outcome(outcomes[topic_partition], now_ms)

        self._cluster.share_persister.write(key.group_id, {topic_partition: write}, written, now_ms)

    def changed(self, partition: SharePartition, now_ms: int) -> None:
        self.purgatory.check(partition, now_ms)

    @property
    def has_dead_letters(self) -> bool:
        return self._cluster.features.serves_dead_letters

    def send_dead_letters(self, partition: SharePartition, letters: Sequence[DeadLetters], now_ms: int) -> None:
        from kohort.broker.cluster.dead_letter_topics import send  # not for brokers without dead letters

        send(self._cluster, self._node, partition, letters, self.record_observer, now_ms)

    def fenced(self, partition: SharePartition, now_ms: int) -> None:
        self.forget(partition, Progress.FENCED)

    # Sessions that end

    def close_session(self, session: ShareSession, now_ms: int) -> None:
        """Close a session after the acknowledgements in its last request were written. Source: `releaseSession`.

        If it has ended meanwhile, and the member has another one, that one is closed: Kafka identifies it by the
        member.
        """
        present = self.sessions.of_member(session.group_id, session.member_id)
        if present is not None:
            self.sessions.close(present)
            groups = self.sessions.oldest_closed_groups(present.connection)
            self._end((present,), groups, SESSION_CLOSED, now_ms)

    def client_gone(self, connection: object, now_ms: int) -> None:
        """End the sessions that were opened on a connection, which is closed."""
        sessions, groups = self.sessions.connection_closed(connection)
        self._end(tuple(sessions), groups, CONNECTION_CLOSED, now_ms)

    def refuses(self, group_id: str, member_id: str, partition: SharePartition) -> bool:
        """Return whether a member cannot acquire records yet, because an ended session of it is being released.

        The release would take what its next session acquires. The fetch is tried again when the release has ended.
        """
        member = group_id, member_id
        if member not in self._ending_sessions:
            return False
        self._refused.setdefault(member, {})[partition] = None
        return True

    def _end(self, sessions: tuple[ShareSession, ...], groups: Iterable[str], cause: str, now_ms: int) -> None:
        members = [(session.group_id, session.member_id) for session in sessions]
        self._ending_sessions.update(members)

        def ended(result: None, now_ms: int) -> None:
            for member in members:
                self._ending_sessions[member] -= 1
                if not self._ending_sessions[member]:
                    del self._ending_sessions[member]
                    for partition in self._refused.pop(member, ()):
                        self.changed(partition, now_ms)

        work_in_turns(self.purgatory, self._ending(sessions, groups, cause, now_ms), ended, now_ms)

    def _ending(
        self, sessions: tuple[ShareSession, ...], groups: Iterable[str], cause: str, now_ms: int
    ) -> Generator[None, None, None]:
        """Release what members hold of the partitions of their sessions, and forget all of groups without any."""
        pace = Pace()
        for session in sessions:
            for topic_id, index in session.partitions:
                share_partition = (
                    None if topic_id is None else self.find(SharePartitionKey(session.group_id, topic_id, index))
                )
                if share_partition is not None:
                    yield from releasing(share_partition, session.member_id, now_ms, cause)
                if pace.add():
                    yield
        for group_id in groups:
            for orphan in self.of_group(group_id):
                if self.sessions.has_group(group_id):
                    break  # a member has come back meanwhile
                self.forget(orphan, Progress.FENCED)
                if pace.add():
                    yield

    def stopped(self) -> None:
        self.sessions.clear()
        self.forget_all(list(self._share_partitions.values()))

    def forget_all(self, partitions: Iterable[SharePartition]) -> None:
        for partition in partitions:
            self.forget(partition, Progress.FENCED)

    def partition_lost(self, topic_id: UUID, index: int) -> None:
        """Drop the share partitions of a partition that has another leader, or was deleted."""
        self.forget_all([self._share_partitions[key] for key in self._of_partitions.get((topic_id, index), ())])


def _discard(sets: dict[KeyT, dict[SharePartitionKey, None]], owner: KeyT, key: SharePartitionKey) -> None:
    keys = sets[owner]
    del keys[key]
    if not keys:
        del sets[owner]


class _Beginning(DelayedOperation):
    """The initialization of a share partition: its state is read, and its start offset determined."""

    __slots__ = ("_led", "_outcome", "_partition", "_share_partition", "_steps", "_topic")

    def __init__(
        self, led: LedSharePartitions, share_partition: SharePartition, topic: Topic, partition: Partition
    ) -> None:
        super().__init__(0)
        self._led = led
        self._share_partition = share_partition
        self._topic = topic
        self._partition = partition
        self._outcome: StateOutcome | None = None
        self._steps: Generator[None, None, _TimestampOffset] | None = None

    def read(self, now_ms: int) -> None:
        key = self._share_partition.key
        topic_partition = key.topic_id, key.partition
        self._led._cluster.share_persister.read(
            key.group_id,
            {topic_partition: self._share_partition.leader_epoch},
            partial(self._was_read, topic_partition),
            now_ms,
        )

    def _was_read(
        self, topic_partition: TopicIdPartition, outcomes: dict[TopicIdPartition, StateOutcome], now_ms: int
    ) -> None:
        outcome = self._outcome = outcomes[topic_partition]
        error = client_error(outcome.error_code)
        if error is not _NONE:
            self._fail(error, now_ms)
        elif outcome.start_offset != UNKNOWN_OFFSET:
            self._begin(outcome.start_offset, now_ms)
        else:
            self._find_start(now_ms)

    def _find_start(self, now_ms: int) -> None:
        """Determine the start offset of a new group from its settings."""
        reset, log = self._share_partition.config.auto_offset_reset, self._partition.log
        ago_ms = duration_ms(reset)
        if ago_ms is not None:
            wall_ms = now_ms + self._led._cluster.clock.epoch_ms
            self._steps = log.offset_for_timestamp(wall_ms - ago_ms)
            self._search(now_ms)
        else:
            self._begin(log.log_start_offset if reset == EARLIEST else log.high_watermark, now_ms)

    def _search(self, now_ms: int) -> None:
        """Search for the timestamp, a few steps in this turn."""
        assert self._steps is not None
        try:
            for _ in range(STEPS_AT_ONCE):
                next(self._steps)
        except StopIteration as end:
            timestamp_offset: _TimestampOffset = end.value
            if timestamp_offset is None or timestamp_offset[1] >= self._partition.log.high_watermark:
                self._fail(ErrorCode.offset_not_available, now_ms)
            else:
                self._begin(timestamp_offset[1], now_ms)
            return
        except OSError as error:
            self._led._cluster.storage_failed(f"reading {self._topic.name}-{self._partition.index}", error)
            self._fail(ErrorCode.kafka_storage_error, now_ms)
            return
        self._led.purgatory.wait_for_a_turn(self)

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        self._search(now_ms)

    def _begin(self, start_offset: int, now_ms: int) -> None:
        if self._share_partition.progress is Progress.INITIALIZING:  # otherwise it was dropped
            work_in_turns(self._led.purgatory, self._load(start_offset), self._loaded, now_ms)

    def _load(self, start_offset: int) -> Generator[None, None, InvalidState | None]:
        outcome = self._outcome
        assert outcome is not None, "it was read"
        try:
            yield from self._share_partition.load(outcome.state_epoch, start_offset, outcome.batches)
        except InvalidState as problem:
            return problem
        return None

    def _loaded(self, problem: InvalidState | None, now_ms: int) -> None:
        share_partition = self._share_partition
        if problem is not None:
            log.warning(f"the state of share partition {share_partition.key.text} cannot be used: {problem}")
            self._fail(ErrorCode.unknown_server_error, now_ms)
        elif share_partition.progress is Progress.ACTIVE:
            self._led.changed(share_partition, now_ms)
            resume(share_partition, now_ms)

    def _fail(self, error: ErrorCode, now_ms: int) -> None:
        share_partition = self._share_partition
        if share_partition.progress is Progress.INITIALIZING:
            share_partition.load_error = error
            self._led.forget(share_partition, Progress.FAILED)
            self._led.changed(share_partition, now_ms)
