"""Creates events of groups, independent of the newer protocol that they use."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Cause
from kohort.coordinator.events.event_state import FENCED, EpochEventState
from kohort.coordinator.events.modern_batch_events import BatchEvent, StateT, modern_event
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.modern_group import ModernGroup
from kohort.coordinator.requesting_client import NOBODY_KNOWN, Client
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.coordinator.events.event_tracer import EventObserver

GroupT = TypeVar("GroupT", bound=ModernGroup)

# Errors for a member that was replaced or that uses an outdated epoch.
FENCING = (ErrorCode.fenced_member_epoch, ErrorCode.fenced_instance_id, ErrorCode.unreleased_instance_id)


class ModernEventObserver(Generic[GroupT, StateT]):
    """Creates events of the groups of one protocol and one coordinator."""

    def __init__(self, emitter: "EventObserver") -> None:
        self._emitter = emitter
        self._effects = emitter.coordinator.effects
        for group in self._groups():
            self._initialize(group)

    def _groups(self) -> list[GroupT]:
        return self._emitter.coordinator.of_type(self.group_type)

    # Parts that depend on the protocol

    group_type: ClassVar[str]
    batch_events: ClassVar[Any]  # subclass of `ModernBatchEvents`

    def _new_state(self, group: GroupT) -> StateT:
        """Return the initial event state of a group in its current state."""
        raise NotImplementedError

    def _first_state(self) -> StateT:
        """Return the event state of a group before its first change."""
        raise NotImplementedError

    # Observed changes, see `Observer`

    def changed(self, changes: GroupChanges, cause: Cause) -> OnWritten:
        group: Any = changes.group
        if changes.creates:
            group.event_state = self._first_state()
        events = self.batch_events(self._emitter, self._of(group), changes, cause).create()
        return lambda error, now_ms: self._report(changes, events) if error is ErrorCode.none else None

    def taken_back(self, group: GroupT) -> None:
        if group.event_state is not None:
            self._initialize(group, group.event_state.rebalances)

    def refused(
        self, group: GroupT, member_id: str, instance_id: str | None, epoch: int, error: ErrorCode, ticket: object
    ) -> None:
        """Report a fenced member, at most once a minute."""
        if error in FENCING and self._of(group).refusals.is_first(member_id, FENCED, NOBODY_KNOWN, epoch):
            self._emit(
                "member_fenced",
                group,
                self._emitter.client_of(ticket),
                member_id=member_id,
                instance_id=instance_id,
                member_epoch=epoch,
                error=error.name.upper(),
            )

    def committed(self, group: GroupT, member_id: str, partitions: int) -> None:
        """Ignore commits. Only events of consumer groups count them."""

    def commit_rejected(
        self, group: GroupT, member_id: str, epoch: int, error: ErrorCode, ticket: object | None
    ) -> None:
        """Ignore rejected commits, like `committed`."""

    def offsets_expired(self, group: GroupT, partitions: int) -> None:
        """Ignore expired offsets, like `committed`."""

    def flush_stats(self) -> None:
        """Report the statistics since the last report; the next fenced member is reported again."""
        for group in self._groups():
            self._flush(group)

    def loaded(self, group: GroupT, load_us: int) -> None:
        self._initialize(group)
        self._emit("group_loaded", group, duration_us=load_us, members=len(group.members))

    def group_gone(self, group: GroupT, cause: str) -> None:
        self._flush(group)
        columns: dict[str, Any] = {"state_from": group.state.value, "state_to": "Dead", "cause": cause}
        if cause == "coordinator_failover":
            self._emit("group_unloaded", group, members=len(group.members), **columns)
        else:
            self._emit("group_deleted", group, log_offset=self._emitter.coordinator.appended_offset, **columns)

    # Internals

    def _report(self, changes: GroupChanges, events: Iterable[BatchEvent]) -> None:
        for event, record in events:
            if record is not None and changes.last_offset is not None:
                event.log_offset = changes.offset_of(record)
            self._effects.append(event)

    def _flush(self, group: GroupT) -> None:
        self._of(group).refusals.flush()

    def _of(self, group: GroupT) -> StateT:
        if group.event_state is None:
            self._initialize(group)
        state: Any = group.event_state
        return state  # type: ignore[no-any-return]

    def _initialize(self, group: GroupT, rebalances: int = 0) -> None:
        state: EpochEventState = self._new_state(group)
        state.rebalances = rebalances
        group.event_state = state

    def _emit(self, kind: str, group: GroupT, client: Client = NOBODY_KNOWN, **values: Any) -> None:
        self._effects.append(modern_event(self._emitter, kind, group, client, self._emitter.now_us(), **values))
