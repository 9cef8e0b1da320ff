"""What is known of a classic group, and how it becomes events that say no more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.classic.classic_member import Member
from kohort.coordinator.classic.states import State
from kohort.coordinator.effects import Cause
from kohort.coordinator.events.classic_event_source import ClassicEventSource
from kohort.coordinator.events.event_emitter import US_PER_MS
from kohort.coordinator.events.group_event import NO_PARTITION
from kohort.protocol.errors import ErrorCode
from kohort.proxy.seen.event_desk import (
    DESCRIBED,
    EVIDENCE,
    NOT_SHOWN,
    REFUSAL,
    UNKNOWN_CAUSE,
    EventDesk,
)
from kohort.proxy.seen.sight import Sight

if TYPE_CHECKING:
    from kohort.coordinator.events.group_event import GroupEvent
    from kohort.coordinator.shared_values import Protocols
    from kohort.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
    from kohort.protocol.messages.sync_group import SyncGroupRequest
    from kohort.proxy.seen.sight import SightWorld
    from kohort.proxy.tap import Overheard

NOT_KNOWN_MS: Final = -1
"""In the place of a timeout that a member has not been heard to name."""

NONE: Final = ErrorCode.none
AWAY: Final = (
    ErrorCode.not_coordinator,
    ErrorCode.coordinator_not_available,
    ErrorCode.coordinator_load_in_progress,
    ErrorCode.group_authorization_failed,
)
"""Refusals that say nothing of the group."""

_COUNTED: Final = ("heartbeat_gap", "heartbeat_stats", "commit_stats")
"""Kinds that time brings, when others may have gone unseen."""

GROUP_REMAINS = (State.STABLE, State.COMPLETING_REBALANCE)


class Join:
    """A JoinGroup that is not answered."""

    def __init__(self, request: JoinGroupRequest) -> None:
        self.request = request
        self.member_id = request.member_id
        self.waits = False
        """Whether it is known to wait for others: then the group rebalances."""

    @property
    def protocols(self) -> Protocols:
        """As a coordinator keeps them."""
        return tuple((each.name, each.metadata) for each in self.request.protocols)


class ClassicKnown(Sight):
    """One group. `group` and its members hold what is known, in the form in which a coordinator has it."""

    kind = "classic"

    def __init__(self, group_id: str, world: SightWorld) -> None:
        super().__init__(group_id, world)
        self.group = ClassicGroup(cast(Any, None), group_id, NO_PARTITION, 0)
        self.joins: dict[Overheard, Join] = {}
        self.syncs: dict[Overheard, SyncGroupRequest] = {}
        self.is_complete = False
        """Whether all its members are known: the leader was told them through the proxy, or they were described."""
        self.strangers: set[str] = set()
        """Ids of members that a roster or a description has named, and that have not spoken here."""
        self.is_state_known = False
        self._was_joined = False
        self.has_generation = False
        """Whether an answer has shown its generation."""
        self._from_is_known = False
        self._handed_out: tuple[Member, dict[str, bytes], int] | None = None
        """The leader, what it hands out in this generation, and when; None: it has not, or that is told."""
        self._unsynced: set[str] = set()
        """Members of this generation that have not been given their share."""
        self._early: list[tuple[Overheard, Join, JoinGroupResponse]] = []
        """Answers with another generation that have come before that of the leader, who is told the members."""
        self._issued: dict[str, None] = {}
        self._unused_ids: dict[str, None] = {}  # those issued since the last generation that no member has used
        """Member ids that newcomers were given and have not used, the oldest first."""
        self._somebody_is_absent = False
        """Whether a member of this generation has not been heard to join it."""
        self.connected: dict[str, bool] = {}
        """By member id, whether the connection stands that it spoke on last; of others that is not known."""
        self._lines: dict[str, int] = {}
        self._left: list[str] = []
        """Members that have gone since the last generation, nobody knows why."""
        self._gone: dict[tuple[str, str], int] = {}
        """When members were heard last that have gone, by client id and host."""
        desk = EventDesk(world.moment, self._take)
        clients = world.clients
        self._source = ClassicEventSource(cast(Any, desk), world.moment.now_us, clients.of, lambda _: NO_PARTITION)

    @property
    def members(self) -> dict[str, Member]:
        """By member id."""
        return self.group.members

    @property
    def unsynced(self) -> set[str]:
        """Ids of members of this generation that have not been given their share."""
        return self._unsynced

    def rebalances_since_s(self, now_us: int) -> float:
        """For how long the rebalance has gone on that is seen."""
        return (now_us - self._source.of(self.group).started_us) / 1_000_000

    def line_ended(self, number: int) -> None:
        """A connection has ended."""
        for member_id, line in self._lines.items():
            if line == number:
                self.connected[member_id] = False

    def silent_ms(self, member: Member, now_us: int) -> int:
        """For how long a member has not been heard."""
        return now_us // US_PER_MS - self._source.stats_of(member).last_active_ms

    def _heard(self, member: Member) -> int:
        """Takes note that a member speaks. Returns for how long it did not, in milliseconds."""
        stats, now_ms = self._source.stats_of(member), self._world.moment.us // US_PER_MS
        gap_ms, stats.last_active_ms = now_ms - stats.last_active_ms, now_ms
        return gap_ms

    def _speaks_on(self, member: Member, overheard: Overheard) -> None:
        self._lines[member.member_id], self.connected[member.member_id] = overheard.line.number, True
        if member.member_id in self.strangers:
            self.strangers.discard(member.member_id)
            member.client_id, member.client_host, _ = self._world.clients.of(overheard)
            self._heard(member)

    def _static(self, instance_id: str | None) -> Member | None:
        found = (each for each in self.members.values() if each.group_instance_id == instance_id)
        return None if instance_id is None else next(found, None)

    def _told_to_rejoin(self) -> None:
        """The cluster says that the group rebalances."""
        if self.group.state is State.PREPARING_REBALANCE:
            return
        self.settle(self._world.moment.us)
        if self.group.state in GROUP_REMAINS or not self.is_state_known:
            self.evidence = f"{REFUSAL}: members are to join again; {NOT_SHOWN}{self._silent_ones()}"
            self.is_complete, self.is_open_question = False, True  # perhaps somebody is gone
            self._start(Cause(UNKNOWN_CAUSE))

    def _silent_ones(self) -> str:
        """Who has been silent for longer than it said it would be."""
        now_us = self._world.moment.us
        silent = [
            f"; {each.group_instance_id or each.client_id or each.member_id} has been silent for {silent_ms} ms"
            for each in self.members.values()
            if (silent_ms := self.silent_ms(each, now_us)) > each.session_timeout_ms > 0
        ]
        return "".join(silent)

    def _refused(self, member_id: str, instance_id: str | None, error: ErrorCode) -> None:
        member = self.members.get(member_id)
        is_it = member is not None and instance_id in (None, member.group_instance_id)
        if error is ErrorCode.unknown_member_id and member is not None and is_it:
            self._remove(member, f"{REFUSAL}: {error.name.upper()}; {NOT_SHOWN}")
        elif error is ErrorCode.fenced_instance_id and instance_id:
            self.evidence = REFUSAL
            self._source.member_fenced(self.group, member_id, instance_id)
        elif error is ErrorCode.rebalance_in_progress:
            self._told_to_rejoin()

    def _remove(self, member: Member, evidence: str, cause: str = UNKNOWN_CAUSE, reason: str = "") -> None:
        self._gone[member.client_id, member.client_host] = self._source.stats_of(member).last_active_ms * US_PER_MS
        while len(self._gone) > self._world.most_gone:
            del self._gone[next(iter(self._gone))]
        del self.members[member.member_id]
        self._lines.pop(member.member_id, None)
        self.connected.pop(member.member_id, None)
        self.strangers.discard(member.member_id)
        if cause == UNKNOWN_CAUSE:
            self._left.append(member.member_id)
        self.evidence = evidence
        self._source.member_removed(self.group, member, cause, reason)
        if cause == UNKNOWN_CAUSE and self.is_complete and not self.members and not self.joins:
            self._go(State.EMPTY)

    def _who_is_gone(self) -> str:
        gone = ", ".join(self._left)
        return f"; {gone} {'are' if len(self._left) > 1 else 'is'} gone, {NOT_SHOWN}" if gone else ""

    def _start(self, cause: Cause) -> None:
        self._go(State.PREPARING_REBALANCE)
        self._source.rebalance_started(self.group, cause)

    def _go(self, state: State) -> None:
        self._from_is_known, self.is_state_known = self.is_state_known, True
        self.group.previous_state, self.group.state = self.group.state, state
        if state is State.EMPTY:
            self.has_generation, self.group.protocol_name = False, None

    def _meet_generation(self, generation_id: int) -> None:
        """A group that was at work before anybody listened, or whose joins went past the proxy."""
        if not self.has_generation or generation_id > self.group.generation_id:
            self.group.generation_id, self.has_generation, self.is_complete = generation_id, True, False
            self.is_open_question = True

    def _meet(self, overheard: Overheard, member_id: str, request: Any) -> Member:
        """A member that was there before anybody listened."""
        client = self._world.clients.of(overheard)
        member = self._add_unseen(member_id, request.group_instance_id, client.client_id, client.client_host)
        self.is_open_question = True
        self._unsynced.add(member_id)
        self._source.of(self.group).member_ids.add(member_id)
        return member

    def _add_unseen(
        self,
        member_id: str,
        instance_id: str | None,
        client_id: str = "",
        client_host: str = "",
        protocols: Protocols = (),
    ) -> Member:
        """A member that was not seen to join; its timeouts are not known."""
        unknown = NOT_KNOWN_MS, NOT_KNOWN_MS
        member = Member(member_id, instance_id, client_id, client_host, *unknown, protocols)
        self.members[member_id] = member
        self._source.stats_of(member)
        return member

    def _joined_unseen(self, member: Member, shown_by: str) -> None:
        """A member has come past the proxy. `shown_by`: begins the evidence."""
        self.evidence = f"{shown_by}; it has joined past the proxy"
        self._source._of_member("member_added", self.group, member, cause=UNKNOWN_CAUSE)

    def _take(self, event: GroupEvent) -> None:
        """Leaves out of an event what is not known."""
        if event.group_type == "simple" and self._was_joined:
            event.group_type = self.kind
        if event.left is not None and self._left:
            # Whether they have left, were too slow or fell silent is not known.
            event.left = event.evicted = event.waited_for = None
        if self._somebody_is_absent:
            event.waited_for = None
        if event.state_from is not None and not self._from_is_known:
            event.state_from = None
        unnamed = any(each.waits and not each.member_id for each in self.joins.values())
        is_gone_unseen = event.kind == "member_removed" and event.cause == UNKNOWN_CAUSE
        if not self.is_complete or unnamed or is_gone_unseen or event.kind in _COUNTED:
            event.members = None
        if not self.has_generation and event.error is None:
            event.generation = None
        for name in ("session_timeout_ms", "rebalance_timeout_ms"):
            if getattr(event, name) == NOT_KNOWN_MS:
                setattr(event, name, None)
        event.detail = {**(event.detail or {}), EVIDENCE: self.evidence}
        if self.evidence.startswith(DESCRIBED):
            self._leave_out_undescribed(event)
        self._tell(event)

    def _leave_out_undescribed(self, event: GroupEvent) -> None:
        """A description says no generation, nor when anything has happened."""
        event.generation = None
        if event.kind not in _COUNTED:
            event.duration_us, event.detail = None, {EVIDENCE: self.evidence}
            event.joined = event.left = event.evicted = None

    def settle(self, before_us: int) -> None:
        """JoinGroups from before a moment that are not answered wait: the group rebalances."""
        raise NotImplementedError
