"""Consumer, share or streams group completed by the cluster's description, which covers what did not pass.

Members that send heartbeats through the proxy are known from those; a description adds what is missing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final
from uuid import UUID

from kohort.coordinator.classic.states import State
from kohort.coordinator.events.event_emitter import US_PER_MS
from kohort.coordinator.groups.group import CLASSIC
from kohort.coordinator.requesting_client import NOBODY_KNOWN, Client
from kohort.proxy.seen.epoch_member import EpochMember
from kohort.proxy.seen.epoch_sight import EpochSight
from kohort.proxy.seen.event_desk import DESCRIBED, NOT_SHOWN, UNKNOWN_CAUSE
from kohort.proxy.seen.sight import SightWorld

_NO_LINE: Final = 0  # connections are counted from 1
_CLASSIC: Final = 0  # Kafka's number for a member with the classic protocol in a consumer group (KIP-1099)
_AT_REST: Final = (State.STABLE.value, State.EMPTY.value)


class EpochDescribed(EpochSight):
    """Group with the cluster's descriptions of it."""

    def __init__(self, group_id: str, world: SightWorld) -> None:
        super().__init__(group_id, world)
        self._described_state = ""
        self._described_version = -1

    def _described_assignment(self, assignment: Any) -> frozenset[Any]:
        """Return a described assignment, and note the names of its topics."""
        for topic in assignment.topic_partitions:
            if topic.topic_id is not None and topic.topic_name:
                self._world.topics.setdefault(topic.topic_id, topic.topic_name)
        return partitions_in(assignment.topic_partitions)

    @property
    def state_name(self) -> str:
        """The described state until a message changes the group; then the observed one."""
        return self._described_state if self._described_version == self.version else super().state_name

    def described(self, description: Any) -> bool:
        """Apply a description unless its epoch is older than a response's."""
        if description.group_epoch < self.epoch:
            return False
        self.is_complete = False
        listed = {item.member_id for item in description.members}
        for item in description.members:
            old = self._holder(getattr(item, "instance_id", None))
            if old is not None and item.member_id not in self.members and old.member_id not in listed:
                self._rename(old, item.member_id)
                old.is_stranger = True
        self.evidence = f"{DESCRIBED}: it is missing; {NOT_SHOWN}"
        for member in [item for item in self.members.values() if item.member_id not in listed]:
            self._remove(member, UNKNOWN_CAUSE)
        for item in description.members:
            self._take_member(item)
        self._take_epoch(description.group_epoch)
        self._take_state(description.group_state)
        self._is_described()
        return True

    # Members

    def _take_member(self, description: Any) -> None:
        member = self.members.get(description.member_id) or self._add_stranger(description)
        if member.is_stranger:
            member.epoch = description.member_epoch
        if member.is_stranger or not member.is_share_known:
            self._fill_in(member, description)
        is_classic = getattr(description, "member_type", None) == _CLASSIC or getattr(description, "is_classic", False)
        member.speaks = CLASSIC if is_classic else ""

    def _fill_in(self, member: EpochMember, description: Any) -> None:
        """Add to a member what its own requests have not shown."""
        partitions, member.is_share_known = self._described_assignment(description.assignment), True
        if self.gives_up:  # a member's partitions include those that it must revoke
            member.revoking = partitions - self._described_assignment(description.target_assignment)
            member.revoking_since_us = self._world.moment.us
        member.has = partitions - member.revoking
        self._owners.synced(member.member_id, self.owned(partitions), self._world.moment.us)
        member.instance_id = member.instance_id or getattr(description, "instance_id", None)
        if member.is_stranger or not (member.topics or member.topic_regex):
            member.topics = tuple(sorted(getattr(description, "subscribed_topic_names", ())))
            member.topic_regex = getattr(description, "subscribed_topic_regex", None) or ""

    def _add_stranger(self, description: Any) -> EpochMember:
        """Add a member without requests through the proxy."""
        client = Client(description.client_id, description.client_host)
        member = EpochMember(description.member_id, client, _NO_LINE, self._world.moment.us // US_PER_MS)
        member.is_stranger, member.epoch = True, description.member_epoch
        member.instance_id = getattr(description, "instance_id", None)
        self.members[description.member_id] = member
        if self.was_complete:
            self.evidence = f"{DESCRIBED}; it joined without the proxy"
            self._of_member("member_added", member, cause=UNKNOWN_CAUSE, generation=None)
        return member

    # Its epoch and state

    def _take_epoch(self, epoch: int) -> None:
        old_epoch, self.epoch = self.epoch, epoch
        if epoch > old_epoch > 0 and self.was_complete:
            self._bumped(old_epoch, DESCRIBED)
        self._state.member_ids |= {name for name, member in self.members.items() if member.is_stranger}

    def _take_state(self, state: str) -> None:
        was_complete, self.is_complete, self.was_complete = self.was_complete, True, True
        self._described_state, self._described_version = state, self.version
        if state in _AT_REST:
            self._free, self._because = frozenset(), None
            if self._state.is_open and self.is_settled:
                self._state.is_open, self._state.stable_us = False, self._world.moment.us
                self.evidence = DESCRIBED
                self._emit("group_reconciled", NOBODY_KNOWN, state_to=self.settled_state and state)
        elif not was_complete and not self._state.is_open:  # active before the proxy listened
            self._state.is_open, self._state.started_us = True, self._world.moment.us


def partitions_in(topics: Iterable[Any]) -> frozenset[tuple[UUID, int]]:
    """Return the partitions by topic id, because a topic's name may become known later."""
    return frozenset((topic.topic_id, number) for topic in topics for number in topic.partitions)
