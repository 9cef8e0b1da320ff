"""Creates events of streams groups (offsets-topic §9.7) while there is a listener."""

from kohort.coordinator.events.event_state import StepwiseEventState
from kohort.coordinator.events.modern_event_source import ModernEventObserver
from kohort.coordinator.events.owners import Owners
from kohort.coordinator.events.streams_batch_events import StreamsBatchEvents, active_of
from kohort.coordinator.events.task_names import role_tasks
from kohort.coordinator.groups.group import STREAMS
from kohort.coordinator.streams.streams_group import StreamsGroup


class StreamsEventObserver(ModernEventObserver[StreamsGroup, StepwiseEventState]):
    """Creates events of the streams groups of one coordinator."""

    group_type = STREAMS
    batch_events = StreamsBatchEvents

    def _first_state(self) -> StepwiseEventState:
        return StepwiseEventState((), Owners({}), self._emitter.now_us())

    def _new_state(self, group: StreamsGroup) -> StepwiseEventState:
        owners = Owners(
            {
                name: active_of(role_tasks(member.current.assigned) | role_tasks(member.current.revoking))
                for name, member in group.members.items()
            }
        )
        return StepwiseEventState(group.members, owners, self._emitter.now_us(), is_open=not group.is_reconciled)
