"""The state of one share partition, as the share coordinator keeps it, and what may be written of it."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from kohort.coordinator.pace import Pace
from kohort.coordinator.share_state.state_batches import UNKNOWN_OFFSET, Merge, StateBatch, merging

NO_EPOCH: Final = -1
"""As an epoch that is written: the one that is known counts, and nothing is compared."""

UNKNOWN_COUNT: Final = -1


class StateUpdate(NamedTuple):
    """What a record of the type ShareUpdate says; it counts on top of the last snapshot."""

    snapshot_epoch: int
    leader_epoch: int
    start_offset: int
    """UNKNOWN_OFFSET: it stays."""
    delivery_complete_count: int
    batches: Sequence[StateBatch]


@dataclass(slots=True)
class ShareState:
    """Everything that a record of the type ShareSnapshot says. Wall clock in milliseconds."""

    snapshot_epoch: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int = UNKNOWN_COUNT
    """Offsets from the start on that are acknowledged or archived."""
    batches: list[StateBatch] = field(default_factory=list)
    """Disjoint, in the order of their offsets."""
    created_ms: int = 0
    written_ms: int = 0
    """When its last snapshot was written."""
    updates: int = 0
    """How many were written since the last snapshot."""
    snapshot_offset: int = 0
    """Where that one stands in the log, or a little before; what is older says nothing more."""

    def merging(self, update: StateUpdate, pace: Pace) -> Generator[None, None, Merge]:
        """Compute what an update makes of the batches. Nothing may be applied until that is; yields for others."""
        start_offset = self.start_offset if update.start_offset == UNKNOWN_OFFSET else update.start_offset
        return (yield from merging(self.batches, update.batches, start_offset, pace))

    def apply(self, update: StateUpdate, merge: Merge) -> None:
        """Take over what was written. Source: Kafka's `ShareCoordinatorShard.merge`."""
        if update.start_offset != UNKNOWN_OFFSET:
            self.start_offset = update.start_offset
        if update.leader_epoch != NO_EPOCH:
            self.leader_epoch = update.leader_epoch
        self.delivery_complete_count = update.delivery_complete_count
        merge.apply(self.batches)
        self.updates += 1

    def snapshot(self, wall_ms: int) -> "ShareState":
        """A copy, as the next snapshot has it."""
        epoch, batches = self.snapshot_epoch + 1, list(self.batches)
        return replace(self, snapshot_epoch=epoch, batches=batches, created_ms=wall_ms, written_ms=wall_ms, updates=0)
