"""The share coordinator of one node: the states of share partitions, and what it asks of the shell.

What changes is written to `__share_group_state` first, and counts once it is written. One write of a share partition is
under way at a time; who asks meanwhile waits for it. Source: Kafka's `ShareCoordinatorShard`.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterator
from functools import partial
from typing import Final, NamedTuple, TypeVar
from uuid import UUID

from kohort.coordinator.context import CoordinatorContext, OnWritten, Shard
from kohort.coordinator.effects import SHARE_STATE_TOPIC, Append, Effect
from kohort.coordinator.group_placement import partition_for
from kohort.coordinator.share_state.share_partition_key import SharePartitionKey
from kohort.coordinator.share_state.share_state import ShareState
from kohort.coordinator.share_state.share_state_records import SNAPSHOT, state_key
from kohort.protocol.batches import EncodedRecords, encode_record
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import Purgatory, work_in_turns

_NONE: Final = ErrorCode.none

UPDATES_PER_SNAPSHOT: Final = 500

MadeT = TypeVar("MadeT")

HasPartition = Callable[[UUID, int], bool]
"""Whether there is such a topic with such a partition."""

Operation = Callable[[int], None]
"""What is done for one share partition; it gets the time."""


class StateShard(NamedTuple):
    """A partition of `__share_group_state` that this node leads, and the states that are kept there."""

    progress: Shard
    states: dict[SharePartitionKey, ShareState]


class ShareCoordinator(CoordinatorContext):
    """All share partitions whose state one node keeps."""

    def __init__(
        self,
        purgatory: Purgatory,
        has_partition: HasPartition,
        *,
        updates_per_snapshot: int = UPDATES_PER_SNAPSHOT,
        partitions: int = 50,
        epoch_ms: int = 0,
        effects: list[Effect] | None = None,
    ) -> None:
        """`updates_per_snapshot`: after this many the next write is a snapshot; for others see `CoordinatorContext`."""
        super().__init__(purgatory, partitions=partitions, epoch_ms=epoch_ms, effects=effects)
        self.has_partition = has_partition
        self.updates_per_snapshot = updates_per_snapshot
        self.shards: dict[int, StateShard] = {}
        self._waiting: dict[SharePartitionKey, deque[Operation]] = {}
        """What is to be done next for share partitions that are being written."""

    def partition_of(self, key: SharePartitionKey) -> int:
        """The partition of `__share_group_state` that a share partition's state lives in."""
        return partition_for(key.text, self.partitions)

    def states_of(self, key: SharePartitionKey) -> dict[SharePartitionKey, ShareState] | ErrorCode:
        """The states among which that of `key` is kept; NOT_COORDINATOR or COORDINATOR_LOAD_IN_PROGRESS: ask again."""
        shard = self.shards.get(self.partition_of(key))
        if shard is None:
            return ErrorCode.not_coordinator
        if shard.progress is Shard.LOADING:
            return ErrorCode.coordinator_load_in_progress
        return shard.states

    def writes_to(self, partition: int) -> bool:
        """Whether a write to that partition of the topic is under way."""
        return any(where == partition for where, _ in self._awaited.values())

    def in_turn(self, key: SharePartitionKey, operation: Operation, now_ms: int) -> None:
        """Does something for a share partition when no write of it is under way."""
        waiting = self._waiting.get(key)
        if waiting is None:
            operation(now_ms)
        else:
            waiting.append(operation)

    def _go_on(self, key: SharePartitionKey, waiting: deque[Operation], now_ms: int) -> None:
        """Does what has waited for a write; behind the next one that writes, the others wait again."""
        try:
            while waiting:
                self.in_turn(key, waiting.popleft(), now_ms)
        finally:
            if waiting:  # one has failed, which is nothing to the others
                self._go_on(key, waiting, now_ms)

    def append(
        self,
        key: SharePartitionKey,
        kind: int,
        steps: Generator[None, None, tuple[bytes | None, MadeT]],
        on_written: Callable[[MadeT, ErrorCode, int], None],
        now_ms: int,
    ) -> None:
        """Write a record of a share partition whose turn it is. Other operations on it wait until that is done.

        Args:
            steps: Return the record's value, None for a tombstone, and what `on_written` gets with the outcome. They
                may take several turns.
        """
        waiting = self._waiting[key] = deque()

        def on_value(record: tuple[bytes | None, MadeT], now_ms: int) -> None:
            value, context = record
            states = self.states_of(key)
            if isinstance(states, ErrorCode):  # another node coordinates the share partition by now
                written(context, states, now_ms)
                return
            partition = self.partition_of(key)
            records = EncodedRecords(encode_record(state_key(kind, key), value, 0), 1)
            token = self.await_write(partition, partial(written, context))
            self.effects.append(Append(token, partition, records, self.wall_ms(now_ms), SHARE_STATE_TOPIC))

        def written(context: MadeT, error: ErrorCode, now_ms: int) -> None:
            del self._waiting[key]
            try:
                on_written(context, error, now_ms)
            finally:
                self._go_on(key, waiting, now_ms)

        work_in_turns(self.purgatory, steps, on_value, now_ms)

    def forget(self, key: SharePartitionKey, on_written: OnWritten, now_ms: int) -> None:
        """Write a tombstone for a share partition whose turn it is."""

        def tombstone() -> Generator[None, None, tuple[None, None]]:
            yield from ()
            return None, None

        def written(context: None, error: ErrorCode, now_ms: int) -> None:
            states = self.states_of(key)
            if error is _NONE and not isinstance(states, ErrorCode):
                states.pop(key, None)
            on_written(error, now_ms)

        self.append(key, SNAPSHOT, tombstone(), written, now_ms)

    def active_states(self) -> Iterator[tuple[int, dict[SharePartitionKey, ShareState]]]:
        """The states that are served, by partition."""
        for partition, shard in list(self.shards.items()):
            if shard.progress is Shard.ACTIVE:
                yield partition, shard.states

    def unload(self, partition: int, now_ms: int) -> None:
        """Forgets a partition's states, which another node keeps now. Who waits for a write hears NOT_COORDINATOR."""
        self.shards.pop(partition, None)
        self.abandon_appends(partition, now_ms)
