"""Creates events of classic groups (offsets-topic §9.2) while there is a listener.

State between events is in `GroupEventState` and `MemberStats`. It does not influence the group.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.classic.classic_member import Member
from kohort.coordinator.classic.states import State
from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Cause
from kohort.coordinator.events.classic_event_emitter import ClassicEventEmitter, partitions_of
from kohort.coordinator.events.event_emitter import US_PER_MS
from kohort.coordinator.events.event_state import FENCED
from kohort.coordinator.events.member_stats import MemberStats, flushed
from kohort.coordinator.events.subscriptions import find_change, owned_by, topics_in
from kohort.coordinator.groups.observer import Observer
from kohort.coordinator.requesting_client import NOBODY_KNOWN, Client
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.coordinator.shared_values import Protocols


@dataclass(eq=False)
class ClassicEventSource(ClassicEventEmitter, Observer):
    """Creates events of the classic groups of one coordinator."""

    # Members

    def member_id_issued(self, group: "ClassicGroup", member_id: str, ticket: object) -> None:
        self._emit("member_id_issued", group, client=self.client_of(ticket), member_id=member_id)

    def member_added(self, group: "ClassicGroup", member: "Member", cause: Cause, ticket: object) -> None:
        member.stats = MemberStats(self.client_of(ticket).client_software, self.coordinator_ms())
        self.of(group).last_awaited = member
        self._of_member("member_added", group, member, cause=cause.name, reason=cause.reason)

    def member_rejoined(self, group: "ClassicGroup", member: "Member", reason: str) -> None:
        """Report a rejoin with its delay since the start of the rebalance."""
        state = self.of(group)
        state.last_awaited = member
        now_us = self.now_us()
        state.owners.rejoined(member.member_id, owned_by(member.protocols), now_us)
        delay_us = now_us - state.started_us
        self._of_member("member_rejoined", group, member, reason=reason, duration_us=delay_us)

    def member_replaced(
        self, group: "ClassicGroup", member: "Member", old_id: str, rebalance: bool, ticket: object, reason: str
    ) -> None:
        software = self.client_of(ticket).client_software
        self.stats_of(member).client_software = software
        self.of(group).renamed(old_id, member.member_id)
        detail = {"old_member_id": old_id, "rebalance": "true" if rebalance else "false"}
        offset = None if rebalance else self.coordinator.appended_offset
        self._of_member("member_replaced", group, member, reason=reason, detail=detail, log_offset=offset)

    def metadata_changed(self, group: "ClassicGroup", member: "Member", protocols: "Protocols", timeouts: bool) -> None:
        changed_part = find_change(member.protocols, protocols) or ("timeouts" if timeouts else None)
        if changed_part is not None:
            self._of_member("member_metadata_changed", group, member, detail={"what": changed_part})

    def member_removed(
        self, group: "ClassicGroup", member: "Member", cause: str, reason: str = "", *, has_joined: bool = False
    ) -> None:
        silent_ms = self.coordinator_ms() - self.stats_of(member).last_active_ms
        state = self.of(group)
        state.owners.release_member(member.member_id, self.now_us())
        if member.join_ticket is None and not has_joined:
            state.last_awaited = member
        if cause in ("barrier_timeout", "sync_timeout"):
            state.evicted.append(member.member_id)
        self._of_member("member_removed", group, member, cause=cause, reason=reason, duration_us=silent_ms * US_PER_MS)
        self.flush_stats_of(group, member)

    def member_fenced(self, group: "ClassicGroup", member_id: str, instance_id: str) -> None:
        """Report that another member has the instance ID by now, at most once a minute."""
        error = ErrorCode.fenced_instance_id
        if self.of(group).refusals.is_first(member_id, FENCED, NOBODY_KNOWN, group.generation_id):
            self._emit("member_fenced", group, member_id=member_id, instance_id=instance_id, error=name_of(error))

    def member_id_discarded(self, group: "ClassicGroup", member_id: str) -> None:
        self.of(group).last_awaited = member_id

    # Rebalances

    def rebalance_started(self, group: "ClassicGroup", cause: Cause) -> None:
        state, now_us = self.of(group), self.now_us()
        state.rebalances += 1
        rebalance_id = f"{group.group_id}/{self.epoch(group.partition)}/{state.rebalances}"
        if group.previous_state is State.COMPLETING_REBALANCE:
            self._emit(
                "rebalance_superseded",
                group,
                duration_us=now_us - state.started_us,
                generation=group.generation_id,
                detail={"next": rebalance_id},
            )
            state.joined_us = now_us
        stable_us = now_us - state.stable_us
        state.rebalance_id, state.started_us = rebalance_id, now_us
        state.last_awaited, state.is_initial = None, group.previous_state is State.EMPTY
        member = group.members.get(cause.member_id)
        self._emit(
            "rebalance_started",
            group,
            client=self._client(cause, member),
            state=True,
            generation=group.generation_id,
            member_id=cause.member_id or None,
            instance_id=None if member is None else member.group_instance_id,
            cause=cause.name,
            reason=cause.reason if cause.member_id else "",
            duration_us=stable_us if group.previous_state is State.STABLE else None,
            members=len(group.members),
        )
        for waiting in group.members.values():
            if waiting.join_ticket is not None and not waiting.is_new:
                self.member_rejoined(group, waiting, cause.reason if waiting is member else "")

    def join_progress(self, group: "ClassicGroup") -> None:
        self.of(group).half_time = None
        self._emit(
            "join_progress",
            group,
            duration_us=self.now_us() - self.of(group).started_us,
            waited_for=_awaited(group, [member for member in group.members.values() if member.join_ticket is None]),
            members=len(group.members),
            rebalance_timeout_ms=group.rebalance_timeout_ms,
        )

    def join_completed(self, group: "ClassicGroup", missing: Collection["Member"], timeout_ms: int) -> None:
        """Report the end of a join phase, with the member that the group waited for last.

        That is a member that is still missing, or else the last one that joined or was removed without having joined.
        After the initial delay the event does not name a member, because the timer ended the phase.
        """
        state, now_us = self.of(group), self.now_us()
        waited_for = () if state.is_initial and not missing else _awaited(group, missing)
        state.summary, state.joined_us = state.who_changed(set(group.members)), now_us
        state.cancel_half_time()
        if not group.members:
            return
        last: Member | str | None = None if state.is_initial else state.last_awaited
        if waited_for:
            last = next(iter(missing), waited_for[0])
        member = last if isinstance(last, Member) else None
        last_active_ms = self.coordinator_ms()
        for joined in group.members.values():
            self.stats_of(joined).last_active_ms = last_active_ms
        self._emit(
            "join_completed",
            group,
            client=None if member is None else self._client(None, member),
            state=True,
            generation=group.generation_id,
            member_id=last if member is None else member.member_id,
            instance_id=None if member is None else member.group_instance_id,
            cause="barrier_timeout" if waited_for else None,
            duration_us=now_us - state.started_us,
            waited_for=waited_for,
            members=len(group.members),
            rebalance_timeout_ms=timeout_ms,
            detail={"leader": group.leader_id or ""},
            **state.summary,
        )

    def assignment_received(
        self, group: "ClassicGroup", leader: "Member", assignments: dict[str, bytes]
    ) -> Callable[[ErrorCode], None]:
        state, now_us = self.of(group), self.now_us()
        generation_id, rebalance_id = group.generation_id, state.rebalance_id
        assigned_by_id = {
            member_id: partitions_of(group, assignments.get(member_id, b"")) for member_id in group.members
        }
        readable = {member_id: assigned for member_id, assigned in assigned_by_id.items() if assigned is not None}
        state.next_assigned = readable if len(readable) == len(assigned_by_id) else None
        partitions = None if state.next_assigned is None else sum(map(len, readable.values()))
        since_us, detail = now_us - state.joined_us, self._moves(group)
        self._of_member(
            "assignment_received", group, leader, duration_us=since_us, partitions=partitions, detail=detail
        )

        def stored(error: ErrorCode) -> None:
            if error is ErrorCode.none:
                self._emit(
                    "assignment_stored",
                    group,
                    rebalance_id=rebalance_id,
                    generation=generation_id,
                    duration_us=self.now_us() - now_us,
                    log_offset=self.coordinator.appended_offset,
                    partitions=partitions,
                )

        return stored

    def _moves(self, group: "ClassicGroup") -> dict[str, str] | None:
        """Return the number of moved partitions, and the possible minimum if all subscriptions are equal."""
        state = self.of(group)
        if state.next_assigned is None:
            return None
        alike = len({topics_in(member.metadata(group.protocol_name)) for member in group.members.values()}) == 1
        return state.owners.moves_to(state.next_assigned, group.subscribed_topics, alike=alike).as_detail()

    def member_synced(self, group: "ClassicGroup", member: "Member") -> None:
        self.stats_of(member).last_active_ms = self.coordinator_ms()
        state, now_us = self.of(group), self.now_us()
        assigned = partitions_of(group, member.assignment)
        unowned_us = 0 if assigned is None else state.owners.synced(member.member_id, assigned, now_us)
        self._of_member(
            "member_synced",
            group,
            member,
            duration_us=now_us - state.joined_us,
            partitions=None if assigned is None else len(assigned),
            detail={"unowned_us": str(unowned_us)} if unowned_us else None,
        )

    def sync_timeout(self, group: "ClassicGroup", late_ids: list[str]) -> None:
        since_us = self.now_us() - self.of(group).joined_us
        self._emit("sync_timeout", group, waited_for=tuple(late_ids), duration_us=since_us, cause="sync_timeout")

    def rebalance_completed(self, group: "ClassicGroup") -> None:
        state, now_us = self.of(group), self.now_us()
        self._emit(
            "rebalance_completed",
            group,
            state=True,
            generation=group.generation_id,
            duration_us=now_us - state.joined_us,
            members=len(group.members),
            detail={"total_us": str(now_us - state.started_us)},
            **state.summary,
        )
        state.stable_us = now_us
        if state.next_assigned is not None:
            state.owners.assigned(state.next_assigned, group.subscribed_topics)

    def emptied(self, group: "ClassicGroup") -> OnWritten:
        state = self.of(group)
        state.owners.release_all()
        values: dict[str, Any] = {
            "state_from": group.previous_state.value,
            "state_to": group.state.value,
            "rebalance_id": state.rebalance_id,
            "generation": group.generation_id,
            "members": 0,
            "duration_us": 0,
            "detail": {"total_us": str(state.joined_us - state.started_us)},
            **state.summary,
        }

        def written(error: ErrorCode, _: int) -> None:
            offset = self.coordinator.appended_offset if error is ErrorCode.none else None
            self._emit("rebalance_completed", group, log_offset=offset, **values)

        return written

    # Heartbeats and commits; `heartbeating.py` counts the heartbeats

    def heartbeat_gap(self, group: "ClassicGroup", member: "Member", gap_ms: int) -> None:
        self._of_member("heartbeat_gap", group, member, duration_us=gap_ms * US_PER_MS)

    def committed(self, group: Any, member_id: str, partitions: int) -> None:
        member = None if group is None else group.members.get(member_id)
        if member is not None:
            stats = self.stats_of(member)
            stats.commits += 1
            stats.committed_partitions += partitions

    def commit_rejected(self, group: Any, member_id: str, epoch: int, error: ErrorCode, ticket: object | None) -> None:
        """Report the first rejection of its type at once, and the number of later ones once a minute."""
        member = group.members.get(member_id)
        if member is not None:
            self.stats_of(member).rejected += 1
            client = self._client(None, member)
        else:
            client = NOBODY_KNOWN if ticket is None else self.client_of(ticket)
        if self.of(group).refusals.is_first(member_id, name_of(error), client, epoch):
            self._rejected(group, member_id, name_of(error), client, epoch, None)

    def _rejected(
        self, group: "ClassicGroup", member_id: str, error: str, client: Client, generation_id: int, more: int | None
    ) -> None:
        self._emit(
            "commit_rejected",
            group,
            client=client,
            member_id=member_id or None,
            error=error,
            generation=generation_id,
            detail=None if more is None else {"n": str(more)},
        )

    def flush_stats_of(self, group: "ClassicGroup", member: "Member") -> None:
        """Report heartbeats and commits since the last report."""
        for kind, values in flushed(self.stats_of(member)):
            self._of_member(kind, group, member, **values)

    def flush(self, group: "ClassicGroup") -> None:
        for member in group.members.values():
            if member.stats is not None:
                self.flush_stats_of(group, member)
        self.flush_refusals(group)

    def loaded(self, group: "ClassicGroup", load_us: int) -> None:
        self._initialize(group)
        members, generation_id = len(group.members), group.generation_id
        self._emit("group_loaded", group, duration_us=load_us, members=members, generation=generation_id)

    def flush_refusals(self, group: "ClassicGroup") -> None:
        """Report the number of repeated rejections; the next one of each type is reported at once again."""
        if group.event_state is not None:
            for refusal in group.event_state.refusals.flush():
                self._rejected(group, *refusal)

    # Groups and their partitions

    def group_created(self, group: "ClassicGroup", cause: str | None = None) -> None:
        # A group that a JoinGroup creates has no members yet, but it gets its type soon.
        self._emit("group_created", group, cause=cause, members=0, group_type="simple" if cause is None else "classic")

    def group_gone(self, group: Any, cause: str) -> None:
        for member in group.members.values():
            self.flush_stats_of(group, member)
        self.flush_refusals(group)
        self.of(group).cancel_half_time()
        if cause == "coordinator_failover":
            self._emit("group_unloaded", group, state=True, cause=cause, members=len(group.members))
        elif cause != "protocol_migration":  # the consumer group, or the restored one, is reported
            event_cause = cause if cause == "group_deleted" else "unknown"
            offset = self.coordinator.appended_offset if event_cause == "group_deleted" else None
            self._emit("group_deleted", group, state=True, cause=event_cause, log_offset=offset)

    def offsets_expired(self, group: Any, partitions: int) -> None:
        self._emit("offsets_expired", group, partitions=partitions, log_offset=self.coordinator.appended_offset)


def name_of(error: ErrorCode) -> str:
    return error.name.upper()


def _awaited(group: "ClassicGroup", missing: Iterable["Member"]) -> tuple[str, ...]:
    """Return the IDs of missing members, and of clients that have not joined with the ID issued to them."""
    return tuple(sorted([*(member.member_id for member in missing), *(group.pending_joins or ())]))
