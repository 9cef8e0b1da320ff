"""A member of a consumer group: its state in the log, and its timers."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final
from uuid import UUID

from kohort.coordinator.consumer.consumer_states import MemberState
from kohort.coordinator.consumer.steady_assignment import SteadyAssignment
from kohort.coordinator.consumer.values import CurrentAssignment, MemberMetadata
from kohort.coordinator.events.member_stats import MemberStats
from kohort.coordinator.modern.modern_group import ModernMember
from kohort.coordinator.modern.modern_values import STATIC_LEAVING_EPOCH
from kohort.purgatory import DelayedOperation

if TYPE_CHECKING:
    from kohort.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse

FIRST: Final = CurrentAssignment()

_STABLE: Final = MemberState.STABLE
_UNREVOKED: Final = MemberState.UNREVOKED_PARTITIONS


class ConsumerMember(ModernMember):
    """One member. `metadata` and `current` are replaced as a whole."""

    __slots__ = (
        "current",
        "join_timer",
        "metadata",
        "number",
        "stats",
        "steady_assignment",
        "sync_timer",
        "unchanged",
    )

    first = FIRST

    def __init__(self, member_id: str, metadata: MemberMetadata, number: int = 0) -> None:
        super().__init__(member_id)
        self.metadata = metadata
        self.number = number  # grows with each member that is added to the group
        self.current = FIRST
        self.join_timer: DelayedOperation | None = None  # removes a classic member that should rejoin and does not
        self.sync_timer: DelayedOperation | None = None  # removes a classic member that joined and does not sync
        # Statistics of its heartbeats and commits, while there is an event source.
        self.stats: MemberStats | None = None
        # Last response without changes; most responses are equal to it.
        self.unchanged: ConsumerGroupHeartbeatResponse | None = None
        # Cached values for a member that only follows the group epoch.
        self.steady_assignment: SteadyAssignment | None = None

    def take_timers(self) -> Iterable[DelayedOperation | None]:
        timers = (*super().take_timers(), self.join_timer, self.sync_timer)
        self.join_timer = self.sync_timer = None
        return timers

    @property
    def is_classic(self) -> bool:
        return self.metadata.classic is not None

    @property
    def must_revoke(self) -> bool:
        return self.current.state is _UNREVOKED and not self.is_classic

    def has_reached(self, epoch: int) -> bool:
        """Return whether the member has exactly the partitions of the target of that epoch."""
        current = self.current
        return current.epoch == epoch and current.state is _STABLE

    def suspended(self) -> CurrentAssignment:
        return self.current._replace(epoch=STATIC_LEAVING_EPOCH, assigned=self._assigned_since_0(), revoking={})

    def transferred(self) -> CurrentAssignment:
        current = self.current
        return CurrentAssignment(state=current.state, assigned=self._assigned_since_0(), revoking=current.revoking)

    def _assigned_since_0(self) -> dict[UUID, dict[int, int]]:
        return {topic_id: dict.fromkeys(partitions, 0) for topic_id, partitions in self.current.assigned.items()}
