"""State of one share partition, as the share coordinator keeps it, and updates of it."""

from collections.abc import Generator
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from kohort.coordinator.pace import Pace
from kohort.coordinator.share_state.state_batches import UNKNOWN_OFFSET, Merge, StateBatches, merging

NO_EPOCH: Final = -1  # in a write: keep the current epoch and do not compare it

UNKNOWN_COUNT: Final = -1


class StateUpdate(NamedTuple):
    """Value of a ShareUpdate record, which applies to the last snapshot."""

    snapshot_epoch: int
    leader_epoch: int
    start_offset: int  # UNKNOWN_OFFSET: unchanged
    delivery_complete_count: int
    batches: StateBatches


@dataclass(slots=True)
class ShareState:
    """Value of a ShareSnapshot record. Times are wall-clock time in milliseconds."""

    snapshot_epoch: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int = UNKNOWN_COUNT  # acknowledged or archived offsets from the start on
    batches: StateBatches = field(default_factory=StateBatches)  # disjoint and sorted by offset
    created_ms: int = 0
    written_ms: int = 0  # when the last snapshot was written
    updates: int = 0  # since the last snapshot
    snapshot_offset: int = 0  # offset of the last snapshot or a little lower; earlier records are redundant

    def merging(self, update: StateUpdate, pace: Pace) -> Generator[None, None, Merge]:
        """Compute how an update changes the batches. The batches must not change until the result is applied.

        Yield so that other requests are served.
        """
        start_offset = self.start_offset if update.start_offset == UNKNOWN_OFFSET else update.start_offset
        return (yield from merging(self.batches, update.batches, start_offset, pace))

    def apply(self, update: StateUpdate, merge: Merge) -> None:
        """Apply an update that was written. Source: Kafka's `ShareCoordinatorShard.merge`."""
        if update.start_offset != UNKNOWN_OFFSET:
            self.start_offset = update.start_offset
        if update.leader_epoch != NO_EPOCH:
            self.leader_epoch = update.leader_epoch
        self.delivery_complete_count = update.delivery_complete_count
        merge.apply(self.batches)
        self.updates += 1

    def snapshot(self, wall_ms: int) -> "ShareState":
        epoch, batches = self.snapshot_epoch + 1, self.batches[:]
        return replace(self, snapshot_epoch=epoch, batches=batches, created_ms=wall_ms, written_ms=wall_ms, updates=0)
