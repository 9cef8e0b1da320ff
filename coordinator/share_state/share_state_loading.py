"""Loading of the states in a partition of `__share_group_state`."""

from collections.abc import Iterator
from typing import ClassVar

from kohort.coordinator.context import Shard
from kohort.coordinator.pace import Pace
from kohort.coordinator.share_state.share_coordinator import ShareCoordinator, StateShard
from kohort.coordinator.share_state.share_partition_key import SharePartitionKey
from kohort.coordinator.share_state.share_state import NO_EPOCH, ShareState
from kohort.coordinator.share_state.share_state_records import read_snapshot, read_state_key, read_update
from kohort.coordinator.share_state.state_batches import UNKNOWN_OFFSET, combining
from kohort.protocol.batches import CONTROL, BatchInfo, keys_and_values
from kohort.protocol.records.layouts import SHARE_SNAPSHOT
from kohort.protocol.records.schema import RecordError


class ShareStateLoading:
    """Replay of one partition. Until it finishes, requests fail with COORDINATOR_LOAD_IN_PROGRESS."""

    loads: ClassVar[str] = "share partitions"

    def __init__(self, coordinator: ShareCoordinator, partition: int) -> None:
        self._coordinator = coordinator
        self._partition = partition
        self._states: dict[SharePartitionKey, ShareState] = {}
        self.records = 0  # applied so far
        coordinator.shards[partition] = StateShard(Shard.LOADING, {})

    def apply_batch(self, data: bytes | memoryview, batch: BatchInfo) -> Iterator[None] | None:
        """Apply the records of a batch, or those that fit into one slice, and return steps for the remaining ones.

        Raises:
            RecordError: The key or value of a record is invalid. The steps raise it, too.
            DecodeError: The batch is invalid. The steps raise it, too.
        """
        if batch.attributes & CONTROL:
            return None
        steps = self._apply_records(data, batch)
        return None if next(steps, steps) is steps else steps

    def _apply_records(self, data: bytes | memoryview, batch: BatchInfo) -> Iterator[None]:
        pace = Pace()
        for key, value in keys_and_values(data, batch):
            if key is None:
                raise RecordError("record without key")
            self.records += 1
            kind_and_key = read_state_key(key)
            if kind_and_key is not None:
                yield from self._apply(*kind_and_key, value, batch.base_offset, pace)

    def _apply(self, kind: int, key: SharePartitionKey, value: bytes | None, offset: int, pace: Pace) -> Iterator[None]:
        """Apply a record of a batch with base offset `offset`. A snapshot replaces everything before it."""
        if value is None:
            self._states.pop(key, None)
        elif kind == SHARE_SNAPSHOT:
            state = yield from read_snapshot(value, pace)
            state.batches = yield from combining(state.batches, state.start_offset, pace)
            state.snapshot_offset = offset
            self._states[key] = state
        else:
            update = yield from read_update(value, pace)
            state = self._states.setdefault(key, _state_without_snapshot(offset))
            state.apply(update, (yield from state.merging(update, pace)))

    def prepare(self, now_ms: int) -> bool:
        """Return False: no preparation is necessary."""
        return False

    def finish(self, now_ms: int) -> int:
        """Start to serve the states. Return their number."""
        self._coordinator.shards[self._partition] = StateShard(Shard.ACTIVE, self._states)
        return len(self._states)

    def fail(self) -> None:
        self._coordinator.shards.pop(self._partition, None)


def _state_without_snapshot(offset: int) -> ShareState:
    return ShareState(0, NO_EPOCH, NO_EPOCH, UNKNOWN_OFFSET, snapshot_offset=offset)
