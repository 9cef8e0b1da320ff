"""State of an observed classic group, and its events, which contain only what is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.classic.classic_member import Member
from kohort.coordinator.classic.states import State
from kohort.coordinator.effects import Cause
from kohort.coordinator.events.classic_event_source import ClassicEventSource
from kohort.coordinator.events.event_emitter import US_PER_MS
from kohort.coordinator.events.group_event import NO_PARTITION
from kohort.coordinator.groups.group import CLASSIC
from kohort.protocol.errors import ErrorCode
from kohort.proxy.observed.observed_events import (
    COUNTED,
    DESCRIBED,
    EVIDENCE,
    NOT_SHOWN,
    REQUEST,
    UNKNOWN_CAUSE,
    ObservedEvents,
)
from kohort.proxy.observed.observed_group import ObservedGroup

if TYPE_CHECKING:
    from kohort.coordinator.events.group_event import GroupEvent
    from kohort.coordinator.shared_values import Protocols
    from kohort.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
    from kohort.protocol.messages.sync_group import SyncGroupRequest
    from kohort.proxy.observed.observed_group import Traffic
    from kohort.proxy.tap import ObservedCall

UNKNOWN_MS: Final = -1  # in place of an unknown timeout of a member

NONE: Final = ErrorCode.none
COORDINATOR_ERRORS: Final = (
    ErrorCode.not_coordinator,
    ErrorCode.coordinator_not_available,
    ErrorCode.coordinator_load_in_progress,
    ErrorCode.group_authorization_failed,
)
"""Errors that do not depend on the group."""

# periodic events, before which others may have been missed
_COUNTED: Final = ("heartbeat_gap", "heartbeat_stats", "commit_stats")

GENERATION_STATES = (State.STABLE, State.COMPLETING_REBALANCE)


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


class ObservedClassicGroup(ObservedGroup):
    """Observed classic group. `classic` and its members hold what is known, in the coordinator's form.

    State, members and generation come from the cluster's responses. Events within the cluster, such as the end of a
    session, show in later responses: then they are reported without a cause.
    """

    def __init__(self, group_id: str, traffic: Traffic) -> None:
        super().__init__(group_id, CLASSIC, traffic)
        self.classic = ClassicGroup(cast(Any, None), group_id, NO_PARTITION, 0)
        self.joins: dict[ObservedCall, Join] = {}
        self.syncs: dict[ObservedCall, SyncGroupRequest] = {}
        # ids of members known from a list or description that have sent nothing through the proxy
        self.unobserved_ids: set[str] = set()
        self.is_state_known = False
        self.has_joined = False
        self.has_generation = False  # whether a response has contained the generation
        self._from_is_known = False
        # leader and its assignments; None before the leader syncs, and once reported
        self.unreported_assignment: tuple[Member, dict[str, bytes]] | None = None
        self.unsynced: set[str] = set()  # members of this generation without an assignment yet
        # responses of a new generation that came before the leader's, which lists the members
        self.early_joins: list[tuple[ObservedCall, Join, JoinGroupResponse]] = []
        self.issued_ids: dict[str, None] = {}
        # ids issued since the last generation that no member has used, oldest first
        self.unused_ids: dict[str, None] = {}
        self.has_absent_members = False  # whether a member of this generation was not observed to join
        self.connected: dict[str, bool] = {}  # by member id, whether its last connection is open; missing if unknown
        self._line_by_member: dict[str, int] = {}
        self.missing_ids: list[str] = []  # members removed since the last generation for unknown reasons
        self.removed_at_us: dict[tuple[str, str], int] = {}  # last activity of removed members, by client id and host
        # generation in which the last description showed Stable; None if it did not, or the generation is unknown
        self.rested_at: int | None = None
        host = ObservedEvents(traffic.epoch_ms, self._filter_event)
        self.events = ClassicEventSource(host, lambda: traffic.now_us, traffic.client_of, lambda _: NO_PARTITION)

    @property
    def members(self) -> dict[str, Member]:
        """Members by id."""
        return self.classic.members

    @property
    def state_name(self) -> str:
        """The state as on the wire, `Unknown` if it is not known."""
        return self.classic.state.value if self.is_state_known else "Unknown"

    @property
    def rebalancing_since_us(self) -> int:
        """Time at which the observed rebalance began."""
        return self.events.of(self.classic).started_us

    @property
    def is_unsettled(self) -> bool:
        """Whether `settle` may have something to note."""
        return bool(self.early_joins) or any(not join.waits for join in self.joins.values())

    @property
    def awaits_leader(self) -> bool:
        """Whether responses of a new generation have arrived, but not the leader's."""
        return bool(self.early_joins)

    def on_connection_end(self, number: int) -> None:
        for member_id, line in self._line_by_member.items():
            if line == number:
                self.connected[member_id] = False

    def silent_ms(self, member: Member, now_us: int) -> int:
        """Return the time since the member's last request."""
        return now_us // US_PER_MS - self.events.stats_of(member).last_active_ms

    def note_request(self, member: Member) -> int:
        """Note a request of a member. Return the milliseconds since its previous one."""
        stats, now_ms = self.events.stats_of(member), self.traffic.now_us // US_PER_MS
        gap_ms, stats.last_active_ms = now_ms - stats.last_active_ms, now_ms
        return gap_ms

    def note_connection(self, member: Member, observed: ObservedCall) -> None:
        self._line_by_member[member.member_id], self.connected[member.member_id] = observed.line.number, True
        if member.member_id in self.unobserved_ids:
            self.unobserved_ids.discard(member.member_id)
            member.client_id, member.client_host, _ = self.traffic.client_of(observed)
            self.note_request(member)

    def find_static_member(self, instance_id: str | None) -> Member | None:
        members = (member for member in self.members.values() if member.group_instance_id == instance_id)
        return None if instance_id is None else next(members, None)

    def describe_silence(self) -> str:
        """Return a text about members that exceeded their session timeout."""
        now_us = self.traffic.now_us
        silent = [
            f"; {member.group_instance_id or member.client_id or member.member_id} has been silent for {silent_ms} ms"
            for member in self.members.values()
            if (silent_ms := self.silent_ms(member, now_us)) > member.session_timeout_ms > 0
        ]
        return "".join(silent)

    def remove(self, member: Member, evidence: str, cause: str = UNKNOWN_CAUSE, reason: str = "") -> None:
        self.removed_at_us[member.client_id, member.client_host] = (
            self.events.stats_of(member).last_active_ms * US_PER_MS
        )
        while len(self.removed_at_us) > self.traffic.max_removed:
            del self.removed_at_us[next(iter(self.removed_at_us))]
        del self.members[member.member_id]
        self._line_by_member.pop(member.member_id, None)
        self.connected.pop(member.member_id, None)
        self.unobserved_ids.discard(member.member_id)
        if cause == UNKNOWN_CAUSE:
            self.missing_ids.append(member.member_id)
        self.evidence = evidence
        self.events.member_removed(self.classic, member, cause, reason)
        if cause == UNKNOWN_CAUSE and self.is_complete and not self.members and not self.joins:
            self.set_state(State.EMPTY)

    def rename(self, member: Member, new_id: str) -> str:
        """Replace the id of a static member. Return the old one."""
        old_id, member.member_id = member.member_id, new_id
        self.classic.members = {(new_id if name == old_id else name): other for name, other in self.members.items()}
        if self.classic.leader_id == old_id:
            self.classic.leader_id = new_id
        self._line_by_member.pop(old_id, None)
        self.connected.pop(old_id, None)
        self.unobserved_ids.discard(old_id)
        return old_id

    def describe_missing(self) -> str:
        missing = ", ".join(self.missing_ids)
        return f"; {missing} {'are' if len(self.missing_ids) > 1 else 'is'} gone, {NOT_SHOWN}" if missing else ""

    def note_heartbeat(self, member_id: str) -> None:
        """Note a heartbeat without an error."""
        member = self.members.get(member_id)
        if member is None:
            return
        stats = self.events.stats_of(member)
        gap_ms = self.note_request(member)
        stats.gaps[gap_ms] += 1
        if 0 < member.session_timeout_ms < gap_ms + gap_ms:
            self.evidence = COUNTED
            self.events.heartbeat_gap(self.classic, member, gap_ms)

    def committed(self, member_id: str, partitions: int) -> None:
        """Note an accepted commit of this many partitions."""
        self.events.committed(self.classic, member_id, partitions)

    def deleted(self) -> None:
        self.evidence = REQUEST
        self.set_state(State.DEAD)
        self.events.group_gone(self.classic, "group_deleted")

    def flush(self) -> None:
        """Report the events counted since the last call."""
        self.evidence = COUNTED
        self.events.flush(self.classic)

    def start_rebalance(self, cause: Cause) -> None:
        self.set_state(State.PREPARING_REBALANCE)
        self.events.rebalance_started(self.classic, cause)

    def set_state(self, state: State) -> None:
        self._from_is_known, self.is_state_known = self.is_state_known, True
        self.classic.previous_state, self.classic.state = self.classic.state, state
        if state is State.EMPTY:
            self.has_generation, self.classic.protocol_name = False, None

    def adopt_generation(self, generation_id: int) -> None:
        """Take over the generation of a group that was active before, or whose joins did not pass through the proxy."""
        if not self.has_generation or generation_id > self.classic.generation_id:
            self.classic.generation_id, self.has_generation, self.is_complete = generation_id, True, False
            self.needs_description = True

    def add_active_member(self, observed: ObservedCall, member_id: str, request: Any) -> Member:
        """Add a member that was active before the proxy listened."""
        client = self.traffic.client_of(observed)
        member = self.add_unobserved(member_id, request.group_instance_id, client.client_id, client.client_host)
        self.needs_description = True
        self.unsynced.add(member_id)
        self.events.of(self.classic).member_ids.add(member_id)
        return member

    def add_unobserved(
        self,
        member_id: str,
        instance_id: str | None,
        client_id: str = "",
        client_host: str = "",
        protocols: Protocols = (),
    ) -> Member:
        """Add a member whose join was not observed; its timeouts are unknown."""
        unknown = UNKNOWN_MS, UNKNOWN_MS
        member = Member(member_id, instance_id, client_id, client_host, *unknown, protocols)
        self.members[member_id] = member
        self.events.stats_of(member)
        return member

    def report_unobserved_join(self, member: Member, shown_by: str) -> None:
        """Report a member that joined without the proxy; `shown_by` begins the evidence."""
        self.evidence = f"{shown_by}; it joined without the proxy"
        self.events._of_member("member_added", self.classic, member, cause=UNKNOWN_CAUSE)

    def _filter_event(self, event: GroupEvent) -> None:
        """Remove from an event what is not known."""
        if event.group_type == "simple" and self.has_joined:
            event.group_type = self.group_type
        if event.left is not None and self.missing_ids:
            # Whether they have left, were too slow or fell silent is not known.
            event.left = event.evicted = event.waited_for = None
        if self.has_absent_members:
            event.waited_for = None
        if event.state_from is not None and not self._from_is_known:
            event.state_from = None
        unnamed = any(join.waits and not join.member_id for join in self.joins.values())
        is_unexplained_removal = event.kind == "member_removed" and event.cause == UNKNOWN_CAUSE
        if not self.is_complete or unnamed or is_unexplained_removal or event.kind in _COUNTED:
            event.members = None
        if not self.has_generation and event.error is None:
            event.generation = None
        for name in ("session_timeout_ms", "rebalance_timeout_ms"):
            if getattr(event, name) == UNKNOWN_MS:
                setattr(event, name, None)
        event.detail = {**(event.detail or {}), EVIDENCE: self.evidence}
        if self.evidence.startswith(DESCRIBED):
            self._remove_undescribed(event)
        self.hand_out(event)

    def _remove_undescribed(self, event: GroupEvent) -> None:
        """Remove what a description does not contain: the generation and durations."""
        event.generation = None
        if event.kind not in _COUNTED:
            event.duration_us, event.detail = None, {EVIDENCE: self.evidence}
            event.joined = event.left = event.evicted = None
