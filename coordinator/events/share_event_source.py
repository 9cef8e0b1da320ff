"""Creates events of share groups (offsets-topic §9.6) while there is a listener.

Members share partitions: no member has to revoke one first, and none moves from one member to another.
"""

from collections.abc import Iterator
from typing import Any

from kohort.coordinator.events.event_state import EpochEventState
from kohort.coordinator.events.modern_batch_events import BatchEvent, ModernBatchEvents, named_partitions
from kohort.coordinator.events.modern_event_source import ModernEventObserver
from kohort.coordinator.groups.group import SHARE
from kohort.coordinator.requesting_client import Client
from kohort.coordinator.share.share_group import ShareGroup
from kohort.coordinator.share.share_member import FIRST
from kohort.coordinator.share.share_values import ShareKind, ShareMetadata


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

    def _member_columns(self, name: str, metadata: ShareMetadata) -> dict[str, Any]:
        return {"session_timeout_ms": self._group.config.session_timeout_ms}


class ShareEventObserver(ModernEventObserver[ShareGroup, EpochEventState]):
    """Creates events of the share groups of one coordinator."""

    group_type = SHARE
    batch_events = ShareBatchEvents

    def _first_state(self) -> EpochEventState:
        return EpochEventState((), self._emitter.now_us())

    def _new_state(self, group: ShareGroup) -> EpochEventState:
        return EpochEventState(group.members, self._emitter.now_us(), is_open=not group.is_reconciled)
