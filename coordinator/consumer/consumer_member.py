"""A member of a consumer group: its state in the log, and its timers."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kohort.coordinator.consumer.consumer_states import MemberState
from kohort.coordinator.consumer.steady_assignment import SteadyAssignment
from kohort.coordinator.consumer.values import CurrentAssignment, MemberMetadata
from kohort.coordinator.events.member_stats import MemberStats
from kohort.coordinator.modern.modern_member import ModernMember
from kohort.purgatory import DelayedOperation

if TYPE_CHECKING:
    from kohort.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse

FIRST = CurrentAssignment()


class ConsumerMember(ModernMember):
    """One member. `metadata` and `current` are replaced as a whole."""

    __slots__ = (
        "current",
        "join_timer",
        "metadata",
        "revocation",
        "stats",
        "steady_assignment",
        "sync_timer",
        "unchanged",
    )

    def __init__(self, member_id: str, metadata: MemberMetadata, current: CurrentAssignment = FIRST) -> None:
        super().__init__(member_id)
        self.metadata = metadata
        self.current = current
        self.revocation: DelayedOperation | None = None  # removes a member that does not revoke partitions in time
        self.join_timer: DelayedOperation | None = None  # removes a classic member that should rejoin and does not
        self.sync_timer: DelayedOperation | None = None  # removes a classic member that joined and does not sync
        # Statistics of its heartbeats and commits, while there is an event source.
        self.stats: MemberStats | None = None
        # Last response without changes; most responses are equal to it.
        self.unchanged: ConsumerGroupHeartbeatResponse | None = None
        # Cached values for a member that only follows the group epoch.
        self.steady_assignment: SteadyAssignment | None = None

    def take_timers(self) -> Iterable[DelayedOperation | None]:
        timers = (*super().take_timers(), self.revocation, self.join_timer, self.sync_timer)
        self.revocation = self.join_timer = self.sync_timer = None
        return timers

    @property
    def is_classic(self) -> bool:
        return self.metadata.classic is not None

    def has_reached(self, epoch: int) -> bool:
        """Return whether the member has exactly the partitions of the target of that epoch."""
        return self.current.state is MemberState.STABLE and self.current.epoch == epoch
