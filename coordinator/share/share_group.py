"""Share group: the state that its records describe (share-groups §3, §4)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Cause
from kohort.coordinator.groups.group import SHARE
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.modern_group import set_value
from kohort.coordinator.modern.modern_member import ModernMember
from kohort.coordinator.modern.modern_values import Change, Record
from kohort.coordinator.modern.record_parts import key_of
from kohort.coordinator.modern.subscribing_group import SubscribingGroup
from kohort.coordinator.modern.timers import resume_sessions
from kohort.coordinator.offsets.offsets import CommittedOffset
from kohort.coordinator.share.share_group_records import SHARE_RECORDS
from kohort.coordinator.share.share_group_state import ShareGroupState
from kohort.coordinator.share.share_member import FIRST, ShareMember
from kohort.coordinator.share.share_values import ShareAssignment, ShareKind, ShareMetadata
from kohort.coordinator.share.state_partitions import NO_STATES, StatePartitions
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.coordinator.share.share_host import ShareHost

UNKNOWN = ShareMetadata()  # metadata of a member whose assignment record precedes its metadata record


class ShareGroup(SubscribingGroup):
    """Share group with its members, targets and state partitions."""

    __slots__ = ("all_assigned", "complete_until_ms", "complete_version", "has_states", "state_calls", "states")

    epoch_kind = ShareKind.GROUP_EPOCH
    target_epoch_kind = ShareKind.TARGET_EPOCH
    group_type = SHARE

    def __init__(self, coordinator: "ShareHost", group_id: str, partition: int) -> None:
        super().__init__(coordinator, group_id, partition)
        self.coordinator: ShareHost = coordinator
        self.members: dict[str, ShareMember] = {}
        self.states: StatePartitions = NO_STATES
        self.has_states = False  # whether the log has a state-partition record, even an empty one
        self.all_assigned: bool | None = None  # see `assigns_all`; None: must be computed again
        # The version of the topics for which every partition of subscribed topics is initialized or initializing. None:
        # it must be computed again.
        self.complete_version: int | None = None
        self.complete_until_ms: float = 0  # when initializing partitions are due for a retry
        self.state_calls: list[Any] = []  # pending calls to share coordinators, in order; see state_calls.py

    @property
    def state(self) -> ShareGroupState:
        return ShareGroupState.STABLE if self.members else ShareGroupState.EMPTY

    @property
    def assigns_all(self) -> bool:
        """Whether the target has exactly the initialized partitions of the subscribed topics.

        Deleted topics are ignored. The log may still name one, if the record of its deletion could not be written. In
        Kafka each heartbeat then gives the group a new epoch if another topic has taken that name.
        """
        if self.all_assigned is None:
            self.all_assigned = self._compute_assigns_all()
        return self.all_assigned

    def _compute_assigns_all(self) -> bool:
        assigned: dict[UUID, set[int]] = {}
        for target in self.targets.values():
            for topic_id, partitions in target.items():
                assigned.setdefault(topic_id, set()).update(partitions)
        return all(
            assigned.get(topic_id, set()) == topic.partitions
            for topic_id, topic in self.states.initialized.items()
            if topic.name in self.names and self.coordinator.topics.by_id(topic_id) is not None
        )

    # Expiry and deletion

    @property
    def may_expire(self) -> bool:
        """False: a share group exists until it is deleted."""
        return False

    def refuses_offset_delete(self) -> ErrorCode:
        return ErrorCode.group_id_not_found

    def is_in_use(self, topic: str) -> bool:
        return topic in self.names

    def ages_since_ms(self, topic: str, committed: CommittedOffset) -> int | None:
        return None

    def record_keys(self) -> list[bytes]:
        """Return the keys of all records of the group, in Kafka's order."""
        named = (
            *((ShareKind.CURRENT, name) for name in self.members),
            *((ShareKind.TARGET, name) for name in self.members),
            (ShareKind.TARGET_EPOCH, None),
            *((ShareKind.MEMBER, name) for name in self.members),
            (ShareKind.STATE_PARTITIONS, None),
            (ShareKind.GROUP_EPOCH, None),
        )
        return [key_of(self.group_id, kind, name) for kind, name in named]

    # Records

    def apply(self, change: Change) -> object:
        """Apply a record. Return the previous value, or None if there was none."""
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
        return key_of(self.group_id, change.kind, change.name), SHARE_RECORDS.value_of(change)

    def _set_states(self, value: StatePartitions | None) -> StatePartitions | None:
        previous = self.states if self.has_states else None
        self.states, self.has_states = value or NO_STATES, value is not None
        return previous

    def _set_member(self, member_id: str, value: ShareMetadata | None) -> ShareMetadata | None:
        member = self.members.get(member_id)
        previous = None if member is None else member.metadata
        if previous is not None:
            self._count_names(previous.topic_names, -1)
        if value is None:
            self.members.pop(member_id, None)
            return previous
        self._count_names(value.topic_names, 1)
        if member is None:
            self._add(member_id, value)
        else:
            member.metadata = value
        return previous

    def _add(self, member_id: str, metadata: ShareMetadata) -> ShareMember:
        member = self.members[member_id] = ShareMember(member_id, metadata)
        self.most_members = max(self.most_members, len(self.members))
        return member

    def _set_current(self, member_id: str, value: ShareAssignment | None) -> ShareAssignment | None:
        member = self.members.get(member_id)
        if member is None:
            if value is None:
                return None
            # In a compacted log the assignment of a member may precede its metadata.
            member = self._add(member_id, UNKNOWN)
        previous = member.current
        member.current = FIRST if value is None else value
        return None if previous is FIRST else previous

    def changed(self, changes: GroupChanges, cause: Cause) -> OnWritten | None:
        return self.coordinator.share_observer.changed(changes, cause)

    def taken_back(self, previous_members: Mapping[str, ModernMember], now_ms: int) -> None:
        """Restart the sessions of members that exist again, and stop the sessions of the other ones."""
        from kohort.coordinator.share.share_sessions import keep_alive  # seldom needed

        resume_sessions(self, previous_members, keep_alive, now_ms)
        self.coordinator.share_observer.taken_back(self)
