"""Share coordinator of one node: the states of share partitions, and the effects that the shell must perform.

A change is written to `__share_group_state` first and applied after the write. A share partition has one pending write
at a time; other operations on it are queued. Source: Kafka's `ShareCoordinatorShard`.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterator
from functools import partial
from typing import Final, NamedTuple, TypeVar
from uuid import UUID

from kohort.coordinator.context import CoordinatorContext, OnWritten, Shard
from kohort.coordinator.effects import SHARE_STATE_TOPIC, Append, Effect
from kohort.coordinator.groups.group_placement import partition_for
from kohort.coordinator.share_state.share_partition_key import SharePartitionKey
from kohort.coordinator.share_state.share_state import ShareState
from kohort.coordinator.share_state.share_state_records import state_key
from kohort.protocol.batches import EncodedRecords, encode_record
from kohort.protocol.errors import ErrorCode
from kohort.protocol.records.layouts import SHARE_SNAPSHOT
from kohort.protocol.releases import CURRENT_RULES, Rules
from kohort.purgatory import Purgatory, work_in_turns

_NONE: Final = ErrorCode.none

UPDATES_PER_SNAPSHOT: Final = 500

ContextT = TypeVar("ContextT")

HasPartition = Callable[[UUID, int], bool]  # function that returns whether a topic id and partition number exist

Operation = Callable[[int], None]  # operation on one share partition, given the time


class StateShard(NamedTuple):
    """Partition of `__share_group_state` that this node leads, and its states."""

    progress: Shard
    states: dict[SharePartitionKey, ShareState]


class ShareCoordinator(CoordinatorContext):
    """Share partitions whose state one node keeps."""

    def __init__(
        self,
        purgatory: Purgatory,
        has_partition: HasPartition,
        *,
        updates_per_snapshot: int = UPDATES_PER_SNAPSHOT,
        partitions: int = 50,
        epoch_ms: int = 0,
        effects: list[Effect] | None = None,
        rules: Rules = CURRENT_RULES,
    ) -> None:
        """Create a coordinator without shards.

        Args:
            updates_per_snapshot: After this number of updates the next write is a snapshot.
        """
        super().__init__(purgatory, partitions=partitions, epoch_ms=epoch_ms, effects=effects)
        self.has_partition = has_partition
        self.rules = rules
        self.updates_per_snapshot = updates_per_snapshot
        self.shards: dict[int, StateShard] = {}
        # queued operations of share partitions with a pending write
        self._queues: dict[SharePartitionKey, deque[Operation]] = {}

    def partition_of(self, key: SharePartitionKey) -> int:
        return partition_for(key.text, self.partitions)

    def states_of(self, key: SharePartitionKey) -> dict[SharePartitionKey, ShareState] | ErrorCode:
        """Return the states that include that of `key`, or NOT_COORDINATOR or COORDINATOR_LOAD_IN_PROGRESS."""
        shard = self.shards.get(self.partition_of(key))
        if shard is None:
            return ErrorCode.not_coordinator
        if shard.progress is Shard.LOADING:
            return ErrorCode.coordinator_load_in_progress
        return shard.states

    def writes_to(self, partition: int) -> bool:
        return any(pending_partition == partition for pending_partition, _ in self._awaited.values())

    def in_turn(self, key: SharePartitionKey, operation: Operation, now_ms: int) -> None:
        """Run an operation on a share partition as soon as it has no pending write."""
        queue = self._queues.get(key)
        if queue is None:
            operation(now_ms)
        else:
            queue.append(operation)

    def _resume(self, key: SharePartitionKey, queue: deque[Operation], now_ms: int) -> None:
        """Run the queued operations. If one starts another write, the later ones are queued behind it."""
        try:
            while queue:
                self.in_turn(key, queue.popleft(), now_ms)
        finally:
            if queue:  # an operation has failed; run the later ones nevertheless
                self._resume(key, queue, now_ms)

    def append(
        self,
        key: SharePartitionKey,
        kind: int,
        steps: Generator[None, None, tuple[bytes | None, ContextT]],
        on_written: Callable[[ContextT, ErrorCode, int], None],
        now_ms: int,
    ) -> None:
        """Write a record of a share partition without pending write. Other operations on it wait for that.

        Args:
            steps: Return the record's value (None for a tombstone) and the context for `on_written`, perhaps after
                several turns.
        """
        queue = self._queues[key] = deque()

        def on_value(record: tuple[bytes | None, ContextT], now_ms: int) -> None:
            value, context = record
            states = self.states_of(key)
            if isinstance(states, ErrorCode):  # another node coordinates the share partition now
                written(context, states, now_ms)
                return
            partition = self.partition_of(key)
            records = EncodedRecords(encode_record(state_key(kind, key), value, 0), 1)
            token = self.await_write(partition, partial(written, context))
            self.effects.append(Append(token, partition, records, self.wall_ms(now_ms), SHARE_STATE_TOPIC))

        def written(context: ContextT, error: ErrorCode, now_ms: int) -> None:
            del self._queues[key]
            try:
                on_written(context, error, now_ms)
            finally:
                self._resume(key, queue, now_ms)

        work_in_turns(self.purgatory, steps, on_value, now_ms)

    def forget(self, key: SharePartitionKey, on_written: OnWritten, now_ms: int) -> None:
        def tombstone() -> Generator[None, None, tuple[None, None]]:
            yield from ()
            return None, None

        def written(context: None, error: ErrorCode, now_ms: int) -> None:
            states = self.states_of(key)
            if error is _NONE and not isinstance(states, ErrorCode):
                states.pop(key, None)
            on_written(error, now_ms)

        self.append(key, SHARE_SNAPSHOT, tombstone(), written, now_ms)

    def active_states(self) -> Iterator[tuple[int, dict[SharePartitionKey, ShareState]]]:
        for partition, shard in list(self.shards.items()):
            if shard.progress is Shard.ACTIVE:
                yield partition, shard.states

    def unload(self, partition: int, now_ms: int) -> None:
        """Drop the states of a partition that another node leads now. Pending writes fail with NOT_COORDINATOR."""
        self.shards.pop(partition, None)
        self.abandon_appends(partition, now_ms)
