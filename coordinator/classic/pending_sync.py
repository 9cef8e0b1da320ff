"""Members that joined a generation and never sync for it (classic-groups §5.4; KAFKA-12890)."""

# This module and `rebalancing` need each other: a completed join phase starts this timer, which starts a rebalance.
from kohort.coordinator.classic import rebalancing
from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.effects import Cause
from kohort.purgatory import DelayedOperation


class PendingSync(DelayedOperation):
    """When the rebalance timeout is over since the join phase ended, members that have not synced are removed."""

    __slots__ = ("group",)

    def __init__(self, deadline_ms: int, group: ClassicGroup) -> None:
        super().__init__(deadline_ms)
        self.group = group

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        """Always by the deadline: it is stopped when all have synced and when another rebalance starts."""
        group = self.group
        group.pending_sync_timer = None
        late = sorted(group.pending_sync or ())
        observer = group.coordinator.observer
        observer.sync_timeout(group, late)
        for member_id in late:
            member = group.members.get(member_id)  # the id of a static member that was replaced is nobody's
            group.remove(member_id)
            if member is not None:
                observer.member_removed(group, member, "sync_timeout")
        cause = Cause("sync_timeout", reason=", ".join(late))
        rebalancing.unattended(group, lambda: rebalancing.prepare_rebalance(group, cause, now_ms))


def start(group: ClassicGroup, now_ms: int) -> None:
    """All members of the new generation are to sync, within the longest of their rebalance timeouts."""
    group.pending_sync = set(group.members)
    group.pending_sync_timer = PendingSync(now_ms + group.rebalance_timeout_ms, group)
    group.coordinator.purgatory.wait(group.pending_sync_timer)


def received(group: ClassicGroup, member_id: str) -> None:
    """This member has synced; after the last one nobody is waited for."""
    if group.pending_sync is not None:
        group.pending_sync.discard(member_id)
        if not group.pending_sync:
            stop(group)


def stop(group: ClassicGroup) -> None:
    """Waits for nobody any more."""
    group.pending_sync = None
    if group.pending_sync_timer is not None:
        group.coordinator.purgatory.cancel(group.pending_sync_timer)
        group.pending_sync_timer = None
