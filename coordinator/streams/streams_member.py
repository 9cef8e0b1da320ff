"""Member of a streams group: its values in the log, and its timers."""

from kohort.coordinator.modern.modern_group import ModernMember
from kohort.coordinator.modern.modern_values import STATIC_LEAVING_EPOCH
from kohort.coordinator.streams.streams_config import StreamsConfig
from kohort.coordinator.streams.streams_group_values import (
    NO_OWNED_TASKS,
    OwnedTasks,
    StreamsAssignment,
    StreamsMetadata,
)
from kohort.coordinator.streams.streams_states import StreamsMemberState
from kohort.protocol.messages.streams_group_heartbeat import (
    EndpointToPartitions,
    StreamsGroupHeartbeatResponse,
    TaskOffset,
)

FIRST = StreamsAssignment()


class StreamsMember(ModernMember):
    """Member of a streams group. `metadata` and `current` are immutable values."""

    __slots__ = ("current", "listed", "metadata", "task_end_offsets", "task_offsets", "unchanged")

    first = FIRST

    def __init__(self, member_id: str, metadata: StreamsMetadata) -> None:
        super().__init__(member_id)
        self.metadata = metadata
        self.current = FIRST
        # entry in the list of endpoints, until a record of the member is written, as in Kafka
        self.listed: EndpointToPartitions | None = None
        # offsets that the member has sent last, in memory only
        self.task_offsets: tuple[TaskOffset, ...] = ()
        self.task_end_offsets: tuple[TaskOffset, ...] = ()
        # last response without changes, and the settings that it contains
        self.unchanged: tuple[StreamsConfig | None, StreamsGroupHeartbeatResponse | None] = None, None

    @property
    def must_revoke(self) -> bool:
        return self.current.state is StreamsMemberState.UNREVOKED_TASKS

    def has_reached(self, epoch: int) -> bool:
        return self.current.state is StreamsMemberState.STABLE and self.current.epoch == epoch

    def suspended(self) -> StreamsAssignment:
        assigned = self.current.assigned
        active = {subtopology_id: dict.fromkeys(tasks, 0) for subtopology_id, tasks in assigned.active.items()}
        kept = OwnedTasks(active, assigned.standby, assigned.warmup)
        return self.current._replace(epoch=STATIC_LEAVING_EPOCH, assigned=kept, revoking=NO_OWNED_TASKS)

    def transferred(self) -> StreamsAssignment:
        return StreamsAssignment(state=self.current.state, assigned=self.current.assigned)
