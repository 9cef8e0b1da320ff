"""A member of a consumer group: what the log keeps of it, and the timers that watch it."""

from typing import TYPE_CHECKING

from kohort.coordinator.consumer.consumer_states import MemberState
from kohort.coordinator.consumer.values import CurrentAssignment, MemberMetadata
from kohort.coordinator.events.member_stats import MemberStats
from kohort.coordinator.group_placement import java_hash
from kohort.purgatory import DelayedOperation

if TYPE_CHECKING:
    from kohort.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse

FIRST = CurrentAssignment()


class ConsumerMember:
    """One member. `metadata` and `current` are replaced as a whole."""

    __slots__ = (
        "current",
        "java_hash",
        "join_timer",
        "member_id",
        "metadata",
        "revocation",
        "session",
        "stats",
        "sync_timer",
        "unchanged",
    )

    def __init__(self, member_id: str, metadata: MemberMetadata, current: CurrentAssignment = FIRST) -> None:
        self.member_id = member_id
        self.java_hash = java_hash(member_id)
        """Decides who comes first where Kafka walks its hash maps."""
        self.metadata = metadata
        self.current = current
        self.session: DelayedOperation | None = None
        """Ends the membership of one that stays silent."""
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

    @property
    def is_classic(self) -> bool:
        """Whether it speaks the classic protocol."""
        return self.metadata.classic is not None

    def has_reached(self, epoch: int) -> bool:
        """Whether it has all that the target of that epoch gives it, and nothing else."""
        return self.current.state is MemberState.STABLE and self.current.epoch == epoch
