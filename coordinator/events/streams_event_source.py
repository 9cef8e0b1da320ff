"""Creates events of streams groups (offsets-topic §9.7) while there is a listener."""

from typing import TYPE_CHECKING

from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Cause
from kohort.coordinator.events.event_state import StepwiseEventState
from kohort.coordinator.events.modern_event_source import ModernEventObserver
from kohort.coordinator.events.owners import Owners
from kohort.coordinator.events.streams_batch_events import STICKY, StreamsBatchEvents, active_of, is_reconciled
from kohort.coordinator.events.task_names import role_tasks
from kohort.coordinator.groups.group import STREAMS
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.coordinator.events.event_emitter import EventEmitter


class StreamsEventObserver(ModernEventObserver[StreamsGroup, StepwiseEventState]):
    """Creates events of the streams groups of one coordinator."""

    assignor_of = staticmethod(lambda group: STICKY)

    def __init__(self, emitter: "EventEmitter") -> None:
        super().__init__(emitter, STREAMS)

    def changed(self, changes: GroupChanges, cause: Cause) -> OnWritten:
        group = changes.group
        assert isinstance(group, StreamsGroup), "only observes streams groups"
        if changes.creates:
            group.event_state = StepwiseEventState((), Owners({}), self._emitter.now_us())
        events = StreamsBatchEvents(self._emitter, self._of(group), changes, cause).create()
        return lambda error, now_ms: self._report(changes, events) if error is ErrorCode.none else None

    def _new_state(self, group: StreamsGroup) -> StepwiseEventState:
        owners = Owners(
            {
                name: active_of(role_tasks(member.current.assigned) | role_tasks(member.current.revoking))
                for name, member in group.members.items()
            }
        )
        is_open = not is_reconciled(group)
        return StepwiseEventState(group.members, owners, self._emitter.now_us(), is_open=is_open)
