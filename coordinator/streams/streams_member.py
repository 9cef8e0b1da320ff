"""Member of a streams group: its values in the log, and its timers."""

from collections.abc import Iterable

from kohort.coordinator.modern.modern_member import ModernMember
from kohort.coordinator.streams.streams_group_values import StreamsAssignment, StreamsMetadata
from kohort.coordinator.streams.streams_states import StreamsMemberState
from kohort.protocol.messages.streams_group_heartbeat import EndpointToPartitions, TaskOffset
from kohort.purgatory import DelayedOperation

FIRST = StreamsAssignment()


class StreamsMember(ModernMember):
    """Member of a streams group. `metadata` and `current` are immutable values."""

    __slots__ = ("current", "listed", "metadata", "revocation", "task_end_offsets", "task_offsets")

    def __init__(self, member_id: str, metadata: StreamsMetadata) -> None:
        super().__init__(member_id)
        self.metadata = metadata
        self.current = FIRST
        # entry in the list of endpoints, until a record of the member is written, as in Kafka
        self.listed: EndpointToPartitions | None = None
        # offsets that the member has sent last, in memory only
        self.task_offsets: tuple[TaskOffset, ...] = ()
        self.task_end_offsets: tuple[TaskOffset, ...] = ()
        self.revocation: DelayedOperation | None = None  # fences the member if it does not revoke tasks in time

    def take_timers(self) -> Iterable[DelayedOperation | None]:
        timers = (*super().take_timers(), self.revocation)
        self.revocation = None
        return timers

    def has_reached(self, epoch: int) -> bool:
        """Return whether the member owns exactly its target of this epoch."""
        return self.current.state is StreamsMemberState.STABLE and self.current.epoch == epoch
