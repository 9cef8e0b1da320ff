"""JoinGroup in the observed traffic: waiting members, members of the next generation, and missing ones."""

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
    from kohort.proxy.tap import ObservedCall


class ClassicJoins(ClassicKnown):
    """Classic group with its join phase."""

    def join_asked(self, observed: ObservedCall, request: JoinGroupRequest) -> None:
        """Note a JoinGroup request. Whether it waits is only known when no response follows at once."""
        self.joins[observed] = Join(request)
        self._was_joined = True

    def settle(self, before_us: int) -> None:
        """Note that JoinGroup requests from before `before_us` without a response wait: the group rebalances."""
        self._settle_joins(before_us)
        if self._early and self._early[0][0].answered_us is not None and self._early[0][0].answered_us <= before_us:
            self._complete(*self._early[0])

    def _settle_joins(self, before_us: int) -> None:
        now_us = self._world.moment.us
        for observed, join in list(self.joins.items()):
            if not join.waits and observed.requested_us <= before_us:
                self._at(observed.requested_us)
                self._waits(observed, join)
        self._world.moment.us = now_us

    @property
    def is_unsettled(self) -> bool:
        """Whether `settle` may have something to note."""
        return bool(self._early) or any(not join.waits for join in self.joins.values())

    @property
    def awaits_leader(self) -> bool:
        """Whether responses of a new generation have arrived, but not the leader's."""
        return bool(self._early)

    def join_answered(self, observed: ObservedCall, answer: JoinGroupResponse | None) -> None:
        """Apply a response, or None if it was not copied."""
        join = self.joins.get(observed)
        if join is None:
            return
        if answer is not None and answer.error_code is NONE:
            self._joined(observed, join, answer)
        del self.joins[observed]
        if answer is None or answer.error_code is NONE:
            return
        error = answer.error_code
        if error is ErrorCode.member_id_required:
            self.evidence = ANSWER
            self._issued[answer.member_id] = self._unused_ids[answer.member_id] = None
            while len(self._issued) > self._world.max_removed:
                del self._issued[next(iter(self._issued))]
            self._source.member_id_issued(self.group, answer.member_id, observed)
        else:
            self._join_refused(join, error)

    def _join_refused(self, join: Join, error: ErrorCode) -> None:
        self._refused(join.member_id, join.request.group_instance_id, error)
        member = self.members.get(join.member_id)
        if member is not None:
            member.join_ticket = None
            if member.is_new and error not in AWAY:
                self._remove(member, f"its JoinGroup was rejected: {error.name.upper()}")

    def _waits(self, observed: ObservedCall, join: Join) -> None:
        """Note that a JoinGroup waits, or has waited, for other members."""
        join.waits = True
        request, member = join.request, self._member_of(join)
        self.evidence = REQUEST
        if member is None:
            self._newcomer_waits(observed, join)
            return
        if not join.member_id:
            self._static_waits(observed, join)
            return
        was_waiting = member.join_ticket in self.joins
        old_state, member.join_ticket = member.protocols, observed
        timeouts = _timeouts(observed, request)
        if member.client_id:
            changed = timeouts != (member.rebalance_timeout_ms, member.session_timeout_ms)
            self._source.metadata_changed(self.group, member, join.protocols, changed)
        self._take_over(member, observed, join)
        if self.group.state is not State.PREPARING_REBALANCE:
            same = shared_protocols(join.protocols) == old_state
            self._start(member.cause(self._rejoins_because(member, join, same), request.reason or ""))
        elif not member.is_new and not was_waiting:
            self._source.member_rejoined(self.group, member, request.reason or "")

    def _rejoins_because(self, member: Member, join: Join, same: bool) -> str:
        if not same:
            return "cooperative_followup" if REVOKED in (join.request.reason or "") else "metadata_changed"
        return "rejoin_leader" if member.member_id == self.group.leader_id else UNKNOWN_CAUSE

    def _static_waits(self, observed: ObservedCall, join: Join) -> None:
        """Note a returning static member, whose new id is in the response."""
        if self.group.state is not State.PREPARING_REBALANCE:
            name = "static_protocol_changed" if self.group.state is State.STABLE else "join_static"
            client = self._world.clients.of(observed)
            self._start(Cause(name, "", client.client_id, client.client_host, join.request.reason or ""))

    def _newcomer_waits(self, observed: ObservedCall, join: Join) -> None:
        request, name = join.request, "join_new" if join.request.group_instance_id is None else "join_static"
        client = self._world.clients.of(observed)
        cause = Cause(name, join.member_id, client.client_id, client.client_host, request.reason or "")
        if join.member_id:
            self._add(observed, join, cause)
        if self.group.state is not State.PREPARING_REBALANCE:
            self._start(cause)

    def _add(self, observed: ObservedCall, join: Join, cause: Cause) -> Member:
        request, group = join.request, self.group
        member = Member(
            join.member_id,
            request.group_instance_id,
            cause.client_id,
            cause.client_host,
            *_timeouts(observed, request),
            join.protocols,
        )
        member.is_new, member.join_ticket = True, observed
        self._issued.pop(join.member_id, None)
        self._unused_ids.pop(join.member_id, None)
        if not group.members:
            group.protocol_type = request.protocol_type
        group.members[join.member_id] = member
        self._speaks_on(member, observed)
        silent_since = self._removed_at_us.pop((cause.client_id, cause.client_host), None)
        if silent_since is not None:
            silent_ms = (self._world.moment.us - silent_since) // US_PER_MS
            self.evidence = f"{REQUEST}; its client joined again after {silent_ms} ms of silence"
        self._source.member_added(group, member, cause, observed)
        self.evidence = REQUEST
        return member

    def _take_over(self, member: Member, observed: ObservedCall, join: Join) -> None:
        """Take over the properties in a member's request."""
        self._speaks_on(member, observed)
        if not member.client_id:
            member.client_id, member.client_host, _ = self._world.clients.of(observed)
        member.rebalance_timeout_ms, member.session_timeout_ms = _timeouts(observed, join.request)
        member.protocols = shared_protocols(join.protocols)

    def _member_of(self, join: Join) -> Member | None:
        """Return the member with the request's member id or instance id, or None if it is new."""
        if join.member_id:
            return self.members.get(join.member_id)
        return self._static(join.request.group_instance_id)

    def _joined(self, observed: ObservedCall, join: Join, answer: JoinGroupResponse) -> None:
        if self.has_generation and answer.generation_id == self.group.generation_id:
            self._joined_this_generation(observed, join, answer)
            return
        self._named(observed, join, answer)
        self._settle_joins(self._world.moment.us)
        leads = answer.leader == answer.member_id
        leader = self.members.get(answer.leader)
        if not leads and leader is not None and leader.join_ticket in self.joins and leader.join_ticket is not observed:
            self._early.append((observed, join, answer))
        else:
            self._complete(observed, join, answer)

    def _named(self, observed: ObservedCall, join: Join, answer: JoinGroupResponse) -> None:
        """Apply the member id in a response."""
        old = None if join.member_id else self._static(join.request.group_instance_id)
        was_named, join.member_id = bool(join.member_id), answer.member_id
        if old is not None and old.member_id != answer.member_id:
            if not join.waits:
                self._static_waits(observed, join)
            self._replace(observed, old, answer.member_id, join.request.reason or "", rebalance=True)
            self._take_over(old, observed, join)
            join.waits, old.join_ticket = True, observed
        elif join.waits and (not was_named or answer.member_id not in self.members):
            self._waits(observed, join)

    def _joined_this_generation(self, observed: ObservedCall, join: Join, answer: JoinGroupResponse) -> None:
        """Apply a response in the known generation: one of several, or one that required no rebalance."""
        self.evidence = ANSWER
        old = None if join.member_id else self._static(join.request.group_instance_id)
        member = self.members.get(answer.member_id)
        if old is not None and old.member_id != answer.member_id:
            member = self._replace(observed, old, answer.member_id, join.request.reason or "", rebalance=False)
        if member is None:
            join.member_id = answer.member_id
            cause = Cause(UNKNOWN_CAUSE, answer.member_id, *self._world.clients.of(observed)[:2])
            member = self._add(observed, join, cause)
        if member.session_timeout_ms == NOT_KNOWN_MS:
            self._take_over(member, observed, join)
        member.join_ticket, member.is_new = None, False
        self._note_request(member)
        if answer.leader == answer.member_id and answer.members:
            self._roster(observed, answer)

    def _replace(self, observed: ObservedCall, old: Member, new_id: str, reason: str, *, rebalance: bool) -> Member:
        """Replace a static member that returns with a new id."""
        old_id = self._rename(old, new_id)
        self._speaks_on(old, observed)
        self._source.member_replaced(self.group, old, old_id, rebalance, observed, reason)
        return old

    def _rename(self, member: Member, new_id: str) -> str:
        """Replace the id of a static member. Return the old one."""
        old_id, member.member_id = member.member_id, new_id
        self.group.members = {(new_id if name == old_id else name): other for name, other in self.members.items()}
        if self.group.leader_id == old_id:
            self.group.leader_id = new_id
        self._lines.pop(old_id, None)
        self.connected.pop(old_id, None)
        self.strangers.discard(old_id)
        return old_id

    def _complete(self, observed: ObservedCall, join: Join, answer: JoinGroupResponse) -> None:
        """End the join phase at the first response of a new generation, or at that of its leader."""
        early, self._early = self._early, []
        group = self.group
        if answer.leader == answer.member_id:
            self._roster(observed, answer)
        else:
            self.is_complete, self.is_open_question = False, True
        group.generation_id, group.leader_id = answer.generation_id, answer.leader
        group.protocol_type, group.protocol_name = answer.protocol_type or group.protocol_type, answer.protocol_name
        group.subscribed_topics = group.read_subscriptions(tolerant=True)
        self.has_generation, self._handed_out, self._unsynced = True, None, set(self.members)
        self._go(State.COMPLETING_REBALANCE)
        absent = [member for member in self.members.values() if member.join_ticket is None]
        self._has_absent_members = bool(absent)
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
        self.evidence = f"{ANSWER}{self._missing_members()}"
        self._source.join_completed(group, (), group.rebalance_timeout_ms)
        self._missing = []
        for member in self.members.values():
            if member.join_ticket not in self.joins or member.join_ticket is observed:
                member.join_ticket = None
            member.is_new = False
        for response in early:
            if response[0] is not observed:
                self._joined_this_generation(*response)

    def _roster(self, observed: ObservedCall, answer: JoinGroupResponse) -> None:
        """Apply the leader's list of members: remove those that are missing in it, and add unknown ones."""
        listed = {entry.member_id: entry for entry in answer.members}
        for name, entry in listed.items():
            old = self._static(entry.group_instance_id)
            if name not in self.members and old is not None:
                waiting = [one for one, join in self.joins.items() if self._member_of(join) is old]
                self.evidence = ROSTER
                self._replace(waiting[-1] if waiting else observed, old, name, "", rebalance=True)
        for member in [other for other in self.members.values() if other.member_id not in listed]:
            self._remove(member, f"{ROSTER}: it is missing; {NOT_SHOWN}")
        for name, entry in listed.items():
            if name not in self.members:
                protocols = ((answer.protocol_name or "", entry.metadata),)
                self._joined_unseen(self._add_unseen(name, entry.group_instance_id, protocols=protocols), ROSTER)
                self.strangers.add(name)
                self.is_open_question = True
        self.is_complete = self.was_complete = True


def _timeouts(observed: ObservedCall, request: JoinGroupRequest) -> tuple[int, int]:
    """Return the rebalance timeout, which the oldest version does not have, and the session timeout in milliseconds."""
    session_ms = request.session_timeout_ms
    return (request.rebalance_timeout_ms if observed.header.api_version >= 1 else session_ms), session_ms
