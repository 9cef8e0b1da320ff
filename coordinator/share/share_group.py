"""A share group: the state that its records make, and what follows from it (share-groups §3, §4)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Cause
from kohort.coordinator.group import SHARE
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.modern_group import set_value
from kohort.coordinator.modern.modern_member import ModernMember
from kohort.coordinator.modern.modern_values import Change, Record
from kohort.coordinator.modern.record_parts import key_of
from kohort.coordinator.modern.subscribing_group import SubscribingGroup
from kohort.coordinator.modern.timers import resume_sessions
from kohort.coordinator.offsets import CommittedOffset
from kohort.coordinator.share.share_group_records import value_of
from kohort.coordinator.share.share_group_state import ShareGroupState
from kohort.coordinator.share.share_member import FIRST, ShareMember
from kohort.coordinator.share.share_values import ShareAssignment, ShareKind, ShareMetadata
from kohort.coordinator.share.state_partitions import NO_STATES, StatePartitions
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.coordinator.share.share_host import ShareHost

"""The type of these groups, and of their protocol."""

UNKNOWN = ShareMetadata()
"""The metadata of a member that only a record of its assignment names, so far."""


class ShareGroup(SubscribingGroup):
    """Members, targets and state partitions of one group."""

    __slots__ = ("all_assigned", "complete_until_ms", "complete_version", "has_states", "state_calls", "states")

    epoch_kind = ShareKind.GROUP_EPOCH
    target_epoch_kind = ShareKind.TARGET_EPOCH
    group_type = SHARE

    def __init__(self, coordinator: "ShareHost", group_id: str, partition: int) -> None:
        super().__init__(coordinator, group_id, partition)
        self.coordinator: ShareHost = coordinator
        self.members: dict[str, ShareMember] = {}
        self.states: StatePartitions = NO_STATES
        self.has_states = False
        """Whether the log has a record of them, be it an empty one."""
        self.all_assigned: bool | None = None
        """Whether the target has all that is ready of subscribed topics; None: that is to be found out again."""
        self.complete_version: int | None = None
        """The version of the topics in which no partition of subscribed ones is missing; None: look again."""
        self.complete_until_ms: float = 0
        """When to look again in spite of that: some of them are being made ready."""
        self.state_calls: list[Any] = []
        """What share coordinators are still to be called for, in order; see state_calls.py."""

    @property
    def state(self) -> ShareGroupState:
        """Follows from its members."""
        return ShareGroupState.STABLE if self.members else ShareGroupState.EMPTY

    @property
    def assigns_all(self) -> bool:
        """Whether the target has all partitions that are ready of subscribed topics, and no others of these.

        A topic that is gone may be named on, if its end could not be written; in Kafka that gives the group a new epoch
        with every heartbeat, when there is another topic of that name.
        """
        if self.all_assigned is None:
            self.all_assigned = self._find_out_if_all_assigned()
        return self.all_assigned

    def _find_out_if_all_assigned(self) -> bool:
        given: dict[UUID, set[int]] = {}
        for target in self.targets.values():
            for topic_id, partitions in target.items():
                given.setdefault(topic_id, set()).update(partitions)
        return all(
            given.get(topic_id, set()) == topic.partitions
            for topic_id, topic in self.states.initialized.items()
            if topic.name in self.names and self.coordinator.topics.by_id(topic_id) is not None
        )

    # What expiry and deletion ask

    @property
    def may_expire(self) -> bool:
        """Never: it stays until it is deleted."""
        return False

    def refuses_offset_delete(self) -> ErrorCode:
        """GROUP_ID_NOT_FOUND: it has no committed offsets."""
        return ErrorCode.group_id_not_found

    def is_in_use(self, topic: str) -> bool:
        """Whether members subscribe to a topic."""
        return topic in self.names

    def ages_since_ms(self, topic: str, committed: CommittedOffset) -> int | None:
        """There are no offsets that could age."""
        return None

    def record_keys(self) -> list[bytes]:
        """In Kafka's order."""
        named = (
            *((ShareKind.CURRENT, name) for name in self.members),
            *((ShareKind.TARGET, name) for name in self.members),
            (ShareKind.TARGET_EPOCH, None),
            *((ShareKind.MEMBER, name) for name in self.members),
            (ShareKind.STATE_PARTITIONS, None),
            (ShareKind.GROUP_EPOCH, None),
        )
        return [key_of(self.group_id, kind, name) for kind, name in named]

    # What records do

    def apply(self, change: Change) -> object:
        """Takes over a record. Returns the value that it replaces; None: there was none."""
        kind, name, value = change
        self.all_assigned = self.complete_version = None
        if name is None:
            if kind is ShareKind.GROUP_EPOCH:
                return self._set_epoch(value)
            if kind is ShareKind.TARGET_EPOCH:
                return self._set_target_epoch(value)
            return self._set_states(value)
        if kind is ShareKind.CURRENT:
            return self._set_current(name, value)
        if kind is ShareKind.TARGET:
            return set_value(self.targets, name, value)
        return self._set_member(name, value)

    def record_of(self, change: Change) -> Record:
        """The record that says a change."""
        return key_of(self.group_id, change.kind, change.name), value_of(change)

    def _set_states(self, value: StatePartitions | None) -> StatePartitions | None:
        before = self.states if self.has_states else None
        self.states, self.has_states = value or NO_STATES, value is not None
        return before

    def _set_member(self, member_id: str, value: ShareMetadata | None) -> ShareMetadata | None:
        member = self.members.get(member_id)
        before = None if member is None else member.metadata
        if before is not None:
            self._count_names(before.topic_names, -1)
        if value is None:
            self.members.pop(member_id, None)
            return before
        self._count_names(value.topic_names, 1)
        if member is None:
            self._add(member_id, value)
        else:
            member.metadata = value
        return before

    def _add(self, member_id: str, metadata: ShareMetadata) -> ShareMember:
        member = self.members[member_id] = ShareMember(member_id, metadata)
        self.most_members = max(self.most_members, len(self.members))
        return member

    def _set_current(self, member_id: str, value: ShareAssignment | None) -> ShareAssignment | None:
        member = self.members.get(member_id)
        if member is None:
            if value is None:
                return None
            # In a log that was compacted a member's metadata may come behind its assignment.
            member = self._add(member_id, UNKNOWN)
        before = member.current
        member.current = FIRST if value is None else value
        return None if before is FIRST else before

    def changed(self, changes: GroupChanges, cause: Cause) -> OnWritten | None:
        """Tells the observer."""
        return self.coordinator.share_observer.changed(changes, cause)

    def taken_back(self, before: Mapping[str, ModernMember], now_ms: int) -> None:
        """Members that are back have a session again, and members that are gone have none."""
        from kohort.coordinator.share.share_sessions import keep_alive  # seldom needed

        resume_sessions(self, before, keep_alive, now_ms)
        self.coordinator.share_observer.taken_back(self)
