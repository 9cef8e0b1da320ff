"""The share partitions of a node: begun when somebody fetches from them, and forgotten when they do not count any more.

Source: Kafka's `SharePartitionManager`, `SharePartitionCache`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from kohort.broker.cluster.share_fetch_sessions import ShareSessions
from kohort.broker.logs import log
from kohort.coordinator.pace import Pace
from kohort.coordinator.share_partitions.locks import releasing
from kohort.coordinator.share_partitions.offset_reset import EARLIEST, duration_ms
from kohort.coordinator.share_partitions.record_observer import CONNECTION_CLOSED, SESSION_CLOSED, UNOBSERVED
from kohort.coordinator.share_partitions.share_partition import InvalidState, Progress, SharePartition
from kohort.coordinator.share_partitions.transitions import heard
from kohort.coordinator.share_state.share_partition_key import SharePartitionKey
from kohort.coordinator.share_state.state_batches import UNKNOWN_OFFSET
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import DelayedOperation, work_in_turns

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from uuid import UUID

    from kohort.broker.cluster.node import Node
    from kohort.broker.cluster.share_fetch_sessions import ShareSession
    from kohort.coordinator.share.share_config import ShareConfig
    from kohort.coordinator.share_partitions.record_observer import RecordObserver
    from kohort.coordinator.share_state.share_partition_key import TopicIdPartition
    from kohort.coordinator.share_state.state_outcome import OnOutcome, StateOutcome
    from kohort.coordinator.share_state.state_requests import StateWrite
    from kohort.storage.topic import Partition, Topic

_NONE: Final = ErrorCode.none

KeyT = TypeVar("KeyT")

STEPS_AT_ONCE: Final = 64
"""Steps of the search for a time before others are served."""

_Found = tuple[int, int] | None
"""A timestamp and the first offset that has it, or a later one."""


class LedSharePartitions:
    """What a node knows of the share partitions that it leads, and of those who fetch from them."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._cluster = node.cluster
        self.purgatory = node.cluster.purgatory
        self.sessions = ShareSessions(node.cluster.settings.group_share_max_share_sessions)
        self._known: dict[SharePartitionKey, SharePartition] = {}
        self._of_groups: dict[str, dict[SharePartitionKey, None]] = {}
        self._of_partitions: dict[TopicIdPartition, dict[SharePartitionKey, None]] = {}

    def __len__(self) -> int:
        """How many there are."""
        return len(self._known)

    @property
    def in_flight(self) -> int:
        """How many offsets are in flight in all of them together."""
        return sum(each.in_flight.count for each in self._known.values())

    def known(self, key: SharePartitionKey) -> SharePartition | None:
        """A share partition that somebody has fetched from, and that counts."""
        return self._known.get(key)

    def of_group(self, group_id: str) -> list[SharePartition]:
        """All that is known of a group."""
        return [self._known[key] for key in self._of_groups.get(group_id, ())]

    def get(self, group_id: str, topic: Topic, partition: Partition, now_ms: int) -> tuple[SharePartition, bool]:
        """A share partition of a partition that this node leads, with whether it is new: then it begins to read its
        state.

        One that another leader epoch has begun does not count any more.
        """
        key = SharePartitionKey(group_id, topic.topic_id, partition.index)
        found = self._known.get(key)
        if found is not None and found.leader_epoch != partition.leader_epoch:
            self.forget(found, Progress.FENCED)
            found = None
        if found is not None:
            return found, False
        found = self._known[key] = SharePartition(key, partition.leader_epoch, self)
        self._of_groups.setdefault(group_id, {})[key] = None
        self._of_partitions.setdefault((key.topic_id, key.partition), {})[key] = None
        _Beginning(self, found, topic, partition).read(now_ms)
        return found, True

    def forget(self, partition: SharePartition, progress: Progress) -> None:
        """It does not count any more. The next fetch reads it again."""
        partition.end(progress)
        key = partition.key
        if self._known.get(key) is partition:
            del self._known[key]
            _discard(self._of_groups, key.group_id, key)
            _discard(self._of_partitions, (key.topic_id, key.partition), key)

    # What share partitions ask of it (`SharePartitionHost`)

    @property
    def record_observer(self) -> RecordObserver:
        """See `SharePartitionHost`."""
        return self._node.coordinator.record_observer or UNOBSERVED

    def config(self, group_id: str) -> ShareConfig:
        """See `SharePartitionHost`."""
        return self._cluster.group_configs.share_config(group_id)

    def write(self, key: SharePartitionKey, write: StateWrite, then: OnOutcome, now_ms: int) -> None:
        """See `SharePartitionHost`."""
        which = key.topic_id, key.partition

        def written(outcomes: dict[TopicIdPartition, StateOutcome], now_ms: int) -> None:
            then(outcomes[which], now_ms)

        self._cluster.share_persister.write(key.group_id, {which: write}, written, now_ms)

    def changed(self, partition: SharePartition, now_ms: int) -> None:
        """See `SharePartitionHost`."""
        self.purgatory.check(partition, now_ms)

    def fenced(self, partition: SharePartition, now_ms: int) -> None:
        """See `SharePartitionHost`."""
        self.forget(partition, Progress.FENCED)

    # Sessions that end

    def close_session(self, session: ShareSession, now_ms: int) -> None:
        """A member wanted to close a session, and what it said with that is written. Source: `releaseSession`.

        If that has ended meanwhile, and the member has another one, then that is closed: Kafka goes by its name.
        """
        present = self.sessions.of_member(session.group_id, session.member_id)
        if present is not None:
            self.sessions.close(present)
            groups = self.sessions.oldest_closed_groups(present.connection)
            work_in_turns(
                self.purgatory, self._ending((present,), groups, SESSION_CLOSED, now_ms), _ignore_result, now_ms
            )

    def client_gone(self, connection: object, now_ms: int) -> None:
        """End the sessions that were opened on a connection, which is closed."""
        sessions, groups = self.sessions.connection_closed(connection)
        work_in_turns(self.purgatory, self._ending(sessions, groups, CONNECTION_CLOSED, now_ms), _ignore_result, now_ms)

    def _ending(
        self, sessions: Iterable[ShareSession], groups: Iterable[str], cause: str, now_ms: int
    ) -> Generator[None, None, None]:
        """Release what members hold of the partitions of their sessions, and forget all of groups without any."""
        pace = Pace()
        for session in sessions:
            for topic_id, index in session.partitions:
                found = None if topic_id is None else self.known(SharePartitionKey(session.group_id, topic_id, index))
                if found is not None:
                    yield from releasing(found, session.member_id, now_ms, cause)
                if pace.add():
                    yield
        for group_id in groups:
            for each in self.of_group(group_id):
                if self.sessions.has_group(group_id):
                    break  # a member has come back meanwhile
                self.forget(each, Progress.FENCED)
                if pace.add():
                    yield

    def stopped(self) -> None:
        """The node has stopped."""
        self.sessions.clear()
        self.forget_all(list(self._known.values()))

    def forget_all(self, partitions: Iterable[SharePartition]) -> None:
        """None of them counts any more."""
        for each in partitions:
            self.forget(each, Progress.FENCED)

    def partition_lost(self, topic_id: UUID, index: int) -> None:
        """A partition has another leader now, or its topic is gone."""
        self.forget_all([self._known[key] for key in self._of_partitions.get((topic_id, index), ())])


def _discard(sets: dict[KeyT, dict[SharePartitionKey, None]], where: KeyT, key: SharePartitionKey) -> None:
    keys = sets[where]
    del keys[key]
    if not keys:
        del sets[where]


def _ignore_result(result: None, now_ms: int) -> None:
    """Return at once: nothing depends on it."""


class _Beginning(DelayedOperation):
    """A share partition on its way to being fetched from: its state is read, and its start found."""

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
        self._steps: Generator[None, None, _Found] | None = None

    def read(self, now_ms: int) -> None:
        """Asks the share coordinator."""
        key = self._share_partition.key
        which = key.topic_id, key.partition
        self._led._cluster.share_persister.read(
            key.group_id, {which: self._share_partition.leader_epoch}, partial(self._was_read, which), now_ms
        )

    def _was_read(self, which: TopicIdPartition, outcomes: dict[TopicIdPartition, StateOutcome], now_ms: int) -> None:
        outcome = self._outcome = outcomes[which]
        error = heard(outcome.error_code)
        if error is not _NONE:
            self._fail(error, now_ms)
        elif outcome.start_offset != UNKNOWN_OFFSET:
            self._begin(outcome.start_offset, now_ms)
        else:
            self._find_start(now_ms)

    def _find_start(self, now_ms: int) -> None:
        """Nothing is known of the group here: it begins where its settings say."""
        reset, log = self._share_partition.config.auto_offset_reset, self._partition.log
        ago_ms = duration_ms(reset)
        if ago_ms is not None:
            wall_ms = now_ms + self._led._cluster.clock.epoch_ms
            self._steps = log.offset_for_timestamp(wall_ms - ago_ms)
            self._search(now_ms)
        else:
            self._begin(log.log_start_offset if reset == EARLIEST else log.high_watermark, now_ms)

    def _search(self, now_ms: int) -> None:
        """Looks for the time, a little in this turn."""
        assert self._steps is not None
        try:
            for _ in range(STEPS_AT_ONCE):
                next(self._steps)
        except StopIteration as end:
            found: _Found = end.value
            if found is None or found[1] >= self._partition.log.high_watermark:
                self._fail(ErrorCode.offset_not_available, now_ms)
            else:
                self._begin(found[1], now_ms)
            return
        except OSError as problem:
            self._led._cluster.storage_failed(f"reading {self._topic.name}-{self._partition.index}", problem)
            self._fail(ErrorCode.kafka_storage_error, now_ms)
            return
        self._led.purgatory.wait_for_a_turn(self)

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        self._search(now_ms)

    def _begin(self, start_offset: int, now_ms: int) -> None:
        if self._share_partition.progress is Progress.INITIALIZING:  # else it does not count any more
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

    def _fail(self, error: ErrorCode, now_ms: int) -> None:
        share_partition = self._share_partition
        if share_partition.progress is Progress.INITIALIZING:
            share_partition.problem = error
            self._led.forget(share_partition, Progress.FAILED)
            self._led.changed(share_partition, now_ms)
