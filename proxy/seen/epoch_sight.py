"""Consumer (KIP-848), share or streams group as observed in its heartbeats.

A response contains the member's own epoch and its assignment. The group epoch is at least the highest of these. All
members have their assignments if none must revoke anything, nothing revoked is unassigned, or all have received a
response without changes since.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kohort.coordinator.effects import Cause
from kohort.coordinator.events.event_emitter import US_PER_MS
from kohort.coordinator.events.event_state import FENCED
from kohort.coordinator.events.group_event import NO_PARTITION
from kohort.coordinator.modern.modern_values import LEAVING_EPOCH, STATIC_LEAVING_EPOCH
from kohort.coordinator.requesting_client import NOBODY_KNOWN, Client
from kohort.protocol.errors import ErrorCode
from kohort.proxy.seen.epoch_events import EpochEvents
from kohort.proxy.seen.epoch_member import EpochMember
from kohort.proxy.seen.event_desk import (
    ANSWER,
    NOT_SHOWN,
    REFUSAL,
    REQUEST,
    UNKNOWN_CAUSE,
)

if TYPE_CHECKING:
    from kohort.proxy.tap import ObservedCall

JOINS: Final = 0

FIRST_SUBSCRIBED: Final = 2
"""Epoch of a new group once its first member has subscribed."""

_FENCING: Final = (
    ErrorCode.fenced_member_epoch, ErrorCode.fenced_instance_id, ErrorCode.unreleased_instance_id
)  # fmt: skip


class EpochSight(EpochEvents):
    """Observed group of a newer protocol."""

    # Differences between the protocols

    def _assignment_in(self, answer: Any) -> frozenset[Any] | None:
        """Return the assignment in a response, or None if it is unchanged."""
        raise NotImplementedError

    def _still_has(self, request: Any) -> frozenset[Any] | None:
        """Return the owned partitions in a request, or None if they are unchanged."""
        return None

    def _changed_property(self, member: EpochMember, request: Any) -> str | None:
        """Take over a member's properties. Return the name of one that has changed, or None."""
        names = request.subscribed_topic_names
        if names is not None and tuple(sorted(names)) != member.topics:
            member.topics = tuple(sorted(names))
            return "subscription"
        return None

    # State

    @property
    def state_name(self) -> str:
        """The observed state."""
        if not self.members:
            return "Empty" if self.is_complete else "Unknown"
        return "Stable" if not self._state.is_open and self.is_settled else "Reconciling"

    @property
    def is_settled(self) -> bool:
        """Whether no observed change is incomplete."""
        present = [member for member in self.members.values() if not member.is_away]
        if self._because is not None:
            return False
        if any(member.revoking or member.epoch != self.epoch for member in present):
            return False
        return not (self.gives_up and self._free) or all(member.quiet_us > self._freed_us for member in present)

    # Heartbeats

    def heartbeat_answered(self, observed: ObservedCall, request: Any, answer: Any) -> bool:
        """Apply a heartbeat and its response. Return whether anything changed."""
        name = answer.member_id or request.member_id
        if answer.error_code is not ErrorCode.none:
            self._refused(name, request, answer.error_code, observed)
            return True
        member = self.members.get(name)
        if request.member_epoch in (LEAVING_EPOCH, STATIC_LEAVING_EPOCH):
            self._leaves(member, request.member_epoch)
            return True
        epoch_before, self.epoch = self.epoch, max(self.epoch, answer.member_epoch)
        news = member is None or request.member_epoch == JOINS
        if member is None or member.is_away:
            member = self._add(name, observed, request, answer.member_epoch, epoch_before)
        self.beat(member.member_id)
        news |= self._takes(member, observed, request, answer, epoch_before)
        if not news:
            member.quiet_us = self._world.moment.us
        self._look_whether_settled(member)
        return news

    def beat(self, member_id: str) -> None:
        """Note a heartbeat without an error."""
        member = self.members.get(member_id)
        if member is None:
            return
        now_ms = self._world.moment.us // US_PER_MS
        if self.counts_heartbeats:
            member.stats.gaps[now_ms - member.stats.last_active_ms] += 1
        member.stats.last_active_ms = now_ms
        if member.epoch == self.epoch and not member.revoking:
            member.quiet_us = self._world.moment.us
            if self._state.is_open:
                self._look_whether_settled(member)

    def _add(self, name: str, observed: ObservedCall, request: Any, epoch: int, epoch_before: int) -> EpochMember:
        """Add a member that joins, or that was active before the proxy listened."""
        client = self._world.clients.of(observed)
        member = EpochMember(name, client, observed.line.number, self._world.moment.us // US_PER_MS)
        member.instance_id = getattr(request, "instance_id", None)
        member.rebalance_timeout_ms = getattr(request, "rebalance_timeout_ms", -1)
        member.epoch = epoch
        self._changed_property(member, request)
        old = self._holder(member.instance_id)
        if request.member_epoch != JOINS:
            self.members[name] = member
            self._state.member_ids.add(name)
            member.is_share_known, self.is_open_question = False, True
        elif old is not None:
            self._replaces(member, old)
        else:
            self._joins(member, epoch_before)
        return member

    def _joins(self, member: EpochMember, epoch_before: int) -> None:
        self.members[member.member_id] = member
        self.evidence = REQUEST
        cause = "join_new" if member.instance_id is None else "join_static"
        client = member.client
        if member.topics or member.topic_regex or self.group_type == "streams":
            self._because = Cause(cause, member.member_id, client.client_id, client.client_host)
        generation = self.epoch if self.epoch > epoch_before else None
        self._of_member("member_added", member, cause=cause, generation=generation)

    def _holder(self, instance_id: str | None) -> EpochMember | None:
        holders = (member for member in self.members.values() if member.instance_id == instance_id)
        return None if instance_id is None else next(holders, None)

    def _replaces(self, member: EpochMember, old: EpochMember) -> None:
        """Replace a static member that returns, perhaps with a new id."""
        old_id = self._rename(old, member.member_id)
        self.members[member.member_id] = member
        member.has = old.has
        self.evidence = REQUEST
        self._of_member("member_replaced", member, detail={"old_member_id": old_id})

    def _rename(self, member: EpochMember, new_id: str) -> str:
        """Replace the id of a static member. Return the old one."""
        old_id, member.member_id = member.member_id, new_id
        self.members = {(new_id if other is member else name): other for name, other in self.members.items()}
        self._owners.renamed(old_id, new_id)
        self._state.renamed(old_id, new_id)
        return old_id

    def _takes(self, member: EpochMember, observed: ObservedCall, request: Any, answer: Any, epoch_before: int) -> bool:
        """Apply a member's request and its response. Return whether anything changed."""
        member.line, member.is_connected = observed.line.number, True
        if member.is_stranger:
            member.is_stranger, member.client = False, self._world.clients.of(observed)
        if getattr(request, "rebalance_timeout_ms", -1) > 0:
            member.rebalance_timeout_ms = request.rebalance_timeout_ms
        has_come_further, member.epoch = answer.member_epoch != member.epoch, answer.member_epoch
        changed_property = self._changed_property(member, request)
        if changed_property is not None:
            client = member.client
            self._because = Cause("metadata_changed", member.member_id, client.client_id, client.client_host)
            self.evidence = REQUEST
            generation = self.epoch if self.epoch > epoch_before else None
            self._of_member("member_metadata_changed", member, detail={"what": changed_property}, generation=generation)
        if self.epoch > epoch_before:
            self._bumped(epoch_before)
        still, assigned = self._still_has(request), self._assignment_in(answer)
        self._gave_up(member, still)
        if assigned is not None:
            self._assign(member, assigned, still)
        return changed_property is not None or has_come_further or assigned is not None

    def _gave_up(self, member: EpochMember, still: frozenset[Any] | None) -> None:
        if still is None or not member.revoking or member.revoking & still:
            return
        lost, member.revoking = member.revoking, frozenset()
        self._owners.synced(member.member_id, self.owned(member.has), self._world.moment.us)
        self._frees(lost)
        self.evidence = REQUEST
        took_us = self._world.moment.us - member.revoking_since_us
        self._of_those("member_revoked", member, lost, duration_us=took_us)

    def _frees(self, lost: frozenset[Any]) -> None:
        self._free, self._freed_us = self._free | lost, self._world.moment.us

    def _assign(self, member: EpochMember, assigned: frozenset[Any], still: frozenset[Any] | None) -> None:
        """Apply the assignment in a response."""
        lost, gained = member.has - assigned, assigned - member.has
        member.has, member.is_share_known = assigned, True
        unowned_us = self._owners.synced(member.member_id, self.owned(assigned | lost), self._world.moment.us)
        self._free -= gained
        self.evidence = ANSWER
        since_bump_us = self._world.moment.us - self._state.started_us
        if lost and self.gives_up and still is not None and not lost & still:  # it has given them up beforehand
            self._frees(lost)
            self._of_those("member_revoked", member, lost)
        elif lost and self.gives_up:
            member.revoking |= lost
            member.revoking_since_us = self._world.moment.us
            # It must revoke something for another epoch than its own, which may not have been in a response yet.
            epoch = self.epoch if self.epoch > member.epoch else None
            self._of_those("member_revoking", member, member.revoking, duration_us=since_bump_us, generation=epoch)
        if gained:
            notified = gained if self.gives_up else assigned
            self._of_those("member_assigned", member, notified, unowned_us, duration_us=since_bump_us)

    # Epochs

    def _bumped(self, old_epoch: int, shown_by: str = ANSWER) -> None:
        """Note a new group epoch, shown by a response or by `shown_by`."""
        state, now_us = self._state, self._world.moment.us
        cause, self._because = self._because or Cause(UNKNOWN_CAUSE), None
        is_known = cause.name != UNKNOWN_CAUSE
        if old_epoch == 0:  # the first observed one; a new group has 1, and 2 after a subscription
            self.is_complete = self.was_complete = is_known and self.epoch <= FIRST_SUBSCRIBED and self.is_new
            self.is_open_question |= not self.is_complete
            if self.epoch != FIRST_SUBSCRIBED or not is_known:
                return
        else:
            self.is_complete = self.is_complete and is_known and self.epoch == old_epoch + 1
            self.is_open_question |= not self.is_complete
        stable_us = None if state.is_open or old_epoch == 0 else now_us - state.stable_us
        state.rebalances += 1
        state.rebalance_id = f"{self.group_id}/{NO_PARTITION}/{state.rebalances}"
        state.started_us, state.is_open = now_us, True
        self.evidence = shown_by if is_known else f"{shown_by}: the epoch is new; {NOT_SHOWN}"
        member_changes = state.who_changed(set(self.members))
        self._emit(
            "epoch_bumped",
            Client(cause.client_id, cause.client_host),
            cause=cause.name,
            member_id=cause.member_id or None,
            duration_us=stable_us,
            **(member_changes if self.is_complete else {}),
        )

    def _look_whether_settled(self, last: EpochMember) -> None:
        state, now_us = self._state, self._world.moment.us
        if not state.is_open or not self.is_settled:
            return
        state.is_open, state.stable_us = False, now_us
        self._free = frozenset()
        took_us = now_us - state.started_us
        self.evidence = f"{ANSWER} to each of its members"
        detail = {"total_us": str(took_us)}
        self._of_member("group_reconciled", last, duration_us=took_us, state_to=self.settled_state, detail=detail)

    # Removed members

    def _leaves(self, member: EpochMember | None, epoch: int) -> None:
        if member is None:
            return
        self.evidence = REQUEST
        if epoch == STATIC_LEAVING_EPOCH:
            member.epoch, member.revoking = STATIC_LEAVING_EPOCH, frozenset()
            self._of_those("member_stepped_out", member, member.has)
            return
        self._remove(member, "leave_explicit")

    def _remove(self, member: EpochMember, cause: str) -> None:
        del self.members[member.member_id]
        self._owners.release_member(member.member_id, self._world.moment.us)
        self._frees(member.has | member.revoking)
        silent_us = self._world.moment.us - member.stats.last_active_ms * US_PER_MS
        self._of_member(
            "member_removed", member, cause=cause, duration_us=silent_us, generation=None, member_epoch=None
        )
        if cause != UNKNOWN_CAUSE:
            self._because = Cause(cause, member.member_id, member.client.client_id, member.client.client_host)

    def _refused(self, name: str, request: Any, error: ErrorCode, observed: ObservedCall) -> None:
        member = self.members.get(name)
        if error is ErrorCode.unknown_member_id and member is not None:
            self.evidence = f"{REFUSAL}: {error.name.upper()}; {NOT_SHOWN}"
            self.is_complete, self.is_open_question = False, True
            self._remove(member, UNKNOWN_CAUSE)
        elif error in _FENCING and self._state.refusals.is_first(name, FENCED, NOBODY_KNOWN, request.member_epoch):
            self.evidence = REFUSAL
            self._emit(
                "member_fenced",
                self._world.clients.of(observed),
                member_id=name,
                instance_id=getattr(request, "instance_id", None),
                member_epoch=request.member_epoch,
                error=error.name.upper(),
            )

    def line_ended(self, number: int) -> None:
        for member in self.members.values():
            if member.line == number:
                member.is_connected = False
