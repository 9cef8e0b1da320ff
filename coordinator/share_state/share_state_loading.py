"""Becoming the coordinator of the share partitions whose state a partition of `__share_group_state` keeps."""

from collections.abc import Iterator
from typing import ClassVar

from kohort.coordinator.context import Shard
from kohort.coordinator.offsets_topic_records import UnreadableRecord
from kohort.coordinator.pace import Pace
from kohort.coordinator.share_state.share_coordinator import ShareCoordinator, StateShard
from kohort.coordinator.share_state.share_partition_key import SharePartitionKey
from kohort.coordinator.share_state.share_state import NO_EPOCH, ShareState
from kohort.coordinator.share_state.share_state_records import SNAPSHOT, read_snapshot, read_state_key, read_update
from kohort.coordinator.share_state.state_batches import UNKNOWN_OFFSET, combining
from kohort.protocol.batches import CONTROL, BatchInfo, keys_and_values


class ShareStateLoading:
    """The replay of one partition. Until it is finished, who asks hears that it is loading."""

    what: ClassVar[str] = "share partitions"

    def __init__(self, coordinator: ShareCoordinator, partition: int) -> None:
        self._coordinator = coordinator
        self._partition = partition
        self._states: dict[SharePartitionKey, ShareState] = {}
        self.records = 0
        """How many have been applied, for whoever reports the load."""
        coordinator.shards[partition] = StateShard(Shard.LOADING, {})

    def apply_batch(self, data: bytes | memoryview, batch: BatchInfo) -> Iterator[None] | None:
        """Take over the records of a batch, or what fits into one slice: then the rest is returned as steps.

        Raises UnreadableRecord, DecodeError, as the steps do.
        """
        if batch.attributes & CONTROL:
            return None
        steps = self._apply_records(data, batch)
        return None if next(steps, steps) is steps else steps

    def _apply_records(self, data: bytes | memoryview, batch: BatchInfo) -> Iterator[None]:
        pace = Pace()
        for key, value in keys_and_values(data, batch):
            if key is None:
                raise UnreadableRecord("a record without a key")
            self.records += 1
            named = read_state_key(key)
            if named is not None:
                yield from self._apply(*named, value, batch.base_offset, pace)

    def _apply(self, kind: int, key: SharePartitionKey, value: bytes | None, offset: int, pace: Pace) -> Iterator[None]:
        """Apply a record of the batch that begins at `offset`. A snapshot replaces everything before it."""
        if value is None:
            self._states.pop(key, None)
        elif kind == SNAPSHOT:
            state = yield from read_snapshot(value, pace)
            state.batches = yield from combining(state.batches, state.start_offset, pace)
            state.snapshot_offset = offset
            self._states[key] = state
        else:
            update = yield from read_update(value, pace)
            state = self._states.setdefault(key, _nothing(offset))
            state.apply(update, (yield from state.merging(update, pace)))

    def prepare(self, now_ms: int) -> bool:
        """Nothing: states are ready as they are read."""
        return False

    def finish(self, now_ms: int) -> int:
        """The states are served from now on. Returns how many there are."""
        self._coordinator.shards[self._partition] = StateShard(Shard.ACTIVE, self._states)
        return len(self._states)

    def fail(self) -> None:
        """The records cannot be read, or somebody else leads: this node does not keep the partition's states."""
        self._coordinator.shards.pop(self._partition, None)


def _nothing(offset: int) -> ShareState:
    """What an update is about that comes without a snapshot."""
    return ShareState(0, NO_EPOCH, NO_EPOCH, UNKNOWN_OFFSET, snapshot_offset=offset)
