"""Removal of members that joined a generation and do not sync in time (classic-groups §5.4; KAFKA-12890)."""

# This module and `rebalancing` import each other: a completed join phase starts this timer, which starts a rebalance.
from kohort.coordinator.classic import rebalancing
from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.effects import Cause
from kohort.purgatory import DelayedOperation


class PendingSync(DelayedOperation):
    """Timer that removes members that have not synced within the rebalance timeout after the join phase."""

    __slots__ = ("group",)

    def __init__(self, deadline_ms: int, group: ClassicGroup) -> None:
        super().__init__(deadline_ms)
        self.group = group

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        group = self.group
        group.pending_sync_timer = None
        member_ids = sorted(group.pending_sync or ())
        observer = group.coordinator.observer
        observer.sync_timeout(group, member_ids)
        for member_id in member_ids:
            member = group.members.get(member_id)  # None for the old id of a replaced static member
            group.remove(member_id)
            if member is not None:
                observer.member_removed(group, member, "sync_timeout")
        cause = Cause("sync_timeout", reason=", ".join(member_ids))
        rebalancing.unattended(group, lambda: rebalancing.prepare_rebalance(group, cause, now_ms))


def start(group: ClassicGroup, now_ms: int) -> None:
    """Wait for every member of the new generation to sync, for at most the longest rebalance timeout."""
    group.pending_sync = set(group.members)
    group.pending_sync_timer = PendingSync(now_ms + group.rebalance_timeout_ms, group)
    group.coordinator.purgatory.wait(group.pending_sync_timer)


def received(group: ClassicGroup, member_id: str) -> None:
    if group.pending_sync is not None:
        group.pending_sync.discard(member_id)
        if not group.pending_sync:
            stop(group)


def stop(group: ClassicGroup) -> None:
    group.pending_sync = None
    if group.pending_sync_timer is not None:
        group.coordinator.purgatory.cancel(group.pending_sync_timer)
        group.pending_sync_timer = None
