"""Classic group completed by DescribeGroups, which covers what did not pass through the proxy.

The response has the members, their assignments and the group's state, but no generation. Requests that wait here, such
as a JoinGroup, show more of the state than the response.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kohort.coordinator.classic.classic_member import Member
from kohort.coordinator.classic.states import State
from kohort.coordinator.effects import Cause
from kohort.coordinator.events.classic_event_emitter import partitions_of
from kohort.proxy.seen.classic_joins import ClassicJoins
from kohort.proxy.seen.classic_known import GROUP_REMAINS, NOT_KNOWN_MS
from kohort.proxy.seen.event_desk import DESCRIBED, NOT_SHOWN, UNKNOWN_CAUSE

if TYPE_CHECKING:
    from kohort.protocol.messages.describe_groups import DescribedGroup, DescribedGroupMember
    from kohort.protocol.topic_partition import TopicPartition
    from kohort.proxy.seen.sight import SightWorld

_STATES: Final = {state.value: state for state in State if state is not State.DEAD}
_AT_REST: Final = (State.STABLE, State.EMPTY)


class ClassicDescribed(ClassicJoins):
    """Classic group with the cluster's descriptions of it."""

    def __init__(self, group_id: str, world: SightWorld) -> None:
        super().__init__(group_id, world)
        # generation in which the last description showed Stable; None if it did not, or the generation is unknown
        self._rested_at: int | None = None

    def described(self, description: DescribedGroup) -> bool:
        """Apply a description, unless the joining members are unknown."""
        if self.is_unsettled or any(not member.member_id for member in self.joins.values()):
            return False
        state = _STATES.get(description.group_state)
        if state is not None:
            self._take_description(description, state)
        self._is_described()
        return True

    def _take_description(self, description: DescribedGroup, state: State) -> None:
        was_complete, old_state = self.is_complete, set(self.members)
        rested_before, self._rested_at = self._rested_at, None
        self.is_complete = False
        self.group.protocol_type = description.protocol_type or self.group.protocol_type
        self._take_members(description)
        if not self.joins and not self.syncs:
            self._take_state(state)
        is_at_rest = self.group.state is state and state in _AT_REST
        self.is_complete = is_at_rest or (was_complete and old_state == set(self.members))
        self.was_complete |= is_at_rest
        if state is State.STABLE and self.group.state is state:
            has_moved = self._take_assignments(description)
            if rested_before == self.group.generation_id and (has_moved or old_state != set(self.members)):
                self.has_generation = False  # the group has another, unknown one
            self._rested_at = self.group.generation_id if self.has_generation else None

    # Members

    def _take_members(self, description: DescribedGroup) -> None:
        listed = {item.member_id: item for item in description.members}
        is_joining = description.group_state == State.PREPARING_REBALANCE.value
        for item in listed.values():
            old = self._static(item.group_instance_id)
            if old is not None and item.member_id not in self.members and old.member_id not in listed:
                old_id = self._rename(old, item.member_id)
                self._source.of(self.group).renamed(old_id, item.member_id)
                self.strangers.add(item.member_id)
        for member in [item for item in self.members.values() if item.member_id not in listed]:
            if member.join_ticket is None:
                self._remove(member, f"{DESCRIBED}: it is missing; {NOT_SHOWN}")
        for item in listed.values():
            member = self.members.get(item.member_id) or self._add_stranger(item, is_joining)
            self._fill_in(member, item, description.protocol_data)

    def _add_stranger(self, description: DescribedGroupMember, is_joining: bool) -> Member:
        """Add a member without own requests through the proxy.

        Args:
            is_joining: The member may be new in this generation.
        """
        member = self._add_unseen(
            description.member_id, description.group_instance_id, description.client_id, description.client_host
        )
        self.strangers.add(description.member_id)
        if self.was_complete:
            self._joined_unseen(member, DESCRIBED)
        elif not is_joining:
            self._source.of(self.group).member_ids.add(description.member_id)
        return member

    def _fill_in(self, member: Member, description: DescribedGroupMember, protocol: str) -> None:
        is_stranger = member.member_id in self.strangers
        if not member.client_id or is_stranger:
            member.client_id, member.client_host = description.client_id, description.client_host
        member.group_instance_id = member.group_instance_id or description.group_instance_id
        if description.member_metadata and (is_stranger or not member.protocols):
            member.protocols = ((protocol, description.member_metadata),)

    def _take_assignments(self, description: DescribedGroup) -> bool:
        """Take over the assignments of a stable group, from which the next changes are counted.

        Members that joined this generation through the proxy and have not synced are left out. Return whether any
        assignment differs from the known one.
        """
        group, owners = self.group, self._source.of(self.group).owners
        group.protocol_name = description.protocol_data or group.protocol_name
        if group.subscribed_topics is None:
            group.subscribed_topics = group.read_subscriptions(tolerant=True)
        has_moved = False
        shares: dict[str, frozenset[TopicPartition]] = {}
        for item in description.members:
            member = self.members[item.member_id]
            if member.session_timeout_ms == NOT_KNOWN_MS:
                self._unsynced.discard(item.member_id)
            if item.member_id not in self._unsynced:
                has_moved |= bool(member.assignment) and member.assignment != item.member_assignment
                member.assignment = item.member_assignment
                share = partitions_of(group, member.assignment)
                if share is not None:
                    shares[item.member_id] = share
                    owners.synced(item.member_id, share, self._world.moment.us)
        owners.assigned(shares, None)
        return has_moved

    # Its state

    def _take_state(self, state: State) -> None:
        """Take over the state. A rebalance without observed joins is reported without a cause."""
        old_state, is_news = self.group.state, self.is_state_known
        if old_state is state and is_news:
            return
        if is_news and old_state in GROUP_REMAINS and state is State.PREPARING_REBALANCE:
            self.evidence = f"{DESCRIBED}: it rebalances; {NOT_SHOWN}{self._silent_ones()}"
            self._start(Cause(UNKNOWN_CAUSE))
            return
        self._go(state)
        if state is State.PREPARING_REBALANCE:
            self._source.of(self.group).started_us = self._world.moment.us
        elif state is State.STABLE:
            self._comes_to_rest(old_state, is_news)

    def _comes_to_rest(self, old_state: State, is_news: bool) -> None:
        if old_state is State.PREPARING_REBALANCE:  # into an unknown generation
            self.has_generation = False
        if is_news and old_state in (State.PREPARING_REBALANCE, State.COMPLETING_REBALANCE):
            self.evidence = DESCRIBED
            self._source.rebalance_completed(self.group)
