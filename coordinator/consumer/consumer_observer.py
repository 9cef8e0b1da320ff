"""Observer of changes to consumer groups. It does not influence any decision."""

from typing import TYPE_CHECKING

from kohort.coordinator.modern.modern_observer import ModernObserver
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.coordinator.consumer.consumer_group import ConsumerGroup
    from kohort.coordinator.consumer.consumer_member import ConsumerMember


class ConsumerObserver(ModernObserver["ConsumerGroup"]):
    """The observer that ignores everything; `consumer_event_source.py` has one that creates events.

    It is not called for a heartbeat that changes nothing.
    """

    def measured_from_us(self) -> int | None:
        """Return the start of a measurement for `measured_us`, or None if nothing is measured."""
        return None

    def measured_us(self, began_us: int | None) -> int:
        return 0

    def heartbeat_received(self, group: "ConsumerGroup", member: "ConsumerMember", now_ms: int) -> None:
        """Report a heartbeat. Called only for members with `stats`."""

    def committed(self, group: "ConsumerGroup", member_id: str, partitions: int) -> None:
        """Report an accepted commit."""

    def commit_rejected(
        self, group: "ConsumerGroup", member_id: str, epoch: int, error: ErrorCode, ticket: object | None
    ) -> None:
        """Report a rejected commit. Without a `ticket` a producer commits for the member."""

    def offsets_expired(self, group: "ConsumerGroup", partitions: int) -> None:
        """Report that expired offsets were deleted."""


UNOBSERVED = ConsumerObserver()
