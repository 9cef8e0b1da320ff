"""What happens to consumer groups, as an observer hears of it. No group decides anything by it."""

from typing import TYPE_CHECKING

from kohort.coordinator.modern.modern_observer import ModernObserver
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.coordinator.consumer.consumer_group import ConsumerGroup
    from kohort.coordinator.consumer.consumer_member import ConsumerMember


class ConsumerObserver(ModernObserver["ConsumerGroup"]):
    """Does nothing: so it is while nobody listens to a coordinator. `consumer_event_source.py` makes events of it.

    A heartbeat that changes nothing asks it nothing.
    """

    def measured_from_us(self) -> int | None:
        """When an assignor begins, for `measured_us`; None: nobody measures it."""
        return None

    def measured_us(self, began_us: int | None) -> int:
        """Microseconds since then."""
        return 0

    def heard(self, group: "ConsumerGroup", member: "ConsumerMember", now_ms: int) -> None:
        """A member has sent a heartbeat. Asked only for members that have `stats`."""

    def committed(self, group: "ConsumerGroup", member_id: str, partitions: int) -> None:
        """A commit was accepted."""

    def commit_rejected(
        self, group: "ConsumerGroup", member_id: str, epoch: int, error: ErrorCode, ticket: object | None
    ) -> None:
        """A commit was refused. `ticket`: None if it is a producer that commits for the member."""

    def offsets_expired(self, group: "ConsumerGroup", partitions: int) -> None:
        """Offsets that are too old have been deleted."""


UNOBSERVED = ConsumerObserver()
