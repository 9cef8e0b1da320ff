"""Events of an observed consumer, share or streams group, and counters of its members."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

from kohort.coordinator.effects import Cause
from kohort.coordinator.events.event_emitter import EventEmitter
from kohort.coordinator.events.event_state import EpochEventState
from kohort.coordinator.events.group_event import NO_PARTITION
from kohort.coordinator.events.member_stats import flushed
from kohort.coordinator.events.owners import Owners
from kohort.coordinator.requesting_client import NOBODY_KNOWN, Client
from kohort.protocol.errors import ErrorCode
from kohort.proxy.seen.epoch_member import EpochMember
from kohort.proxy.seen.event_desk import (
    COUNTED,
    DESCRIBED,
    EVIDENCE,
    REFUSAL,
    REQUEST,
    EventDesk,
)
from kohort.proxy.seen.sight import Sight

if TYPE_CHECKING:
    from kohort.coordinator.events.group_event import GroupEvent
    from kohort.protocol.messages.offset_commit import OffsetCommitRequest
    from kohort.proxy.seen.sight import SightWorld
    from kohort.proxy.tap import ObservedCall

_OF_A_REBALANCE: Final = frozenset({
    "epoch_bumped", "member_revoking", "member_revoked", "member_assigned", "group_reconciled",
})  # fmt: skip
_OF_NOBODY: Final = ("member_fenced", "commit_rejected")  # event kinds without a number of members


class EpochEvents(Sight):
    """Observed group whose events contain only what is known."""

    counts_heartbeats: ClassVar[bool] = False
    gives_up: ClassVar[bool] = True  # whether members wait for others to revoke partitions
    # state once all members have their assignments; None if that is not observable
    settled_state: ClassVar[str | None] = "Stable"
    leaves_out: ClassVar[frozenset[str]] = frozenset()  # event kinds that brokers do not report for such groups

    def __init__(self, group_id: str, world: SightWorld) -> None:
        super().__init__(group_id, world)
        self.members: dict[str, EpochMember] = {}
        self.epoch = 0  # highest epoch in a response
        # whether all members are known: from a description, or since the first epoch with each later one explained
        self.is_complete = False
        self._because: Cause | None = None  # possible cause of the next epoch
        self._free: frozenset[Any] = frozenset()  # revoked or released partitions that are not assigned again
        self._freed_us = 0
        desk = EventDesk(world.moment, self._take)
        self._emitter = EventEmitter(cast(Any, desk), world.moment.now_us, world.clients.of, lambda _: NO_PARTITION)
        self._state = EpochEventState((), world.moment.us)
        self._owners = Owners({})

    def owned(self, partitions: frozenset[Any]) -> frozenset[Any]:
        """Return those that only one member at a time may have."""
        return partitions

    def _named(self, partitions: frozenset[Any]) -> dict[str, str]:
        """Return the fields of an event that name the partitions."""
        return {}

    def by_topic(self, topic_partitions: frozenset[Any]) -> dict[str, tuple[int, ...]]:
        """Return partitions by topic name, or by topic id if the name is unknown."""
        names, by_name = self._world.topics, dict[str, list[int]]()
        for topic, number in topic_partitions:
            by_name.setdefault(names.get(topic, str(topic)), []).append(number)
        return {topic: tuple(sorted(numbers)) for topic, numbers in sorted(by_name.items())}

    def committed(self, member_id: str, partitions: int) -> None:
        """Note an accepted commit of this many partitions."""
        member = self.members.get(member_id)
        if member is not None:
            member.stats.commits += 1
            member.stats.committed_partitions += partitions

    def commit_rejected(self, request: OffsetCommitRequest, error: ErrorCode, observed: ObservedCall) -> None:
        member_id, epoch = request.member_id, request.generation_id_or_member_epoch
        member = self.members.get(member_id)
        if member is not None:
            member.stats.rejected += 1
        client = self._world.clients.of(observed)
        if self._state.refusals.is_first(member_id, error.name.upper(), client, epoch):
            self.evidence = REFUSAL
            self._rejected(member_id, error.name.upper(), client, epoch, None)

    def _rejected(self, member_id: str, error: str, client: Client, epoch: int, more: int | None) -> None:
        detail = None if more is None else {"n": str(more)}
        about = {"member_id": member_id or None, "member_epoch": epoch, "generation": None}
        self._emit("commit_rejected", client, error=error, detail=detail, **about)

    def deleted(self) -> None:
        self.evidence = REQUEST
        self._emit("group_deleted", NOBODY_KNOWN, cause="group_deleted", state_to="Dead", members=None)

    def flush(self) -> None:
        """Report the events counted since the last call."""
        self.evidence = COUNTED
        for member in self.members.values() if self.counts_heartbeats else ():
            for kind, values in flushed(member.stats):
                self._of_member(kind, member, **values)
        for item in self._state.refusals.flush():
            self._rejected(*item)

    def _of_those(
        self, kind: str, member: EpochMember, partitions: frozenset[Any], unowned_us: int = 0, **values: Any
    ) -> None:
        detail = self._named(partitions) | ({"unowned_us": str(unowned_us)} if unowned_us else {})
        self._of_member(kind, member, partitions=len(partitions), detail=detail, **values)

    def _of_member(self, kind: str, member: EpochMember, **values: Any) -> None:
        about: dict[str, Any] = {"instance_id": member.instance_id, "member_id": member.member_id}
        about["member_epoch"] = member.epoch
        timeout_ms = member.rebalance_timeout_ms
        about["rebalance_timeout_ms"] = timeout_ms if timeout_ms > 0 else None
        self._emit(kind, member.client, **(about | values))

    def _emit(self, kind: str, client: Client, **values: Any) -> None:
        if kind in self.leaves_out:
            return
        if kind in _OF_A_REBALANCE:
            values["rebalance_id"] = self._state.rebalance_id
        # After a change that bumps the epoch, it is unknown until a response contains it.
        values.setdefault("generation", self.epoch if self.epoch and self._because is None else None)
        now_us = self._world.moment.us
        self._take(
            self._emitter.event(
                kind,
                NO_PARTITION,
                client,
                now_us,
                group_id=self.group_id,
                group_type=self.group_type,
                protocol_type=self.group_type,
                **({"members": len(self.members) if self.is_complete and kind not in _OF_NOBODY else None} | values),
            )
        )

    def _take(self, event: GroupEvent) -> None:
        event.detail = {**(event.detail or {}), EVIDENCE: self.evidence}
        if self.evidence.startswith(DESCRIBED):  # when it has happened is not known
            event.duration_us, event.detail = None, {EVIDENCE: self.evidence}
        self._report(event)
