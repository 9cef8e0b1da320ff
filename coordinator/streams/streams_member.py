"""A member of a streams group: what the log keeps of it, and the timers that watch it."""

from collections.abc import Iterable

from kohort.coordinator.modern.modern_member import ModernMember
from kohort.coordinator.streams.streams_group_values import StreamsAssignment, StreamsMetadata
from kohort.coordinator.streams.streams_states import StreamsMemberState
from kohort.protocol.messages.streams_group_heartbeat import EndpointToPartitions
from kohort.purgatory import DelayedOperation

FIRST = StreamsAssignment()


class StreamsMember(ModernMember):
    """One member. `metadata` and `current` are replaced as a whole."""

    __slots__ = ("current", "listed", "metadata", "revocation")

    def __init__(self, member_id: str, metadata: StreamsMetadata) -> None:
        super().__init__(member_id)
        self.metadata = metadata
        self.current = FIRST
        self.listed: EndpointToPartitions | None = None
        """How it was listed last among the endpoints, and is until something of it is written, as in Kafka."""
        self.revocation: DelayedOperation | None = None
        """Ends the membership of one that does not give up tasks in time."""

    def take_timers(self) -> Iterable[DelayedOperation | None]:
        """All its timers, which it has no more."""
        timers = (*super().take_timers(), self.revocation)
        self.revocation = None
        return timers

    def has_reached(self, epoch: int) -> bool:
        """Whether it has all that the target of that epoch gives it, and nothing else."""
        return self.current.state is StreamsMemberState.STABLE and self.current.epoch == epoch
