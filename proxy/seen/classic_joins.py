"""JoinGroup as the traffic shows it: who waits, who is in the next generation, and who is gone when that begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.coordinator.classic.classic_member import Member
from kohort.coordinator.classic.joining import REVOKED
from kohort.coordinator.classic.states import State
from kohort.coordinator.effects import Cause
from kohort.coordinator.events.event_emitter import US_PER_MS
from kohort.coordinator.shared_values import shared_protocols
from kohort.protocol.errors import ErrorCode
from kohort.proxy.seen.classic_known import AWAY, NONE, NOT_KNOWN_MS, ClassicKnown, Join
from kohort.proxy.seen.event_desk import (
    ANSWER,
    NOT_SHOWN,
    REQUEST,
    ROSTER,
    UNKNOWN_CAUSE,
)

if TYPE_CHECKING:
    from kohort.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
    from kohort.proxy.tap import Overheard


class ClassicJoins(ClassicKnown):
    """One group, and who joins it."""

    def join_asked(self, overheard: Overheard, request: JoinGroupRequest) -> None:
        """A client joins. Whether it has to wait is seen when no answer comes at once."""
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

    @property
    def awaits_leader(self) -> bool:
        """Whether answers with another generation have come, and not that of the leader."""
        return bool(self._early)

    def join_answered(self, overheard: Overheard, answer: JoinGroupResponse | None) -> None:
        """The cluster has answered, or the answer was not kept."""
        join = self.joins.get(overheard)
        if join is None:
            return
        if answer is not None and answer.error_code is NONE:
            self._joined(overheard, join, answer)
        del self.joins[overheard]
        if answer is None or answer.error_code is NONE:
            return
        error = answer.error_code
        if error is ErrorCode.member_id_required:
            self.evidence = ANSWER
            self._issued[answer.member_id] = self._unused_ids[answer.member_id] = None
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
        self._unused_ids.pop(join.member_id, None)
        if not group.members:
            group.protocol_type = request.protocol_type
        group.members[join.member_id] = member
        self._speaks_on(member, overheard)
        silent_since = self._gone.pop((cause.client_id, cause.client_host), None)
        if silent_since is not None:
            silent_ms = (self._world.moment.us - silent_since) // US_PER_MS
            self.evidence = f"{REQUEST}; its client joined again after {silent_ms} ms of silence"
        self._source.member_added(group, member, cause, overheard)
        self.evidence = REQUEST
        return member

    def _take_over(self, member: Member, overheard: Overheard, join: Join) -> None:
        """What a member says of itself this time."""
        self._speaks_on(member, overheard)
        if not member.client_id:
            member.client_id, member.client_host, _ = self._world.clients.of(overheard)
        member.rebalance_timeout_ms, member.session_timeout_ms = _timeouts(overheard, join.request)
        member.protocols = shared_protocols(join.protocols)

    def _member_of(self, join: Join) -> Member | None:
        """The member that a JoinGroup names, or whose instance id it names; None: it is a new one."""
        if join.member_id:
            return self.members.get(join.member_id)
        return self._static(join.request.group_instance_id)

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
        old_id = self._rename(old, new_id)
        self._speaks_on(old, overheard)
        self._source.member_replaced(self.group, old, old_id, rebalance, overheard, reason)
        return old

    def _rename(self, member: Member, new_id: str) -> str:
        """A static member has another id. Returns the old one."""
        old_id, member.member_id = member.member_id, new_id
        self.group.members = {(new_id if name == old_id else name): each for name, each in self.members.items()}
        if self.group.leader_id == old_id:
            self.group.leader_id = new_id
        self._lines.pop(old_id, None)
        self.connected.pop(old_id, None)
        self.strangers.discard(old_id)
        return old_id

    def _complete(self, overheard: Overheard, join: Join, answer: JoinGroupResponse) -> None:
        """The first answer of another generation, or that of its leader: the join phase is over."""
        early, self._early = self._early, []
        group = self.group
        if answer.leader == answer.member_id:
            self._roster(overheard, answer)
        else:
            self.is_complete, self.is_open_question = False, True
        group.generation_id, group.leader_id = answer.generation_id, answer.leader
        group.protocol_type, group.protocol_name = answer.protocol_type or group.protocol_type, answer.protocol_name
        group.subscribed_topics = group.read_subscriptions()
        self.has_generation, self._handed_out, self._unsynced = True, None, set(self.members)
        self._go(State.COMPLETING_REBALANCE)
        absent = [member for member in self.members.values() if member.join_ticket is None]
        self._somebody_is_absent = bool(absent)
        # The coordinator waited for these, because a phase does not end before every member of the last generation and
        # every new id has joined, expired or left. Only the leader receives which absent ones are still members.
        events = self._source.of(group)
        joining = [self._member_of(waiting) for waiting in self.joins.values()]  # static members may join without id
        absent = [member for member in absent if member.member_id in events.member_ids and member not in joining]
        if absent:
            events.last_awaited = absent[0] if self.is_complete else None
        elif self._unused_ids:
            events.last_awaited = list(self._unused_ids)[-1]
        self._unused_ids.clear()
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
                self._joined_unseen(self._add_unseen(name, each.group_instance_id, protocols=protocols), ROSTER)
                self.strangers.add(name)
                self.is_open_question = True
        self.is_complete = self.was_complete = True


def _timeouts(overheard: Overheard, request: JoinGroupRequest) -> tuple[int, int]:
    """Those for a rebalance, which the oldest version does not name, and for a session, in milliseconds."""
    session_ms = request.session_timeout_ms
    return (request.rebalance_timeout_ms if overheard.header.api_version >= 1 else session_ms), session_ms
