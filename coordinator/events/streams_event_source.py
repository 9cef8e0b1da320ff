"""Turns what happens to streams groups into events (offsets-topic §9.7), while somebody listens."""

from typing import TYPE_CHECKING

from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Cause
from kohort.coordinator.events.event_state import StepwiseEventState
from kohort.coordinator.events.modern_event_source import ModernEventObserver
from kohort.coordinator.events.owners import Owners
from kohort.coordinator.events.streams_batch_events import STICKY, StreamsBatchEvents, active_of, is_reconciled
from kohort.coordinator.events.task_names import role_tasks
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.coordinator.events.event_emitter import EventEmitter


class StreamsEventObserver(ModernEventObserver[StreamsGroup, StepwiseEventState]):
    """Turns what happens to the streams groups of one coordinator into events."""

    assignor_of = staticmethod(lambda group: STICKY)

    def __init__(self, emitter: "EventEmitter") -> None:
        super().__init__(emitter, emitter.coordinator.streams_groups)

    def changed(self, changes: GroupChanges, cause: Cause) -> OnWritten:
        """Its events are made now, and reported when it is written."""
        group = changes.group
        assert isinstance(group, StreamsGroup), "whose observer this is"
        if changes.creates:
            group.event_state = StepwiseEventState((), Owners({}), self._emitter.now_us())
        made = StreamsBatchEvents(self._emitter, self._of(group), changes, cause).make()
        return lambda error, now_ms: self._tell(changes, made) if error is ErrorCode.none else None

    def _met(self, group: StreamsGroup) -> StepwiseEventState:
        owners = Owners(
            {
                name: active_of(role_tasks(each.current.assigned) | role_tasks(each.current.revoking))
                for name, each in group.members.items()
            }
        )
        is_open = not is_reconciled(group)
        return StepwiseEventState(group.members, owners, self._emitter.now_us(), is_open=is_open)
