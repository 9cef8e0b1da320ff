"""Creates events of share groups (offsets-topic §9.6) while there is a listener.

Members share partitions: no member has to revoke one first, and none moves from one member to another.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Cause
from kohort.coordinator.events.event_state import EpochEventState
from kohort.coordinator.events.modern_batch_events import BatchEvent, ModernBatchEvents, named_partitions
from kohort.coordinator.events.modern_event_source import ModernEventObserver
from kohort.coordinator.groups.group import SHARE
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.requesting_client import Client
from kohort.coordinator.share.share_group import ShareGroup
from kohort.coordinator.share.share_member import FIRST
from kohort.coordinator.share.share_values import ShareKind, ShareMetadata
from kohort.coordinator.share.simple_assignor import SIMPLE
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.coordinator.events.event_emitter import EventEmitter


class ShareEventObserver(ModernEventObserver[ShareGroup, EpochEventState]):
    """Creates events of the share groups of one coordinator."""

    assignor_of = staticmethod(lambda group: SIMPLE)

    def __init__(self, emitter: "EventEmitter") -> None:
        super().__init__(emitter, SHARE)

    def changed(self, changes: GroupChanges, cause: Cause) -> OnWritten:
        group = changes.group
        assert isinstance(group, ShareGroup), "only observes share groups"
        if changes.creates:
            group.event_state = EpochEventState((), self._emitter.now_us())
        events = ShareBatchEvents(self._emitter, self._of(group), changes, cause).create()
        return lambda error, now_ms: self._report(changes, events) if error is ErrorCode.none else None

    def _new_state(self, group: ShareGroup) -> EpochEventState:
        return EpochEventState(group.members, self._emitter.now_us(), is_open=not is_reconciled(group))


class ShareBatchEvents(ModernBatchEvents[EpochEventState]):
    """Creates the events of one batch, in order, after its changes were applied."""

    kinds = ShareKind
    first = FIRST

    def _members(self) -> Iterator[BatchEvent]:
        for name, old_metadata in self._old_metadata.items():
            if old_metadata is None and name in self._metadata:
                yield self._of_member("member_added", name, ShareKind.MEMBER, cause="join_new")
            elif old_metadata is not None and name not in self._metadata:
                yield self._new_event(
                    "member_removed",
                    self._records[ShareKind.MEMBER, name],
                    client=Client(old_metadata.client_id, old_metadata.client_host),
                    member_id=name,
                    cause=self._cause.name,
                    members=len(self._metadata),
                )

    def _steps(self) -> Iterator[BatchEvent]:
        topics = self._group.coordinator.topics
        for name, old_assignment in self._old_assignments.items():
            member = self._group.members.get(name)
            if member is not None and member.current.assigned != old_assignment.assigned:
                count = len(named_partitions(topics, member.current.assigned))
                yield self._since_bump("member_assigned", name, partitions=count)

    def _is_reconciled(self) -> bool:
        return is_reconciled(self._group)

    def _assignor(self) -> str:
        return SIMPLE

    def _software_of(self, name: str) -> str | None:
        """Return the client software, which is only known in a request of the member for itself."""
        ticket = self._changes.ticket if name == self._cause.member_id else None
        return None if ticket is None else self._emitter.client_of(ticket).client_software

    def _member_columns(self, name: str, metadata: ShareMetadata) -> dict[str, Any]:
        group = self._group
        return {"session_timeout_ms": group.coordinator.share_config(group.group_id).session_timeout_ms}


def is_reconciled(group: ShareGroup) -> bool:
    """Return whether every member has received its target of the group epoch."""
    epoch, members = group.epoch, group.members.values()
    return not members or (group.target_epoch == epoch and all(member.current.epoch == epoch for member in members))
