"""What happens to consumer groups, as an observer hears of it. No group decides anything by it."""

from typing import TYPE_CHECKING

from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Cause
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.coordinator.consumer.consumer_group import ConsumerGroup
    from kohort.coordinator.consumer.consumer_member import ConsumerMember
    from kohort.coordinator.modern.group_changes import GroupChanges


class ConsumerObserver:
    """Does nothing: so it is while nobody listens to a coordinator. `consumer_event_source.py` makes events of it.

    A heartbeat that changes nothing asks it nothing.
    """

    def changed(self, changes: "GroupChanges", cause: Cause) -> OnWritten | None:
        """A batch of changes is about to be written. What is returned is called when it is, or cannot be."""
        return None

    def taken_back(self, group: "ConsumerGroup") -> None:
        """What could not be written was taken back, and all that built on it."""

    def measured_from_us(self) -> int | None:
        """When an assignor begins, for `measured_us`; None: nobody measures it."""
        return None

    def measured_us(self, began_us: int | None) -> int:
        """Microseconds since then."""
        return 0

    def heard(self, group: "ConsumerGroup", member: "ConsumerMember", now_ms: int) -> None:
        """A member has sent a heartbeat. Asked only for members that have `stats`."""

    def refused(
        self,
        group: "ConsumerGroup",
        member_id: str,
        instance_id: str | None,
        epoch: int,
        error: ErrorCode,
        ticket: object,
    ) -> None:
        """A heartbeat of that epoch was refused."""

    def committed(self, group: "ConsumerGroup", member_id: str, partitions: int) -> None:
        """A commit was accepted."""

    def commit_rejected(
        self, group: "ConsumerGroup", member_id: str, epoch: int, error: ErrorCode, ticket: object | None
    ) -> None:
        """A commit was refused. `ticket`: None if it is a producer that commits for the member."""

    def group_gone(self, group: "ConsumerGroup", cause: str) -> None:
        """It was deleted, or its coordinator has moved."""

    def offsets_expired(self, group: "ConsumerGroup", partitions: int) -> None:
        """Offsets that are too old have been deleted."""


UNOBSERVED = ConsumerObserver()
