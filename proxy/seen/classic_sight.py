"""A classic group as the traffic shows it: JoinGroup, SyncGroup, Heartbeat, LeaveGroup and commits, with their answers.

Its state, its members and its generation are what the cluster's answers say. What happens within the cluster, as the
end of a session, shows by what it answers afterwards: then it is told that something happened, and not why.
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
    from kohort.proxy.tap import Overheard


class ClassicSight(ClassicDescribed):
    """One group, with all that is said to its coordinator."""

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
        if answer.error_code is not NONE:
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
            for each in self.strangers:
                self.members[each].assignment = shares.get(each, b"")
        member.assignment = answer.assignment
        self._heard(member)
        if member.member_id in self._unsynced:  # else it has asked for it once more
            self._unsynced.discard(member.member_id)
            self.evidence = ANSWER
            self._source.member_synced(group, member)
        if group.state is not State.STABLE and not self._syncs_wait(group.generation_id):
            self._go(State.STABLE)
            self.is_open_question |= bool(self.strangers)
            self._source.rebalance_completed(group)

    def _syncs_wait(self, generation_id: int) -> bool:
        return any(each.generation_id == generation_id for each in self.syncs.values())

    def heartbeat_answered(self, overheard: Overheard, request: HeartbeatRequest, answer: HeartbeatResponse) -> None:
        """A member is known to the cluster, or is not."""
        error = answer.error_code
        if error not in (NONE, ErrorCode.rebalance_in_progress):
            self._refused(request.member_id, request.group_instance_id, error)
            return
        self._meet_generation(request.generation_id)
        member = self.members.get(request.member_id) or self._meet(overheard, request.member_id, request)
        self._speaks_on(member, overheard)
        self.beat(member.member_id)
        if error is not NONE:
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

    def leave_answered(self, request: LeaveGroupRequest, answer: LeaveGroupResponse) -> None:
        """Members have left, or were removed by an administrator."""
        if answer.error_code is not NONE:
            return
        causes = []
        answered = answer.members or [None] * len(request.members)
        for each, one in zip(request.members, answered, strict=False):
            if one is not None and one.error_code is not NONE:
                continue
            member = self.members.get(each.member_id) or self._static(each.group_instance_id)
            reason = each.reason or ""
            name = "leave_poll_timeout" if POLL_TIMEOUT in reason else "leave_explicit"
            if member is None and each.member_id in self._issued:
                # The group rebalances, although the member never was in it.
                del self._issued[each.member_id]
                self._unused_ids.pop(each.member_id, None)
                self._source.member_id_discarded(self.group, each.member_id)
                causes.append(Cause("leave_explicit", each.member_id, reason=reason))
            if member is not None:
                causes.append(member.cause(name if each.member_id else "leave_admin", reason))
                self.evidence = REQUEST
                self._remove(member, REQUEST, causes[-1].name, reason)
        if causes and self.group.state in GROUP_REMAINS:
            self._start(causes[-1])
        if self.is_complete and not self.members and self.group.state is State.PREPARING_REBALANCE:
            self._emptied()

    def _emptied(self) -> None:
        """The last member has left."""
        self._source.join_completed(self.group, (), 0)
        self._go(State.EMPTY)
        self._source.emptied(self.group)(NONE, 0)
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
        """The group was deleted by a request."""
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
