"""Known state of an observed classic group, and its events, which contain only what is known."""

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
    from kohort.proxy.tap import ObservedCall

NOT_KNOWN_MS: Final = -1  # in place of an unknown timeout of a member

NONE: Final = ErrorCode.none
AWAY: Final = (
    ErrorCode.not_coordinator,
    ErrorCode.coordinator_not_available,
    ErrorCode.coordinator_load_in_progress,
    ErrorCode.group_authorization_failed,
)
"""Errors that do not depend on the group."""

# periodic events, before which others may have been missed
_COUNTED: Final = ("heartbeat_gap", "heartbeat_stats", "commit_stats")

GROUP_REMAINS = (State.STABLE, State.COMPLETING_REBALANCE)


class Join:
    """JoinGroup request without a response."""

    def __init__(self, request: JoinGroupRequest) -> None:
        self.request = request
        self.member_id = request.member_id
        self.waits = False  # whether it waits for other members, so that the group rebalances

    @property
    def protocols(self) -> Protocols:
        """The protocols in the coordinator's form."""
        return tuple((protocol.name, protocol.metadata) for protocol in self.request.protocols)


class ClassicKnown(Sight):
    """Observed classic group. `group` and its members hold what is known, in the coordinator's form."""

    group_type = "classic"

    def __init__(self, group_id: str, world: SightWorld) -> None:
        super().__init__(group_id, world)
        self.group = ClassicGroup(cast(Any, None), group_id, NO_PARTITION, 0)
        self.joins: dict[ObservedCall, Join] = {}
        self.syncs: dict[ObservedCall, SyncGroupRequest] = {}
        self.is_complete = False  # whether all members are known, from the leader's list or a description
        # ids of members known from a list or description that have sent nothing through the proxy
        self.strangers: set[str] = set()
        self.is_state_known = False
        self._was_joined = False
        self.has_generation = False  # whether a response has contained the generation
        self._from_is_known = False
        # leader, its assignments and their time; None before the leader syncs, and once reported
        self._handed_out: tuple[Member, dict[str, bytes], int] | None = None
        self._unsynced: set[str] = set()  # members of this generation without an assignment yet
        # responses of a new generation that came before the leader's, which lists the members
        self._early: list[tuple[ObservedCall, Join, JoinGroupResponse]] = []
        self._issued: dict[str, None] = {}
        # ids issued since the last generation that no member has used, oldest first
        self._unused_ids: dict[str, None] = {}
        self._has_absent_members = False  # whether a member of this generation was not seen to join
        self.connected: dict[str, bool] = {}  # by member id, whether its last connection is open; missing if unknown
        self._lines: dict[str, int] = {}
        self._missing: list[str] = []  # members removed since the last generation for unknown reasons
        self._removed_at_us: dict[tuple[str, str], int] = {}  # last activity of removed members, by client id and host
        desk = EventDesk(world.moment, self._take)
        clients = world.clients
        self._source = ClassicEventSource(cast(Any, desk), world.moment.now_us, clients.of, lambda _: NO_PARTITION)

    @property
    def members(self) -> dict[str, Member]:
        """Members by id."""
        return self.group.members

    @property
    def unsynced(self) -> set[str]:
        """Ids of members of this generation that have received no assignment."""
        return self._unsynced

    @property
    def state_name(self) -> str:
        """The state as on the wire, `Unknown` if it is not known."""
        return self.group.state.value if self.is_state_known else "Unknown"

    @property
    def rebalancing_since_us(self) -> int:
        """Time at which the observed rebalance began."""
        return self._source.of(self.group).started_us

    def line_ended(self, number: int) -> None:
        for member_id, line in self._lines.items():
            if line == number:
                self.connected[member_id] = False

    def silent_ms(self, member: Member, now_us: int) -> int:
        """Return the time since the member's last request."""
        return now_us // US_PER_MS - self._source.stats_of(member).last_active_ms

    def _note_request(self, member: Member) -> int:
        """Note a request of a member. Return the milliseconds since its previous one."""
        stats, now_ms = self._source.stats_of(member), self._world.moment.us // US_PER_MS
        gap_ms, stats.last_active_ms = now_ms - stats.last_active_ms, now_ms
        return gap_ms

    def _speaks_on(self, member: Member, observed: ObservedCall) -> None:
        self._lines[member.member_id], self.connected[member.member_id] = observed.line.number, True
        if member.member_id in self.strangers:
            self.strangers.discard(member.member_id)
            member.client_id, member.client_host, _ = self._world.clients.of(observed)
            self._note_request(member)

    def _static(self, instance_id: str | None) -> Member | None:
        members = (member for member in self.members.values() if member.group_instance_id == instance_id)
        return None if instance_id is None else next(members, None)

    def _on_rebalance_error(self) -> None:
        """Note that the cluster rebalances the group."""
        if self.group.state is State.PREPARING_REBALANCE:
            return
        self.settle(self._world.moment.us)
        if self.group.state in GROUP_REMAINS or not self.is_state_known:
            self.evidence = f"{REFUSAL}: members must join again; {NOT_SHOWN}{self._silent_ones()}"
            self.is_complete, self.is_open_question = False, True  # a member may have left
            self._start(Cause(UNKNOWN_CAUSE))

    def _silent_ones(self) -> str:
        """Return a text about members that exceeded their session timeout."""
        now_us = self._world.moment.us
        silent = [
            f"; {member.group_instance_id or member.client_id or member.member_id} has been silent for {silent_ms} ms"
            for member in self.members.values()
            if (silent_ms := self.silent_ms(member, now_us)) > member.session_timeout_ms > 0
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
            self._on_rebalance_error()

    def _remove(self, member: Member, evidence: str, cause: str = UNKNOWN_CAUSE, reason: str = "") -> None:
        self._removed_at_us[member.client_id, member.client_host] = (
            self._source.stats_of(member).last_active_ms * US_PER_MS
        )
        while len(self._removed_at_us) > self._world.max_removed:
            del self._removed_at_us[next(iter(self._removed_at_us))]
        del self.members[member.member_id]
        self._lines.pop(member.member_id, None)
        self.connected.pop(member.member_id, None)
        self.strangers.discard(member.member_id)
        if cause == UNKNOWN_CAUSE:
            self._missing.append(member.member_id)
        self.evidence = evidence
        self._source.member_removed(self.group, member, cause, reason)
        if cause == UNKNOWN_CAUSE and self.is_complete and not self.members and not self.joins:
            self._go(State.EMPTY)

    def _missing_members(self) -> str:
        missing = ", ".join(self._missing)
        return f"; {missing} {'are' if len(self._missing) > 1 else 'is'} gone, {NOT_SHOWN}" if missing else ""

    def _start(self, cause: Cause) -> None:
        self._go(State.PREPARING_REBALANCE)
        self._source.rebalance_started(self.group, cause)

    def _go(self, state: State) -> None:
        self._from_is_known, self.is_state_known = self.is_state_known, True
        self.group.previous_state, self.group.state = self.group.state, state
        if state is State.EMPTY:
            self.has_generation, self.group.protocol_name = False, None

    def _meet_generation(self, generation_id: int) -> None:
        """Take over the generation of a group that was active before, or whose joins did not pass through the proxy."""
        if not self.has_generation or generation_id > self.group.generation_id:
            self.group.generation_id, self.has_generation, self.is_complete = generation_id, True, False
            self.is_open_question = True

    def _meet(self, observed: ObservedCall, member_id: str, request: Any) -> Member:
        """Add a member that was active before the proxy listened."""
        client = self._world.clients.of(observed)
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
        """Add a member whose join was not observed; its timeouts are unknown."""
        unknown = NOT_KNOWN_MS, NOT_KNOWN_MS
        member = Member(member_id, instance_id, client_id, client_host, *unknown, protocols)
        self.members[member_id] = member
        self._source.stats_of(member)
        return member

    def _joined_unseen(self, member: Member, shown_by: str) -> None:
        """Report a member that joined without the proxy; `shown_by` begins the evidence."""
        self.evidence = f"{shown_by}; it joined without the proxy"
        self._source._of_member("member_added", self.group, member, cause=UNKNOWN_CAUSE)

    def _take(self, event: GroupEvent) -> None:
        """Remove from an event what is not known."""
        if event.group_type == "simple" and self._was_joined:
            event.group_type = self.group_type
        if event.left is not None and self._missing:
            # Whether they have left, were too slow or fell silent is not known.
            event.left = event.evicted = event.waited_for = None
        if self._has_absent_members:
            event.waited_for = None
        if event.state_from is not None and not self._from_is_known:
            event.state_from = None
        unnamed = any(join.waits and not join.member_id for join in self.joins.values())
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
        self._report(event)

    def _leave_out_undescribed(self, event: GroupEvent) -> None:
        """Remove what a description does not contain: the generation and durations."""
        event.generation = None
        if event.kind not in _COUNTED:
            event.duration_us, event.detail = None, {EVIDENCE: self.evidence}
            event.joined = event.left = event.evicted = None

    def settle(self, before_us: int) -> None:
        """Note that JoinGroup requests from before `before_us` without a response wait: the group rebalances."""
        raise NotImplementedError
