"""Classic group as observed: JoinGroup, SyncGroup, Heartbeat, LeaveGroup and commits, with their responses.

State, members and generation come from the cluster's responses. Events within the cluster, such as the end of a
session, show in later responses: then they are reported without a cause.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.coordinator.classic.leaving import POLL_TIMEOUT
from kohort.coordinator.classic.states import State
from kohort.coordinator.effects import Cause
from kohort.protocol.errors import ErrorCode
from kohort.proxy.seen.classic_described import ClassicDescribed
from kohort.proxy.seen.classic_known import GROUP_REMAINS, NONE
from kohort.proxy.seen.event_desk import (
    ANSWER,
    COUNTED,
    REFUSAL,
    REQUEST,
)

if TYPE_CHECKING:
    from kohort.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
    from kohort.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
    from kohort.protocol.messages.offset_commit import OffsetCommitRequest
    from kohort.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
    from kohort.proxy.tap import ObservedCall


class ClassicSight(ClassicDescribed):
    """Classic group with all observed requests to its coordinator."""

    def sync_asked(self, observed: ObservedCall, request: SyncGroupRequest) -> None:
        """Note a member's SyncGroup, with the assignments if it is the leader's."""
        self.syncs[observed] = request
        member = self.members.get(request.member_id)
        if member is not None and request.generation_id == self.group.generation_id:
            member.sync_ticket = observed
            if request.assignments and self._handed_out is None and self.group.state is not State.STABLE:
                shares = {assignment.member_id: assignment.assignment for assignment in request.assignments}
                self._handed_out = member, shares, observed.requested_us

    def sync_answered(self, observed: ObservedCall, answer: SyncGroupResponse | None) -> None:
        """Apply the assignment or the error; None if the response was not copied."""
        request = self.syncs.pop(observed, None)
        if request is None:
            return
        member = self.members.get(request.member_id)
        if member is not None and member.sync_ticket is observed:
            member.sync_ticket = None
        if answer is None:
            return
        if answer.error_code is not NONE:
            self._refused(request.member_id, request.group_instance_id, answer.error_code)
            return
        self._meet_generation(request.generation_id)
        self._synced(observed, request, answer)

    def _synced(self, observed: ObservedCall, request: SyncGroupRequest, answer: SyncGroupResponse) -> None:
        group = self.group
        member = self.members.get(request.member_id) or self._meet(observed, request.member_id, request)
        group.protocol_type = answer.protocol_type or group.protocol_type
        group.protocol_name = answer.protocol_name or group.protocol_name
        if self._handed_out is not None and group.state is State.COMPLETING_REBALANCE:
            leader, shares, _ = self._handed_out
            self._handed_out = None
            self.evidence = f"{REQUEST}, and its response"
            self._source.assignment_received(group, leader, shares)
            for member_id in self.strangers:
                self.members[member_id].assignment = shares.get(member_id, b"")
        member.assignment = answer.assignment
        self._note_request(member)
        if member.member_id in self._unsynced:  # else it is a repeated request
            self._unsynced.discard(member.member_id)
            self.evidence = ANSWER
            self._source.member_synced(group, member)
        if group.state is not State.STABLE and not self._syncs_wait(group.generation_id):
            self._go(State.STABLE)
            self.is_open_question |= bool(self.strangers)
            self._source.rebalance_completed(group)

    def _syncs_wait(self, generation_id: int) -> bool:
        return any(sync.generation_id == generation_id for sync in self.syncs.values())

    def heartbeat_answered(self, observed: ObservedCall, request: HeartbeatRequest, answer: HeartbeatResponse) -> None:
        """Note whether the cluster knows the member."""
        error = answer.error_code
        if error not in (NONE, ErrorCode.rebalance_in_progress):
            self._refused(request.member_id, request.group_instance_id, error)
            return
        self._meet_generation(request.generation_id)
        member = self.members.get(request.member_id) or self._meet(observed, request.member_id, request)
        self._speaks_on(member, observed)
        self.beat(member.member_id)
        if error is not NONE:
            self._on_rebalance_error()
        elif not self.is_state_known:
            self._go(State.STABLE)

    def beat(self, member_id: str) -> None:
        """Note a heartbeat without an error."""
        member = self.members.get(member_id)
        if member is None:
            return
        stats = self._source.stats_of(member)
        gap_ms = self._note_request(member)
        stats.gaps[gap_ms] += 1
        if 0 < member.session_timeout_ms < gap_ms + gap_ms:
            self.evidence = COUNTED
            self._source.heartbeat_gap(self.group, member, gap_ms)

    def leave_answered(self, request: LeaveGroupRequest, answer: LeaveGroupResponse) -> None:
        """Remove members that left or were removed by an administrator."""
        if answer.error_code is not NONE:
            return
        causes = []
        results = answer.members or [None] * len(request.members)
        for identity, result in zip(request.members, results, strict=False):
            if result is not None and result.error_code is not NONE:
                continue
            member = self.members.get(identity.member_id) or self._static(identity.group_instance_id)
            reason = identity.reason or ""
            name = "leave_poll_timeout" if POLL_TIMEOUT in reason else "leave_explicit"
            if member is None and identity.member_id in self._issued:
                # The group rebalances, although the member never was in it.
                del self._issued[identity.member_id]
                self._unused_ids.pop(identity.member_id, None)
                self._source.member_id_discarded(self.group, identity.member_id)
                causes.append(Cause("leave_explicit", identity.member_id, reason=reason))
            if member is not None:
                causes.append(member.cause(name if identity.member_id else "leave_admin", reason))
                self.evidence = REQUEST
                self._remove(member, REQUEST, causes[-1].name, reason)
        if causes and self.group.state in GROUP_REMAINS:
            self._start(causes[-1])
        if self.is_complete and not self.members and self.group.state is State.PREPARING_REBALANCE:
            self._emptied()

    def _emptied(self) -> None:
        self._source.join_completed(self.group, (), 0)
        self._go(State.EMPTY)
        self._source.emptied(self.group)(NONE, 0)
        self._missing = []

    def committed(self, member_id: str, partitions: int) -> None:
        """Note an accepted commit of this many partitions."""
        self._source.committed(self.group, member_id, partitions)

    def commit_rejected(self, request: OffsetCommitRequest, error: ErrorCode, observed: ObservedCall) -> None:
        member_id, generation_id = request.member_id, request.generation_id_or_member_epoch
        self.evidence = REFUSAL
        self._source.commit_rejected(self.group, member_id, generation_id, error, observed)
        if error is not ErrorCode.rebalance_in_progress:  # so it is, too, when members have joined and not synced
            self._refused(member_id, request.group_instance_id, error)

    def deleted(self) -> None:
        self.evidence = REQUEST
        self._go(State.DEAD)
        self._source.group_gone(self.group, "group_deleted")

    def flush(self) -> None:
        """Report the events counted since the last call."""
        self.evidence = COUNTED
        self._source.flush(self.group)

    def on_close(self, observed: ObservedCall) -> None:
        join, sync = self.joins.pop(observed, None), self.syncs.pop(observed, None)
        for member in self.members.values():
            if join is not None and member.join_ticket is observed:
                member.join_ticket = None
            if sync is not None and member.sync_ticket is observed:
                member.sync_ticket = None
