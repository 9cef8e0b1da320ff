"""Turns what happens to share groups into events (offsets-topic §9.6), while somebody listens.

Members share partitions: nobody has to give up anything first, and nothing moves from one to another.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Cause
from kohort.coordinator.events.event_state import EpochEventState
from kohort.coordinator.events.modern_batch_events import Made, ModernBatchEvents, share
from kohort.coordinator.events.modern_event_source import ModernEventObserver
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
    """Turns what happens to the share groups of one coordinator into events."""

    assignor_of = staticmethod(lambda group: SIMPLE)

    def __init__(self, emitter: "EventEmitter") -> None:
        super().__init__(emitter, emitter.coordinator.share_groups)

    def changed(self, changes: GroupChanges, cause: Cause) -> OnWritten:
        """Its events are made now, and reported when it is written."""
        group = changes.group
        assert isinstance(group, ShareGroup), "whose observer this is"
        if changes.creates:
            group.event_state = EpochEventState((), self._emitter.now_us())
        made = ShareBatchEvents(self._emitter, self._of(group), changes, cause).make()
        return lambda error, now_ms: self._tell(changes, made) if error is ErrorCode.none else None

    def _met(self, group: ShareGroup) -> EpochEventState:
        return EpochEventState(group.members, self._emitter.now_us(), is_open=not is_reconciled(group))


class ShareBatchEvents(ModernBatchEvents[EpochEventState]):
    """Makes the events of one batch, in their order, when the changes count already."""

    kinds = ShareKind
    first = FIRST

    def _members(self) -> Iterator[Made]:
        for name, before in self._before.items():
            if before is None and name in self._found:
                yield self._of_member("member_added", name, ShareKind.MEMBER, cause="join_new")
            elif before is not None and name not in self._found:
                yield self._made(
                    "member_removed",
                    self._records[ShareKind.MEMBER, name],
                    client=Client(before.client_id, before.client_host),
                    member_id=name,
                    cause=self._cause.name,
                    members=len(self._found),
                )

    def _steps(self) -> Iterator[Made]:
        topics = self._group.coordinator.topics
        for name, had in self._had.items():
            member = self._group.members.get(name)
            if member is not None and member.current.assigned != had.assigned:
                given = len(share(topics, member.current.assigned))
                yield self._since_bump("member_assigned", name, partitions=given)

    def _is_reconciled(self) -> bool:
        return is_reconciled(self._group)

    def _assignor(self) -> str:
        return SIMPLE

    def _software_of(self, name: str) -> str | None:
        """Known from the request of a member for itself."""
        ticket = self._changes.ticket if name == self._cause.member_id else None
        return None if ticket is None else self._emitter.client_of(ticket).client_software

    def _about(self, name: str, metadata: ShareMetadata) -> dict[str, Any]:
        group = self._group
        return {"session_timeout_ms": group.coordinator.share_config(group.group_id).session_timeout_ms}


def is_reconciled(group: ShareGroup) -> bool:
    """Whether every member has been told what the target for the group's epoch gives it."""
    epoch, members = group.epoch, group.members.values()
    return not members or (group.target_epoch == epoch and all(member.current.epoch == epoch for member in members))
