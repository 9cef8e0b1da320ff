"""A classic group as the traffic shows it: JoinGroup, SyncGroup, Heartbeat, LeaveGroup and commits, with their answers.

Its state, its members and its generation are what the cluster's answers say. What happens within the cluster, as the
end of a session, shows by what it answers afterwards: then it is told that something happened, and not why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.classic.classic_member import Member
from kohort.coordinator.classic.joining import REVOKED
from kohort.coordinator.classic.leaving import POLL_TIMEOUT
from kohort.coordinator.classic.states import State
from kohort.coordinator.effects import Cause
from kohort.coordinator.events.classic_event_source import ClassicEventSource
from kohort.coordinator.events.event_emitter import US_PER_MS
from kohort.coordinator.events.group_event import NO_PARTITION
from kohort.coordinator.shared_values import shared_protocols
from kohort.protocol.errors import ErrorCode
from kohort.proxy.seen.event_desk import (
    ANSWER,
    COUNTED,
    EVIDENCE,
    NOT_SHOWN,
    REFUSAL,
    REQUEST,
    ROSTER,
    UNKNOWN_CAUSE,
    EventDesk,
)
from kohort.proxy.seen.sight import Sight

if TYPE_CHECKING:
    from kohort.coordinator.events.group_event import GroupEvent
    from kohort.coordinator.shared_values import Protocols
    from kohort.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
    from kohort.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
    from kohort.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
    from kohort.protocol.messages.offset_commit import OffsetCommitRequest
    from kohort.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
    from kohort.proxy.seen.sight import SightWorld
    from kohort.proxy.tap import Overheard

NOT_KNOWN_MS: Final = -1
"""In the place of a timeout that a member has not been heard to name."""

_NONE = ErrorCode.none
AWAY: Final = (
    ErrorCode.not_coordinator,
    ErrorCode.coordinator_not_available,
    ErrorCode.coordinator_load_in_progress,
    ErrorCode.group_authorization_failed,
)
"""Refusals that say nothing of the group."""

_COUNTED: Final = ("heartbeat_gap", "heartbeat_stats", "commit_stats")
"""Kinds that time brings, when others may have gone unseen."""

_GROUP_REMAINS = (State.STABLE, State.COMPLETING_REBALANCE)


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


class ClassicSight(Sight):
    """One group. `group` and its members hold what is known, in the form in which a coordinator has it."""

    kind = "classic"

    def __init__(self, group_id: str, world: SightWorld) -> None:
        super().__init__(group_id, world)
        self.group = ClassicGroup(cast(Any, None), group_id, NO_PARTITION, 0)
        self.joins: dict[Overheard, Join] = {}
        self.syncs: dict[Overheard, SyncGroupRequest] = {}
        self.is_complete = False
        """Whether all its members are known: the leader was told them through the proxy."""
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
        """Member ids that newcomers were given and have not used, the oldest first."""
        self._somebody_is_absent = False
        """Whether a member of this generation has not been heard to join it."""
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

    # JoinGroup

    def join_asked(self, overheard: Overheard, request: JoinGroupRequest) -> None:
        """Somebody joins. Whether it has to wait is seen when no answer comes at once."""
        self.joins[overheard] = Join(request)
        self._was_joined = True

    def settle(self, before_us: int) -> None:
        """JoinGroups from before a moment that are not answered wait: the group rebalances."""
        self._settle_joins(before_us)
        if self._early and self._early[0][0].answered_us is not None and self._early[0][0].answered_us <= before_us:
            self._complete(*self._early[0])

    def _settle_joins(self, before_us: int) -> None:
        now_us = self._world.moment.us
        for overheard, join in list(self.joins.items()):
            if not join.waits and overheard.asked_us <= before_us:
                self._at(overheard.asked_us)
                self._waits(overheard, join)
        self._world.moment.us = now_us

    @property
    def is_unsettled(self) -> bool:
        """Whether `settle` has something to find out."""
        return bool(self._early) or any(not each.waits for each in self.joins.values())

    def join_answered(self, overheard: Overheard, answer: JoinGroupResponse | None) -> None:
        """The cluster has answered, or the answer was not kept."""
        join = self.joins.get(overheard)
        if join is None:
            return
        if answer is not None and answer.error_code is _NONE:
            self._joined(overheard, join, answer)
        del self.joins[overheard]
        if answer is None or answer.error_code is _NONE:
            return
        error = answer.error_code
        if error is ErrorCode.member_id_required:
            self.evidence = ANSWER
            self._issued[answer.member_id] = None
            while len(self._issued) > self._world.most_gone:
                del self._issued[next(iter(self._issued))]
            self._source.member_id_issued(self.group, answer.member_id, overheard)
        else:
            self._join_refused(join, error)

    def _join_refused(self, join: Join, error: ErrorCode) -> None:
        self._refused(join.member_id, join.request.group_instance_id, error)
        member = self.members.get(join.member_id)
        if member is not None:
            member.join_ticket = None
            if member.is_new and error not in AWAY:
                self._remove(member, f"its JoinGroup was refused: {error.name.upper()}")

    def _waits(self, overheard: Overheard, join: Join) -> None:
        """A JoinGroup waits for others, or its answer says that it did."""
        join.waits = True
        request, member = join.request, self._member_of(join)
        self.evidence = REQUEST
        if member is None:
            self._newcomer_waits(overheard, join)
            return
        if not join.member_id:
            self._static_waits(overheard, join)
            return
        was_waiting = member.join_ticket in self.joins
        before, member.join_ticket = member.protocols, overheard
        timeouts = _timeouts(overheard, request)
        if member.client_id:
            changed = timeouts != (member.rebalance_timeout_ms, member.session_timeout_ms)
            self._source.metadata_changed(self.group, member, join.protocols, changed)
        self._take_over(member, overheard, join)
        if self.group.state is not State.PREPARING_REBALANCE:
            same = shared_protocols(join.protocols) == before
            self._start(member.cause(self._rejoins_because(member, join, same), request.reason or ""))
        elif not member.is_new and not was_waiting:
            self._source.member_rejoined(self.group, member, request.reason or "")

    def _rejoins_because(self, member: Member, join: Join, same: bool) -> str:
        if not same:
            return "cooperative_followup" if REVOKED in (join.request.reason or "") else "metadata_changed"
        return "rejoin_leader" if member.member_id == self.group.leader_id else UNKNOWN_CAUSE

    def _static_waits(self, overheard: Overheard, join: Join) -> None:
        """A static member is back; under which id is said when it is answered."""
        if self.group.state is not State.PREPARING_REBALANCE:
            name = "static_protocol_changed" if self.group.state is State.STABLE else "join_static"
            client = self._world.clients.of(overheard)
            self._start(Cause(name, "", client.client_id, client.client_host, join.request.reason or ""))

    def _newcomer_waits(self, overheard: Overheard, join: Join) -> None:
        request, name = join.request, "join_new" if join.request.group_instance_id is None else "join_static"
        client = self._world.clients.of(overheard)
        cause = Cause(name, join.member_id, client.client_id, client.client_host, request.reason or "")
        if join.member_id:
            self._add(overheard, join, cause)
        if self.group.state is not State.PREPARING_REBALANCE:
            self._start(cause)

    def _add(self, overheard: Overheard, join: Join, cause: Cause) -> Member:
        request, group = join.request, self.group
        member = Member(
            join.member_id,
            request.group_instance_id,
            cause.client_id,
            cause.client_host,
            *_timeouts(overheard, request),
            join.protocols,
        )
        member.is_new, member.join_ticket = True, overheard
        self._issued.pop(join.member_id, None)
        if not group.members:
            group.protocol_type = request.protocol_type
        group.members[join.member_id] = member
        silent_since = self._gone.pop((cause.client_id, cause.client_host), None)
        if silent_since is not None:
            silent_ms = (self._world.moment.us - silent_since) // US_PER_MS
            self.evidence = f"{REQUEST}; its client joined again after {silent_ms} ms of silence"
        self._source.member_added(group, member, cause, overheard)
        self.evidence = REQUEST
        return member

    def _take_over(self, member: Member, overheard: Overheard, join: Join) -> None:
        """What a member says of itself this time."""
        if not member.client_id:
            member.client_id, member.client_host, _ = self._world.clients.of(overheard)
        member.rebalance_timeout_ms, member.session_timeout_ms = _timeouts(overheard, join.request)
        member.protocols = shared_protocols(join.protocols)

    def _member_of(self, join: Join) -> Member | None:
        """The member that a JoinGroup names, or whose instance id it names; None: it is a new one."""
        if join.member_id:
            return self.members.get(join.member_id)
        return self._static(join.request.group_instance_id)

    def _static(self, instance_id: str | None) -> Member | None:
        found = (each for each in self.members.values() if each.group_instance_id == instance_id)
        return None if instance_id is None else next(found, None)

    def _joined(self, overheard: Overheard, join: Join, answer: JoinGroupResponse) -> None:
        if self.has_generation and answer.generation_id == self.group.generation_id:
            self._joined_this_generation(overheard, join, answer)
            return
        self._named(overheard, join, answer)
        self._settle_joins(self._world.moment.us)
        leads = answer.leader == answer.member_id
        leader = self.members.get(answer.leader)
        if (
            not leads
            and leader is not None
            and leader.join_ticket in self.joins
            and leader.join_ticket is not overheard
        ):
            self._early.append((overheard, join, answer))
        else:
            self._complete(overheard, join, answer)

    def _named(self, overheard: Overheard, join: Join, answer: JoinGroupResponse) -> None:
        """By its answer at the latest a JoinGroup has a member id."""
        old = None if join.member_id else self._static(join.request.group_instance_id)
        was_named, join.member_id = bool(join.member_id), answer.member_id
        if old is not None and old.member_id != answer.member_id:
            if not join.waits:
                self._static_waits(overheard, join)
            self._replace(overheard, old, answer.member_id, join.request.reason or "", rebalance=True)
            self._take_over(old, overheard, join)
            join.waits, old.join_ticket = True, overheard
        elif join.waits and (not was_named or answer.member_id not in self.members):
            self._waits(overheard, join)

    def _joined_this_generation(self, overheard: Overheard, join: Join, answer: JoinGroupResponse) -> None:
        """An answer like that of the others, or the generation goes on and nobody need join again."""
        self.evidence = ANSWER
        old = None if join.member_id else self._static(join.request.group_instance_id)
        member = self.members.get(answer.member_id)
        if old is not None and old.member_id != answer.member_id:
            member = self._replace(overheard, old, answer.member_id, join.request.reason or "", rebalance=False)
        if member is None:
            join.member_id = answer.member_id
            cause = Cause(UNKNOWN_CAUSE, answer.member_id, *self._world.clients.of(overheard)[:2])
            member = self._add(overheard, join, cause)
        if member.session_timeout_ms == NOT_KNOWN_MS:
            self._take_over(member, overheard, join)
        member.join_ticket, member.is_new = None, False
        self._heard(member)
        if answer.leader == answer.member_id and answer.members:
            self._roster(overheard, answer)

    def _replace(self, overheard: Overheard, old: Member, new_id: str, reason: str, *, rebalance: bool) -> Member:
        """A static member comes back under another id."""
        members = self.members
        old_id, old.member_id = old.member_id, new_id
        self.group.members = {(new_id if name == old_id else name): each for name, each in members.items()}
        if self.group.leader_id == old_id:
            self.group.leader_id = new_id
        self._source.member_replaced(self.group, old, old_id, rebalance, overheard, reason)
        return old

    def _complete(self, overheard: Overheard, join: Join, answer: JoinGroupResponse) -> None:
        """The first answer of another generation, or that of its leader: the join phase is over."""
        early, self._early = self._early, []
        group = self.group
        if answer.leader == answer.member_id:
            self._roster(overheard, answer)
        else:
            self.is_complete = False
        group.generation_id, group.leader_id = answer.generation_id, answer.leader
        group.protocol_type, group.protocol_name = answer.protocol_type or group.protocol_type, answer.protocol_name
        group.subscribed_topics = group.read_subscriptions()
        self.has_generation, self._handed_out, self._unsynced = True, None, set(self.members)
        self._go(State.COMPLETING_REBALANCE)
        self._somebody_is_absent = any(each.join_ticket is None for each in self.members.values())
        self.evidence = f"{ANSWER}{self._who_is_gone()}"
        self._source.join_completed(group, (), group.rebalance_timeout_ms)
        self._left = []
        for member in self.members.values():
            if member.join_ticket not in self.joins or member.join_ticket is overheard:
                member.join_ticket = None
            member.is_new = False
        for each in early:
            if each[0] is not overheard:
                self._joined_this_generation(*each)

    def _roster(self, overheard: Overheard, answer: JoinGroupResponse) -> None:
        """The leader is told who is in the generation: who is not there is gone, who is not known is there."""
        listed = {each.member_id: each for each in answer.members}
        for name, each in listed.items():
            old = self._static(each.group_instance_id)
            if name not in self.members and old is not None:
                waiting = [one for one, join in self.joins.items() if self._member_of(join) is old]
                self.evidence = ROSTER
                self._replace(waiting[-1] if waiting else overheard, old, name, "", rebalance=True)
        for member in [each for each in self.members.values() if each.member_id not in listed]:
            self._remove(member, f"{ROSTER}: it is not there; {NOT_SHOWN}")
        for name, each in listed.items():
            if name not in self.members:
                protocols = ((answer.protocol_name or "", each.metadata),)
                unknown = NOT_KNOWN_MS, NOT_KNOWN_MS
                self.members[name] = Member(name, each.group_instance_id, "", "", *unknown, protocols)
                self.evidence = f"{ROSTER}; it has joined past the proxy"
                self._source.stats_of(self.members[name])
                self._source._of_member("member_added", self.group, self.members[name], cause=UNKNOWN_CAUSE)
        self.is_complete = True

    # SyncGroup

    def sync_asked(self, overheard: Overheard, request: SyncGroupRequest) -> None:
        """A member asks for its share, or hands out all."""
        self.syncs[overheard] = request
        member = self.members.get(request.member_id)
        if member is not None and request.generation_id == self.group.generation_id:
            member.sync_ticket = overheard
            if request.assignments and self._handed_out is None and self.group.state is not State.STABLE:
                shares = {each.member_id: each.assignment for each in request.assignments}
                self._handed_out = member, shares, overheard.asked_us

    def sync_answered(self, overheard: Overheard, answer: SyncGroupResponse | None) -> None:
        """It has its share, or a refusal."""
        request = self.syncs.pop(overheard, None)
        if request is None:
            return
        member = self.members.get(request.member_id)
        if member is not None and member.sync_ticket is overheard:
            member.sync_ticket = None
        if answer is None:
            return
        if answer.error_code is not _NONE:
            self._refused(request.member_id, request.group_instance_id, answer.error_code)
            return
        self._meet_generation(request.generation_id)
        self._synced(overheard, request, answer)

    def _synced(self, overheard: Overheard, request: SyncGroupRequest, answer: SyncGroupResponse) -> None:
        group = self.group
        member = self.members.get(request.member_id) or self._meet(overheard, request.member_id, request)
        group.protocol_type = answer.protocol_type or group.protocol_type
        group.protocol_name = answer.protocol_name or group.protocol_name
        if self._handed_out is not None and group.state is State.COMPLETING_REBALANCE:
            leader, shares, _ = self._handed_out
            self._handed_out = None
            self.evidence = f"{REQUEST}, and the answer to it"
            self._source.assignment_received(group, leader, shares)
        member.assignment = answer.assignment
        self._heard(member)
        if member.member_id in self._unsynced:  # else it has asked for it once more
            self._unsynced.discard(member.member_id)
            self.evidence = ANSWER
            self._source.member_synced(group, member)
        if group.state is not State.STABLE and not self._syncs_wait(group.generation_id):
            self._go(State.STABLE)
            self._source.rebalance_completed(group)

    def _syncs_wait(self, generation_id: int) -> bool:
        return any(each.generation_id == generation_id for each in self.syncs.values())

    # Heartbeats, leaving, commits

    def heartbeat_answered(self, overheard: Overheard, request: HeartbeatRequest, answer: HeartbeatResponse) -> None:
        """A member is known to the cluster, or is not."""
        error = answer.error_code
        if error not in (_NONE, ErrorCode.rebalance_in_progress):
            self._refused(request.member_id, request.group_instance_id, error)
            return
        self._meet_generation(request.generation_id)
        member = self.members.get(request.member_id) or self._meet(overheard, request.member_id, request)
        self.beat(member.member_id)
        if error is not _NONE:
            self._told_to_rejoin()
        elif not self.is_state_known:
            self._go(State.STABLE)

    def beat(self, member_id: str) -> None:
        """A member's heartbeat was answered without an error."""
        member = self.members.get(member_id)
        if member is None:
            return
        stats = self._source.stats_of(member)
        gap_ms = self._heard(member)
        stats.gaps[gap_ms] += 1
        if 0 < member.session_timeout_ms < gap_ms + gap_ms:
            self.evidence = COUNTED
            self._source.heartbeat_gap(self.group, member, gap_ms)

    def _heard(self, member: Member) -> int:
        """Takes note that a member speaks. Returns for how long it did not, in milliseconds."""
        stats, now_ms = self._source.stats_of(member), self._world.moment.us // US_PER_MS
        gap_ms, stats.heard_ms = now_ms - stats.heard_ms, now_ms
        return gap_ms

    def silent_ms(self, member: Member, now_us: int) -> int:
        """For how long a member has not been heard."""
        return now_us // US_PER_MS - self._source.stats_of(member).heard_ms

    def _told_to_rejoin(self) -> None:
        """The cluster says that the group rebalances."""
        if self.group.state is State.PREPARING_REBALANCE:
            return
        self._settle_all()
        if self.group.state in _GROUP_REMAINS or not self.is_state_known:
            self.evidence = f"{REFUSAL}: members are to join again; {NOT_SHOWN}{self._silent_ones()}"
            self.is_complete = False  # perhaps somebody is gone
            self._start(Cause(UNKNOWN_CAUSE))

    def _settle_all(self) -> None:
        self.settle(self._world.moment.us)

    def _silent_ones(self) -> str:
        """Who has been silent for longer than it said it would be."""
        now_us = self._world.moment.us
        silent = [
            f"; {each.group_instance_id or each.client_id or each.member_id} has been silent for {silent_ms} ms"
            for each in self.members.values()
            if (silent_ms := self.silent_ms(each, now_us)) > each.session_timeout_ms > 0
        ]
        return "".join(silent)

    def leave_answered(self, request: LeaveGroupRequest, answer: LeaveGroupResponse) -> None:
        """Members have left, or were removed by an administrator."""
        if answer.error_code is not _NONE:
            return
        causes = []
        answered = answer.members or [None] * len(request.members)
        for each, one in zip(request.members, answered, strict=False):
            if one is not None and one.error_code is not _NONE:
                continue
            member = self.members.get(each.member_id) or self._static(each.group_instance_id)
            reason = each.reason or ""
            name = "leave_poll_timeout" if POLL_TIMEOUT in reason else "leave_explicit"
            if member is None and each.member_id in self._issued:
                del self._issued[each.member_id]  # the group rebalances for somebody who never was in it
                causes.append(Cause("leave_explicit", each.member_id, reason=reason))
            if member is not None:
                causes.append(member.cause(name if each.member_id else "leave_admin", reason))
                self.evidence = REQUEST
                self._remove(member, REQUEST, causes[-1].name, reason)
        if causes and self.group.state in _GROUP_REMAINS:
            self._start(causes[-1])
        if self.is_complete and not self.members and self.group.state is State.PREPARING_REBALANCE:
            self._emptied()

    def _emptied(self) -> None:
        """The last member has left."""
        self._source.join_completed(self.group, (), 0)
        self._go(State.EMPTY)
        self.has_generation, self.group.protocol_name = False, None
        self._source.emptied(self.group)(_NONE, 0)
        self._left = []

    def committed(self, member_id: str, partitions: int) -> None:
        """A commit was accepted for so many partitions."""
        self._source.committed(self.group, member_id, partitions)

    def commit_rejected(self, request: OffsetCommitRequest, error: ErrorCode, overheard: Overheard) -> None:
        """A commit was refused."""
        member_id, generation_id = request.member_id, request.generation_id_or_member_epoch
        self.evidence = REFUSAL
        self._source.commit_rejected(self.group, member_id, generation_id, error, overheard)
        if error is not ErrorCode.rebalance_in_progress:  # so it is, too, when members have joined and not synced
            self._refused(member_id, request.group_instance_id, error)

    def deleted(self) -> None:
        """Somebody has deleted the group."""
        self.evidence = REQUEST
        self._go(State.DEAD)
        self._source.group_gone(self.group, "group_deleted")

    def flush(self) -> None:
        """What was counted since the last time."""
        self.evidence = COUNTED
        self._source.flush(self.group)

    def hung_up(self, overheard: Overheard) -> None:
        """A request will not be answered: its connection has ended."""
        join, sync = self.joins.pop(overheard, None), self.syncs.pop(overheard, None)
        for member in self.members.values():
            if join is not None and member.join_ticket is overheard:
                member.join_ticket = None
            if sync is not None and member.sync_ticket is overheard:
                member.sync_ticket = None

    # Within

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
        self._gone[member.client_id, member.client_host] = self._source.stats_of(member).heard_ms * US_PER_MS
        while len(self._gone) > self._world.most_gone:
            del self._gone[next(iter(self._gone))]
        del self.members[member.member_id]
        if cause == UNKNOWN_CAUSE:
            self._left.append(member.member_id)
        self.evidence = evidence
        self._source.member_removed(self.group, member, cause, reason)
        if cause == UNKNOWN_CAUSE and self.is_complete and not self.members and not self.joins:
            self._go(State.EMPTY)
            self.has_generation, self.group.protocol_name = False, None

    def _who_is_gone(self) -> str:
        gone = ", ".join(self._left)
        return f"; {gone} {'are' if len(self._left) > 1 else 'is'} gone, {NOT_SHOWN}" if gone else ""

    def _start(self, cause: Cause) -> None:
        self._go(State.PREPARING_REBALANCE)
        self._source.rebalance_started(self.group, cause)

    def _go(self, state: State) -> None:
        self._from_is_known, self.is_state_known = self.is_state_known, True
        self.group.previous_state, self.group.state = self.group.state, state

    def _meet_generation(self, generation_id: int) -> None:
        """A group that was at work before anybody listened, or whose joins went past the proxy."""
        if not self.has_generation or generation_id > self.group.generation_id:
            self.group.generation_id, self.has_generation, self.is_complete = generation_id, True, False

    def _meet(self, overheard: Overheard, member_id: str, request: Any) -> Member:
        """A member that was there before anybody listened; its timeouts are not known."""
        client = self._world.clients.of(overheard)
        unknown = NOT_KNOWN_MS, NOT_KNOWN_MS
        member = Member(member_id, request.group_instance_id, client.client_id, client.client_host, *unknown, ())
        self.members[member_id] = member
        self._unsynced.add(member_id)
        self._source.stats_of(member)
        self._source.of(self.group).known.add(member_id)
        return member

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
        self._tell(event)


def _timeouts(overheard: Overheard, request: JoinGroupRequest) -> tuple[int, int]:
    """Those for a rebalance, which the oldest version does not name, and for a session, in milliseconds."""
    session_ms = request.session_timeout_ms
    return (request.rebalance_timeout_ms if overheard.header.api_version >= 1 else session_ms), session_ms
