"""A member of a consumer group: what the log keeps of it, and the timers that watch it."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kohort.coordinator.consumer.consumer_states import MemberState
from kohort.coordinator.consumer.steady_share import SteadyShare
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
        "steady_share",
        "sync_timer",
        "unchanged",
    )

    def __init__(self, member_id: str, metadata: MemberMetadata, current: CurrentAssignment = FIRST) -> None:
        super().__init__(member_id)
        self.metadata = metadata
        self.current = current
        self.revocation: DelayedOperation | None = None
        """Ends the membership of one that does not give up partitions in time."""
        self.join_timer: DelayedOperation | None = None
        """Ends the membership of a classic member that should rejoin and does not."""
        self.sync_timer: DelayedOperation | None = None
        """Ends the membership of a classic member that joined and does not sync."""
        self.stats: MemberStats | None = None
        """Its heartbeats and commits in sums, while somebody listens."""
        self.unchanged: ConsumerGroupHeartbeatResponse | None = None
        """The last answer that told it nothing new; most answers are the same."""
        self.steady_share: SteadyShare | None = None
        """What stays of it while it takes one epoch after another, once it has taken one."""

    def take_timers(self) -> Iterable[DelayedOperation | None]:
        """All its timers, which it has no more."""
        timers = (*super().take_timers(), self.revocation, self.join_timer, self.sync_timer)
        self.revocation = self.join_timer = self.sync_timer = None
        return timers

    @property
    def is_classic(self) -> bool:
        """Whether it speaks the classic protocol."""
        return self.metadata.classic is not None

    def has_reached(self, epoch: int) -> bool:
        """Whether it has all that the target of that epoch gives it, and nothing else."""
        return self.current.state is MemberState.STABLE and self.current.epoch == epoch
