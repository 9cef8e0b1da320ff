"""Events of a group of a newer protocol that is seen from outside, and what is counted of its members."""

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
    from kohort.proxy.tap import Overheard

_OF_A_REBALANCE: Final = frozenset({
    "epoch_bumped", "member_revoking", "member_revoked", "member_assigned", "group_reconciled",
})  # fmt: skip
_OF_NOBODY: Final = ("member_fenced", "commit_rejected")
"""Kinds that do not say how many members there are."""


class EpochEvents(Sight):
    """One group, and how what is seen of it becomes events that say no more."""

    counts_heartbeats: ClassVar[bool] = False
    gives_up: ClassVar[bool] = True
    """Whether members wait for what others give up."""
    settled_state: ClassVar[str | None] = "Stable"
    """The state of a group whose members have all they are to have; None: that is not seen."""
    leaves_out: ClassVar[frozenset[str]] = frozenset()
    """Kinds of events that brokers do not report of such groups."""

    def __init__(self, group_id: str, world: SightWorld) -> None:
        super().__init__(group_id, world)
        self.members: dict[str, EpochMember] = {}
        self.epoch = 0
        """The highest that an answer has said."""
        self.is_complete = False
        """Whether all its members are known: it was described, or heard since its first epoch, and each later one is
        explained."""
        self._because: Cause | None = None
        """What may have brought about the next epoch."""
        self._free: frozenset[Any] = frozenset()
        """What was given up, or whose member is gone, and nobody has been given since."""
        self._freed_us = 0
        desk = EventDesk(world.moment, self._take)
        self._emitter = EventEmitter(cast(Any, desk), world.moment.now_us, world.clients.of, lambda _: NO_PARTITION)
        self._state = EpochEventState((), world.moment.us)
        self._owners = Owners({})

    def owned(self, has: frozenset[Any]) -> frozenset[Any]:
        """Those of them that one member at a time may have."""
        return has

    def _named(self, has: frozenset[Any]) -> dict[str, str]:
        """What an event says of them beside how many they are."""
        return {}

    def by_topic(self, has: frozenset[Any]) -> dict[str, tuple[int, ...]]:
        """Partitions that a member has, by the names of their topics; one whose name is not known has its id."""
        names, found = self._world.topics, dict[str, list[int]]()
        for topic, number in has:
            found.setdefault(names.get(topic, str(topic)), []).append(number)
        return {topic: tuple(sorted(numbers)) for topic, numbers in sorted(found.items())}

    def committed(self, member_id: str, partitions: int) -> None:
        """A commit was accepted for so many partitions."""
        member = self.members.get(member_id)
        if member is not None:
            member.stats.commits += 1
            member.stats.committed_partitions += partitions

    def commit_rejected(self, request: OffsetCommitRequest, error: ErrorCode, overheard: Overheard) -> None:
        """A commit was refused."""
        member_id, epoch = request.member_id, request.generation_id_or_member_epoch
        member = self.members.get(member_id)
        if member is not None:
            member.stats.rejected += 1
        client = self._world.clients.of(overheard)
        if self._state.refusals.is_first(member_id, error.name.upper(), client, epoch):
            self.evidence = REFUSAL
            self._rejected(member_id, error.name.upper(), client, epoch, None)

    def _rejected(self, member_id: str, error: str, client: Client, epoch: int, more: int | None) -> None:
        detail = None if more is None else {"n": str(more)}
        about = {"member_id": member_id or None, "member_epoch": epoch, "generation": None}
        self._emit("commit_rejected", client, error=error, detail=detail, **about)

    def deleted(self) -> None:
        """The group was deleted by a request."""
        self.evidence = REQUEST
        self._emit("group_deleted", NOBODY_KNOWN, cause="group_deleted", state_to="Dead", members=None)

    def flush(self) -> None:
        """What was counted since the last time."""
        self.evidence = COUNTED
        for member in self.members.values() if self.counts_heartbeats else ():
            for kind, values in flushed(member.stats):
                self._of_member(kind, member, **values)
        for each in self._state.refusals.flush():
            self._rejected(*each)

    def _of_those(
        self, kind: str, member: EpochMember, those: frozenset[Any], unowned_us: int = 0, **values: Any
    ) -> None:
        detail = self._named(those) | ({"unowned_us": str(unowned_us)} if unowned_us else {})
        self._of_member(kind, member, partitions=len(those), detail=detail, **values)

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
        # After a change that brings another epoch about, the group's is not known until an answer says it.
        values.setdefault("generation", self.epoch if self.epoch and self._because is None else None)
        now_us = self._world.moment.us
        self._take(
            self._emitter.event(
                kind,
                NO_PARTITION,
                client,
                now_us,
                group_id=self.group_id,
                group_type=self.kind,
                protocol_type=self.kind,
                **({"members": len(self.members) if self.is_complete and kind not in _OF_NOBODY else None} | values),
            )
        )

    def _take(self, event: GroupEvent) -> None:
        event.detail = {**(event.detail or {}), EVIDENCE: self.evidence}
        if self.evidence.startswith(DESCRIBED):  # when it has happened is not known
            event.duration_us, event.detail = None, {EVIDENCE: self.evidence}
        self._tell(event)
