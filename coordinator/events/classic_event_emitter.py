"""Creation of events of classic groups, and the state kept of a group and its members between events."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kohort.coordinator.effects import Cause
from kohort.coordinator.events.event_emitter import EventEmitter
from kohort.coordinator.events.event_state import GroupEventState
from kohort.coordinator.events.member_stats import MemberStats
from kohort.coordinator.events.owners import Owners, partitions_in
from kohort.coordinator.requesting_client import NOBODY_KNOWN, Client
from kohort.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from kohort.coordinator.classic.classic_group import ClassicGroup
    from kohort.coordinator.classic.classic_member import Member

OF_A_REBALANCE = frozenset({
    "rebalance_started", "rebalance_superseded", "member_rejoined", "join_progress", "join_completed",
    "assignment_received", "member_synced", "sync_timeout", "rebalance_completed",
})  # fmt: skip


@dataclass(eq=False)
class ClassicEventEmitter(EventEmitter):
    """Creates the events of the classic groups of one coordinator."""

    def of(self, group: "ClassicGroup") -> GroupEventState:
        if group.event_state is None:
            # New members have not been in a generation yet. The others are taken as they are.
            members = [member for member in group.members.values() if not member.is_new]
            owners = Owners(
                {member.member_id: partitions_of(group, member.assignment) or frozenset() for member in members}
            )
            group.event_state = GroupEventState((member.member_id for member in members), owners, self.now_us())
        return group.event_state

    def reset(self, group: "ClassicGroup") -> None:
        """Discard the state of an earlier observer, which has missed events since it ended."""
        group.event_state = None
        for member in group.members.values():
            member.stats = None
        self._initialize(group)

    def _initialize(self, group: "ClassicGroup") -> None:
        self.of(group)
        for member in group.members.values():
            self.stats_of(member)

    def stats_of(self, member: "Member") -> MemberStats:
        """Return the statistics of a member; they start now for a member that was loaded from the log."""
        if member.stats is None:
            member.stats = MemberStats(None, self.coordinator_ms())
        return member.stats

    def _client(self, cause: Cause | None, member: "Member | None") -> Client:
        if member is not None:
            software = None if member.stats is None else member.stats.client_software
            return Client(member.client_id, member.client_host, software)
        return NOBODY_KNOWN if cause is None else Client(cause.client_id, cause.client_host)

    def _of_member(self, kind: str, group: "ClassicGroup", member: "Member", **values: Any) -> None:
        self._emit(
            kind,
            group,
            client=self._client(None, member),
            member_id=member.member_id,
            instance_id=member.group_instance_id,
            generation=group.generation_id,
            members=len(group.members),
            session_timeout_ms=member.session_timeout_ms,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            **values,
        )

    def _emit(
        self,
        kind: str,
        group: "ClassicGroup",
        *,
        client: Client | None = None,
        state: bool = False,
        reason: str = "",
        **values: Any,
    ) -> None:
        now_us, client = self.now_us(), client or NOBODY_KNOWN
        if state:
            values["state_from"], values["state_to"] = group.previous_state.value, group.state.value
        if "group_type" not in values:
            has_members = bool(group.members or group.pending_joins)
            values["group_type"] = "simple" if group.protocol_type is None and not has_members else "classic"
        if "rebalance_id" not in values and kind in OF_A_REBALANCE:
            values["rebalance_id"] = self.of(group).rebalance_id
        self.coordinator.effects.append(
            self.event(
                kind,
                group.partition,
                client,
                now_us,
                group_id=group.group_id,
                protocol_type=group.protocol_type,
                protocol=group.protocol_name,
                reason=reason,
                **values,
            )
        )


def partitions_of(group: "ClassicGroup", assignment: bytes) -> frozenset[TopicPartition] | None:
    """Return the partitions of an assignment, or None if they are unknown because the members are not consumers."""
    return partitions_in(assignment) if group.protocol_type == "consumer" else None
