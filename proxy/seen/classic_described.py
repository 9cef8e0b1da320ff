"""A classic group as DescribeGroups says it is: fills in what has not passed, and what has happened past the proxy.

The answer says who is a member, with which share, and the group's state; it names no generation. What waits here, as a
JoinGroup, says more of the state than it does.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from kohort.coordinator.classic.classic_member import Member
from kohort.coordinator.classic.states import State
from kohort.coordinator.effects import Cause
from kohort.coordinator.events.classic_event_emitter import partitions_of
from kohort.protocol.consumer_protocol import ImpossibleLengthError
from kohort.proxy.seen.classic_joins import ClassicJoins
from kohort.proxy.seen.classic_known import GROUP_REMAINS, NOT_KNOWN_MS
from kohort.proxy.seen.event_desk import DESCRIBED, NOT_SHOWN, UNKNOWN_CAUSE

if TYPE_CHECKING:
    from kohort.protocol.messages.describe_groups import DescribedGroup, DescribedGroupMember
    from kohort.protocol.topic_partition import TopicPartition
    from kohort.proxy.seen.sight import SightWorld

_STATES: Final = {each.value: each for each in State if each is not State.DEAD}
_AT_REST: Final = (State.STABLE, State.EMPTY)


class ClassicDescribed(ClassicJoins):
    """One group, with what the cluster says of it when it is asked."""

    def __init__(self, group_id: str, world: SightWorld) -> None:
        super().__init__(group_id, world)
        self._rested_at: int | None = None
        """The generation in which the group was Stable when it was described last; None: it was not, or not known."""

    def described(self, said: DescribedGroup) -> bool:
        """See `Sight`. Not while it is not known who joins."""
        if self.is_unsettled or any(not each.member_id for each in self.joins.values()):
            return False
        state = _STATES.get(said.group_state)
        if state is not None:
            self._take_description(said, state)
        self._is_described()
        return True

    def _take_description(self, said: DescribedGroup, state: State) -> None:
        was_complete, before = self.is_complete, set(self.members)
        rested_before, self._rested_at = self._rested_at, None
        self.is_complete = False
        self.group.protocol_type = said.protocol_type or self.group.protocol_type
        self._take_members(said)
        if not self.joins and not self.syncs:
            self._take_state(state)
        is_at_rest = self.group.state is state and state in _AT_REST
        self.is_complete = is_at_rest or (was_complete and before == set(self.members))
        self.was_complete |= is_at_rest
        if state is State.STABLE and self.group.state is state:
            has_moved = self._take_shares(said)
            if rested_before == self.group.generation_id and (has_moved or before != set(self.members)):
                self.has_generation = False  # it has another one, which nobody here has heard of
            self._rested_at = self.group.generation_id if self.has_generation else None

    # Members

    def _take_members(self, said: DescribedGroup) -> None:
        listed = {each.member_id: each for each in said.members}
        is_joining = said.group_state == State.PREPARING_REBALANCE.value
        for each in listed.values():
            old = self._static(each.group_instance_id)
            if old is not None and each.member_id not in self.members and old.member_id not in listed:
                old_id = self._rename(old, each.member_id)
                self._source.of(self.group).renamed(old_id, each.member_id)
                self.strangers.add(each.member_id)
        for member in [each for each in self.members.values() if each.member_id not in listed]:
            if member.join_ticket is None:
                self._remove(member, f"{DESCRIBED}: it is not there; {NOT_SHOWN}")
        for each in listed.values():
            member = self.members.get(each.member_id) or self._add_stranger(each, is_joining)
            self._fill_in(member, each, said.protocol_data)

    def _add_stranger(self, said: DescribedGroupMember, is_joining: bool) -> Member:
        """A member that has not spoken here. `is_joining`: perhaps it was not in the generation before."""
        member = self._add_unseen(said.member_id, said.group_instance_id, said.client_id, said.client_host)
        self.strangers.add(said.member_id)
        if self.was_complete:
            self._joined_unseen(member, DESCRIBED)
        elif not is_joining:
            self._source.of(self.group).member_ids.add(said.member_id)
        return member

    def _fill_in(self, member: Member, said: DescribedGroupMember, protocol: str) -> None:
        is_stranger = member.member_id in self.strangers
        if not member.client_id or is_stranger:
            member.client_id, member.client_host = said.client_id, said.client_host
        member.group_instance_id = member.group_instance_id or said.group_instance_id
        if said.member_metadata and (is_stranger or not member.protocols):
            member.protocols = ((protocol, said.member_metadata),)

    def _take_shares(self, said: DescribedGroup) -> bool:
        """Who has what in a group that is at rest: what moves next is counted from there.

        Not of who has joined this generation here and has not synced. Returns whether anybody has anything else.
        """
        group, owners = self.group, self._source.of(self.group).owners
        group.protocol_name = said.protocol_data or group.protocol_name
        if group.subscribed_topics is None:
            with suppress(ImpossibleLengthError):
                group.subscribed_topics = group.read_subscriptions()
        has_moved = False
        shares: dict[str, frozenset[TopicPartition]] = {}
        for each in said.members:
            member = self.members[each.member_id]
            if member.session_timeout_ms == NOT_KNOWN_MS:
                self._unsynced.discard(each.member_id)
            if each.member_id not in self._unsynced:
                has_moved |= bool(member.assignment) and member.assignment != each.member_assignment
                member.assignment = each.member_assignment
                share = partitions_of(group, member.assignment)
                if share is not None:
                    shares[each.member_id] = share
                    owners.synced(each.member_id, share, self._world.moment.us)
        owners.assigned(shares, None)
        return has_moved

    # Its state

    def _take_state(self, state: State) -> None:
        """What it is in now. A rebalance that nobody here has joined is told as one without a cause."""
        before, is_news = self.group.state, self.is_state_known
        if before is state and is_news:
            return
        if is_news and before in GROUP_REMAINS and state is State.PREPARING_REBALANCE:
            self.evidence = f"{DESCRIBED}: it rebalances; {NOT_SHOWN}{self._silent_ones()}"
            self._start(Cause(UNKNOWN_CAUSE))
            return
        self._go(state)
        if state is State.PREPARING_REBALANCE:
            self._source.of(self.group).started_us = self._world.moment.us
        elif state is State.STABLE:
            self._comes_to_rest(before, is_news)

    def _comes_to_rest(self, before: State, is_news: bool) -> None:
        if before is State.PREPARING_REBALANCE:  # into a generation that nobody here has heard of
            self.has_generation = False
        if is_news and before in (State.PREPARING_REBALANCE, State.COMPLETING_REBALANCE):
            self.evidence = DESCRIBED
            self._source.rebalance_completed(self.group)
