"""A group of a newer protocol as its heartbeats show it: consumer groups (KIP-848), share groups and streams groups.

An answer says the member's own epoch and what it is given. The group epoch is at least the highest of these. Whether
members have all they are to have is seen when nobody is to give up anything, nothing given up is left over, or when all
have heard that there is nothing new since.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kohort.coordinator.consumer.values import LEAVING_EPOCH, STEPPING_OUT_EPOCH
from kohort.coordinator.effects import Cause
from kohort.coordinator.events.event_emitter import US_PER_MS
from kohort.coordinator.events.event_state import FENCED
from kohort.coordinator.events.group_event import NO_PARTITION
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
    from kohort.proxy.tap import Overheard

JOINS: Final = 0

FIRST_SUBSCRIBED: Final = 2
"""The epoch that a new group has when its first member has subscribed to anything."""

_FENCING: Final = (
    ErrorCode.fenced_member_epoch, ErrorCode.fenced_instance_id, ErrorCode.unreleased_instance_id
)  # fmt: skip


class EpochSight(EpochEvents):
    """One group."""

    # What depends on the protocol

    def _given(self, answer: Any) -> frozenset[Any] | None:
        """What an answer says that the member has; None: as before."""
        raise NotImplementedError

    def _still_has(self, request: Any) -> frozenset[Any] | None:
        """What a request says that the member has; None: as before."""
        return None

    def _says(self, member: EpochMember, request: Any) -> str | None:
        """Takes over what a member says of itself. Returns which part of that is new."""
        names = request.subscribed_topic_names
        if names is not None and tuple(sorted(names)) != member.topics:
            member.topics = tuple(sorted(names))
            return "subscription"
        return None

    # What there is

    @property
    def state(self) -> str:
        """As far as it is seen."""
        if not self.members:
            return "Empty" if self.is_complete else "Unknown"
        return "Stable" if not self._state.is_open and self.is_settled else "Reconciling"

    @property
    def is_settled(self) -> bool:
        """Whether nothing that is seen is still to be done."""
        there = [each for each in self.members.values() if not each.is_away]
        if self._because is not None:
            return False
        if any(each.revoking or each.epoch != self.epoch for each in there):
            return False
        return not (self.gives_up and self._free) or all(each.quiet_us > self._freed_us for each in there)

    # Heartbeats

    def heartbeat_answered(self, overheard: Overheard, request: Any, answer: Any) -> bool:
        """A member has said something of itself and was answered. Returns whether there was any news in it."""
        name = answer.member_id or request.member_id
        if answer.error_code is not ErrorCode.none:
            self._refused(name, request, answer.error_code, overheard)
            return True
        member = self.members.get(name)
        if request.member_epoch in (LEAVING_EPOCH, STEPPING_OUT_EPOCH):
            self._leaves(member, request.member_epoch)
            return True
        epoch_before, self.epoch = self.epoch, max(self.epoch, answer.member_epoch)
        news = member is None or request.member_epoch == JOINS
        if member is None or member.is_away:
            member = self._met(name, overheard, request, answer.member_epoch, epoch_before)
        self.beat(member.member_id)
        news |= self._takes(member, overheard, request, answer, epoch_before)
        if not news:
            member.quiet_us = self._world.moment.us
        self._look_whether_settled(member)
        return news

    def beat(self, member_id: str) -> None:
        """A member's heartbeat was answered without an error."""
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

    def _met(self, name: str, overheard: Overheard, request: Any, epoch: int, epoch_before: int) -> EpochMember:
        """A member joins, or was there before anybody listened."""
        client = self._world.clients.of(overheard)
        member = EpochMember(name, client, overheard.line.number, self._world.moment.us // US_PER_MS)
        member.instance_id = getattr(request, "instance_id", None)
        member.rebalance_timeout_ms = getattr(request, "rebalance_timeout_ms", -1)
        member.epoch = epoch
        self._says(member, request)
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
        if member.topics or member.topic_regex or self.kind == "streams":
            self._because = Cause(cause, member.member_id, client.client_id, client.client_host)
        generation = self.epoch if self.epoch > epoch_before else None
        self._of_member("member_added", member, cause=cause, generation=generation)

    def _holder(self, instance_id: str | None) -> EpochMember | None:
        found = (each for each in self.members.values() if each.instance_id == instance_id)
        return None if instance_id is None else next(found, None)

    def _replaces(self, member: EpochMember, old: EpochMember) -> None:
        """A static member comes back, perhaps under another id."""
        old_id = self._rename(old, member.member_id)
        self.members[member.member_id] = member
        member.has = old.has
        self.evidence = REQUEST
        self._of_member("member_replaced", member, detail={"old_member_id": old_id})

    def _rename(self, member: EpochMember, new_id: str) -> str:
        """A static member has another id. Returns the old one."""
        old_id, member.member_id = member.member_id, new_id
        self.members = {(new_id if each is member else name): each for name, each in self.members.items()}
        self._owners.renamed(old_id, new_id)
        self._state.renamed(old_id, new_id)
        return old_id

    def _takes(self, member: EpochMember, overheard: Overheard, request: Any, answer: Any, epoch_before: int) -> bool:
        """What the member has said, and what it was answered. Returns whether any of it is new."""
        member.line, member.is_connected = overheard.line.number, True
        if member.is_stranger:
            member.is_stranger, member.client = False, self._world.clients.of(overheard)
        if getattr(request, "rebalance_timeout_ms", -1) > 0:
            member.rebalance_timeout_ms = request.rebalance_timeout_ms
        has_come_further, member.epoch = answer.member_epoch != member.epoch, answer.member_epoch
        what = self._says(member, request)
        if what is not None:
            client = member.client
            self._because = Cause("metadata_changed", member.member_id, client.client_id, client.client_host)
            self.evidence = REQUEST
            generation = self.epoch if self.epoch > epoch_before else None
            self._of_member("member_metadata_changed", member, detail={"what": what}, generation=generation)
        if self.epoch > epoch_before:
            self._bumped(epoch_before)
        still, given = self._still_has(request), self._given(answer)
        self._gave_up(member, still)
        if given is not None:
            self._is_given(member, given, still)
        return what is not None or has_come_further or given is not None

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

    def _is_given(self, member: EpochMember, given: frozenset[Any], still: frozenset[Any] | None) -> None:
        """An answer has said all that a member has."""
        lost, gained = member.has - given, given - member.has
        member.has, member.is_share_known = given, True
        unowned_us = self._owners.synced(member.member_id, self.owned(given | lost), self._world.moment.us)
        self._free -= gained
        self.evidence = ANSWER
        since_bump_us = self._world.moment.us - self._state.started_us
        if lost and self.gives_up and still is not None and not lost & still:  # it has given them up beforehand
            self._frees(lost)
            self._of_those("member_revoked", member, lost)
        elif lost and self.gives_up:
            member.revoking |= lost
            member.revoking_since_us = self._world.moment.us
            # It is to give up something for another epoch than its own, which may be one that nobody has said yet.
            epoch = self.epoch if self.epoch > member.epoch else None
            self._of_those("member_revoking", member, member.revoking, duration_us=since_bump_us, generation=epoch)
        if gained:
            told = gained if self.gives_up else given
            self._of_those("member_assigned", member, told, unowned_us, duration_us=since_bump_us)

    # Epochs

    def _bumped(self, before: int, shown_by: str = ANSWER) -> None:
        """An answer, or what `shown_by` names, shows that the group has another epoch."""
        state, now_us = self._state, self._world.moment.us
        cause, self._because = self._because or Cause(UNKNOWN_CAUSE), None
        is_known = cause.name != UNKNOWN_CAUSE
        if before == 0:  # the first that is seen; a group that is new has 1, and 2 when somebody has subscribed
            self.is_complete = self.was_complete = is_known and self.epoch <= FIRST_SUBSCRIBED and self.is_new
            self.is_open_question |= not self.is_complete
            if self.epoch != FIRST_SUBSCRIBED or not is_known:
                return
        else:
            self.is_complete = self.is_complete and is_known and self.epoch == before + 1
            self.is_open_question |= not self.is_complete
        stable_us = None if state.is_open or before == 0 else now_us - state.stable_us
        state.rebalances += 1
        state.rebalance_id = f"{self.group_id}/{NO_PARTITION}/{state.rebalances}"
        state.started_us, state.is_open = now_us, True
        self.evidence = shown_by if is_known else f"{shown_by}: there is another epoch; {NOT_SHOWN}"
        who = state.who_changed(set(self.members))
        self._emit(
            "epoch_bumped",
            Client(cause.client_id, cause.client_host),
            cause=cause.name,
            member_id=cause.member_id or None,
            duration_us=stable_us,
            **(who if self.is_complete else {}),
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

    # Who goes

    def _leaves(self, member: EpochMember | None, epoch: int) -> None:
        if member is None:
            return
        self.evidence = REQUEST
        if epoch == STEPPING_OUT_EPOCH:
            member.epoch, member.revoking = STEPPING_OUT_EPOCH, frozenset()
            self._of_those("member_stepped_out", member, member.has)
            return
        self._gone(member, "leave_explicit")

    def _gone(self, member: EpochMember, cause: str) -> None:
        del self.members[member.member_id]
        self._owners.release_member(member.member_id, self._world.moment.us)
        self._frees(member.has | member.revoking)
        silent_us = self._world.moment.us - member.stats.last_active_ms * US_PER_MS
        self._of_member(
            "member_removed", member, cause=cause, duration_us=silent_us, generation=None, member_epoch=None
        )
        if cause != UNKNOWN_CAUSE:
            self._because = Cause(cause, member.member_id, member.client.client_id, member.client.client_host)

    def _refused(self, name: str, request: Any, error: ErrorCode, overheard: Overheard) -> None:
        member = self.members.get(name)
        if error is ErrorCode.unknown_member_id and member is not None:
            self.evidence = f"{REFUSAL}: {error.name.upper()}; {NOT_SHOWN}"
            self.is_complete, self.is_open_question = False, True
            self._gone(member, UNKNOWN_CAUSE)
        elif error in _FENCING and self._state.refusals.is_first(name, FENCED, NOBODY_KNOWN, request.member_epoch):
            self.evidence = REFUSAL
            self._emit(
                "member_fenced",
                self._world.clients.of(overheard),
                member_id=name,
                instance_id=getattr(request, "instance_id", None),
                member_epoch=request.member_epoch,
                error=error.name.upper(),
            )

    def line_ended(self, number: int) -> None:
        """A connection has ended."""
        for member in self.members.values():
            if member.line == number:
                member.is_connected = False
