"""A group of a newer protocol as its Describe… answer says it is: fills in what no heartbeat has said here.

Members that speak through the proxy are known from that: a description adds to them what they have not said.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final
from uuid import UUID

from kohort.coordinator.classic.states import State
from kohort.coordinator.events.event_emitter import US_PER_MS
from kohort.coordinator.group import CLASSIC
from kohort.coordinator.requesting_client import NOBODY_KNOWN, Client
from kohort.proxy.seen.epoch_member import EpochMember
from kohort.proxy.seen.epoch_sight import EpochSight
from kohort.proxy.seen.event_desk import DESCRIBED, NOT_SHOWN, UNKNOWN_CAUSE
from kohort.proxy.seen.sight import SightWorld

_NO_LINE: Final = 0
"""Connections are counted from 1 on."""
_CLASSIC: Final = 0
"""Kafka's number for a member of a consumer group that speaks the classic protocol (KIP-1099)."""
_AT_REST: Final = (State.STABLE.value, State.EMPTY.value)


class EpochDescribed(EpochSight):
    """One group, with what the cluster says of it when it is asked."""

    def __init__(self, group_id: str, world: SightWorld) -> None:
        super().__init__(group_id, world)
        self._said_state = ""
        self._said_version = -1

    def _described_share(self, assignment: Any) -> frozenset[Any]:
        """What a member is said to have, or is to have. The names of its topics are said, too."""
        for topic in assignment.topic_partitions:
            if topic.topic_id is not None and topic.topic_name:
                self._world.topics.setdefault(topic.topic_id, topic.topic_name)
        return partitions_in(assignment.topic_partitions)

    @property
    def state(self) -> str:
        """The one that was described, until anything else passes; then as far as it is seen."""
        return self._said_state if self._said_version == self.version else super().state

    def described(self, said: Any) -> bool:
        """See `Sight`. Not what is of an earlier epoch than an answer has said."""
        if said.group_epoch < self.epoch:
            return False
        self.is_complete = False
        listed = {each.member_id for each in said.members}
        for each in said.members:
            old = self._holder(getattr(each, "instance_id", None))
            if old is not None and each.member_id not in self.members and old.member_id not in listed:
                self._rename(old, each.member_id)
                old.is_stranger = True
        self.evidence = f"{DESCRIBED}: it is not there; {NOT_SHOWN}"
        for member in [each for each in self.members.values() if each.member_id not in listed]:
            self._gone(member, UNKNOWN_CAUSE)
        for each in said.members:
            self._take_member(each)
        self._take_epoch(said.group_epoch)
        self._take_state(said.group_state)
        self._is_described()
        return True

    # Members

    def _take_member(self, said: Any) -> None:
        member = self.members.get(said.member_id) or self._add_stranger(said)
        if member.is_stranger:
            member.epoch = said.member_epoch
        if member.is_stranger or not member.is_share_known:
            self._fill_in(member, said)
        is_classic = getattr(said, "member_type", None) == _CLASSIC or getattr(said, "is_classic", False)
        member.speaks = CLASSIC if is_classic else ""

    def _fill_in(self, member: EpochMember, said: Any) -> None:
        """What a member has not said here: it was there before, or does not speak here."""
        has, member.is_share_known = self._described_share(said.assignment), True
        if self.gives_up:  # what a member has includes what it is to give up
            member.revoking = has - self._described_share(said.target_assignment)
            member.revoking_since_us = self._world.moment.us
        member.has = has - member.revoking
        self._owners.synced(member.member_id, self.owned(has), self._world.moment.us)
        member.instance_id = member.instance_id or getattr(said, "instance_id", None)
        if member.is_stranger or not (member.topics or member.topic_regex):
            member.topics = tuple(sorted(getattr(said, "subscribed_topic_names", ())))
            member.topic_regex = getattr(said, "subscribed_topic_regex", None) or ""

    def _add_stranger(self, said: Any) -> EpochMember:
        """A member that has not spoken here."""
        client = Client(said.client_id, said.client_host)
        member = EpochMember(said.member_id, client, _NO_LINE, self._world.moment.us // US_PER_MS)
        member.is_stranger, member.epoch = True, said.member_epoch
        member.instance_id = getattr(said, "instance_id", None)
        self.members[said.member_id] = member
        if self.was_complete:
            self.evidence = f"{DESCRIBED}; it has joined past the proxy"
            self._of_member("member_added", member, cause=UNKNOWN_CAUSE, generation=None)
        return member

    # Its epoch and state

    def _take_epoch(self, epoch: int) -> None:
        before, self.epoch = self.epoch, epoch
        if epoch > before > 0 and self.was_complete:
            self._bumped(before, DESCRIBED)
        self._state.member_ids |= {name for name, each in self.members.items() if each.is_stranger}

    def _take_state(self, state: str) -> None:
        was_complete, self.is_complete, self.was_complete = self.was_complete, True, True
        self._said_state, self._said_version = state, self.version
        if state in _AT_REST:
            self._free, self._because = frozenset(), None
            if self._state.is_open and self.is_settled:
                self._state.is_open, self._state.stable_us = False, self._world.moment.us
                self.evidence = DESCRIBED
                self._emit("group_reconciled", NOBODY_KNOWN, state_to=self.settled_state and state)
        elif not was_complete and not self._state.is_open:  # since before anybody listened
            self._state.is_open, self._state.started_us = True, self._world.moment.us


def partitions_in(topics: Iterable[Any]) -> frozenset[tuple[UUID, int]]:
    """By the ids of their topics: a name may be heard later."""
    return frozenset((topic.topic_id, number) for topic in topics for number in topic.partitions)
