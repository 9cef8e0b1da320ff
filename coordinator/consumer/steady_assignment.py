"""Cached values of a member whose epoch changes while its partitions stay the same.

After each change of a large group that applies to nearly all members: their records differ only in the epochs.
"""

from collections.abc import Set
from uuid import UUID

from kohort.coordinator.consumer.consumer_group_records import EPOCHS, record_around_epochs
from kohort.coordinator.consumer.values import MemberMetadata, Owned
from kohort.coordinator.effects import Cause
from kohort.coordinator.modern.modern_values import Target


class SteadyAssignment:
    """The assignment of a member whose partitions equal its target, with the inputs that it depends on."""

    __slots__ = ("_after_epochs", "_assigned", "_before_epochs", "_metadata", "_subscribed", "_target", "cause")

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
        self._before_epochs, self._after_epochs = record_around_epochs(group_id, member_id, assigned)
        self.cause = Cause("sent_a_heartbeat", member_id, metadata.client_id, metadata.client_host)

    def is_of(self, assigned: Owned, metadata: MemberMetadata, target: Target, subscribed: Set[UUID]) -> bool:
        """Return whether nothing has changed, by identity: values are replaced and never modified (values.py)."""
        return (
            assigned is self._assigned
            and metadata is self._metadata
            and target is self._target
            and subscribed is self._subscribed
        )

    def record(self, epoch: int, previous_epoch: int) -> bytes:
        """Return the encoded record for that epoch as the first one of a batch."""
        return self._before_epochs + EPOCHS.pack(epoch, previous_epoch) + self._after_epochs
