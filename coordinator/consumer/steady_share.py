"""What stays the same of a member that takes one epoch of its group after another, as nearly all members do after each
change of a large group: what it has, and its record, but for the epochs.
"""

from collections.abc import Set
from uuid import UUID

from kohort.coordinator.consumer.consumer_group_records import EPOCHS, record_around_epochs
from kohort.coordinator.consumer.values import MemberMetadata, Owned
from kohort.coordinator.effects import Cause
from kohort.coordinator.modern.modern_values import Target


class SteadyShare:
    """What a member has, while that is what its target says, and it subscribes to that."""

    __slots__ = ("_after", "_assigned", "_before", "_metadata", "_subscribed", "_target", "cause")

    def __init__(
        self,
        group_id: str,
        member_id: str,
        assigned: Owned,
        metadata: MemberMetadata,
        target: Target,
        subscribed: Set[UUID],
    ) -> None:
        self._assigned = assigned
        self._metadata = metadata
        self._target = target
        self._subscribed = subscribed
        self._before, self._after = record_around_epochs(group_id, member_id, assigned)
        self.cause = Cause("sent_a_heartbeat", member_id, metadata.client_id, metadata.client_host)

    def is_of(self, assigned: Owned, metadata: MemberMetadata, target: Target, subscribed: Set[UUID]) -> bool:
        """Whether nothing of it has changed: values are replaced, never changed (values.py)."""
        return (
            assigned is self._assigned
            and metadata is self._metadata
            and target is self._target
            and subscribed is self._subscribed
        )

    def record(self, epoch: int, previous_epoch: int) -> bytes:
        """The member's record in that epoch, as the first one of a batch."""
        return self._before + EPOCHS.pack(epoch, previous_epoch) + self._after
