"""State that the groups of all newer protocols share: members, epochs and targets (Kafka's `ModernGroup`).

`apply` applies one record, both when it is written and when a log is replayed. Nothing else changes the state.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from enum import Enum, IntEnum
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Final
from uuid import UUID

from mypy_extensions import mypyc_attr

from kohort.coordinator.groups.group import Group
from kohort.coordinator.groups.group_placement import java_hash
from kohort.coordinator.java_order import in_table_order
from kohort.coordinator.modern.hashing import group_hash
from kohort.coordinator.modern.modern_values import Change, CommittedPartition, GroupEpoch, Record, TargetEpoch
from kohort.coordinator.modern.record_parts import GroupRecords, key_of
from kohort.coordinator.offsets.offsets import CommittedOffset
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import DelayedOperation

if TYPE_CHECKING:
    from kohort.coordinator.events.event_state import EpochEventState
    from kohort.coordinator.groups.group_host import GroupHost
    from kohort.coordinator.modern.preparation import Preparation

_NONE: Final = ErrorCode.none

FIRST_EPOCH: Final = 1  # group epoch and target epoch before any record was written (Kafka 4.3)


@mypyc_attr(allow_interpreted_subclasses=True)
class ModernMember:
    """One member. Its protocol defines what the log stores of it."""

    __slots__ = ("java_hash", "member_id", "revocation", "session")

    first: ClassVar[Any]  # assignment of a new member

    metadata: Any  # the subscription and other data that the member sent

    def __init__(self, member_id: str) -> None:
        self.member_id = member_id
        self.java_hash = java_hash(member_id)  # determines the iteration order of Kafka's hash maps
        self.session: DelayedOperation | None = None  # removes the member when its session expires
        self.revocation: DelayedOperation | None = None  # removes a member that does not revoke in time

    def take_timers(self) -> Iterable[DelayedOperation | None]:
        """Take all timers from the member and return them."""
        timers = self.session, self.revocation
        self.session = self.revocation = None
        return timers

    @property
    def is_classic(self) -> bool:
        """Whether the member uses the classic protocol."""
        return False

    @property
    def must_revoke(self) -> bool:
        """Whether the member has a rebalance timeout, because it must revoke something."""
        return False

    def has_reached(self, epoch: int) -> bool:
        """Return whether the member has exactly its target of that epoch."""
        raise NotImplementedError

    def suspended(self) -> Any:
        """Return the assignment of a static member that leaves temporarily and keeps what it owns."""
        raise NotImplementedError

    def transferred(self) -> Any:
        """Return the assignment of the member that replaces this static member."""
        raise NotImplementedError


@mypyc_attr(allow_interpreted_subclasses=True)
class ModernGroup(Group):
    """Base class of these groups, independent of the protocol."""

    __slots__ = (
        "checked_version",
        "coordinator",
        "epoch",
        "event_state",
        "hashed_topics",
        "members",
        "metadata_hash",
        "most_members",
        "names",
        "newest_epoch",
        "preparation",
        "settled",
        "static_members",
        "target_epoch",
        "target_timestamp_ms",
        "targets",
    )

    kinds: ClassVar[Any]  # record types: MEMBER, GROUP_EPOCH, TARGET_EPOCH, TARGET, CURRENT
    records: ClassVar[GroupRecords]
    unknown: ClassVar[Any]  # metadata of a member whose assignment record precedes its metadata record
    no_target: ClassVar[Any]

    def __init__(self, coordinator: "GroupHost", group_id: str, partition: int) -> None:
        super().__init__(group_id, partition)
        self.coordinator = coordinator
        self.epoch = FIRST_EPOCH
        self.metadata_hash = 0
        self.target_epoch = FIRST_EPOCH
        # Wall clock at the end of the last computation; 0 if the next one may run at any time.
        self.target_timestamp_ms = 0
        self.members: dict[str, Any] = {}  # by member ID; the protocol defines their class
        self.targets: dict[str, Any] = {}  # by member ID
        self.static_members: dict[str, str] = {}  # member ID by group instance ID
        self.names: Counter[str] = Counter()  # number of members that subscribe to a topic by its name
        self.settled = 0  # number of members that have reached the target
        self.newest_epoch = 0  # newest epoch that a member has had
        self.hashed_topics: tuple[int, frozenset[str], int] | None = None  # see `current_hash`
        # Version of the topics when the group last checked its own; None if it must check again.
        self.checked_version: int | None = None
        self.most_members = 0  # maximum number of members so far: it determines Kafka's iteration order
        self.event_state: EpochEventState | None = None  # state that the event source keeps for the group
        self.preparation: Preparation | None = None  # target that is being computed in the background

    @property
    def assignor_name(self) -> str:
        raise NotImplementedError

    @property
    def state(self) -> Enum:
        """State derived from members and epochs; its value is the name in responses."""
        raise NotImplementedError

    @property
    def state_name(self) -> str:
        return str(self.state.value)

    @property
    def config(self) -> Any:
        """The settings of the group."""
        return self.coordinator.configs[self.group_type](self.group_id)

    @property
    def max_size(self) -> int:
        """The maximum number of members."""
        raise NotImplementedError

    @property
    def is_there(self) -> bool:
        """Whether this is the current group of its ID: neither deleted, nor undone, nor on another coordinator."""
        return self.coordinator.groups.get(self.group_id) is self

    def appear(self) -> None:
        self.coordinator.groups[self.group_id] = self

    def vanish(self) -> None:
        self.coordinator.remove(self)

    @property
    def may_become_classic(self) -> bool:
        """Whether the group may become a classic one when members leave."""
        return False

    def session_timeout_of(self, member: Any) -> int:
        timeout_ms: int = self.coordinator.configs[self.group_type](self.group_id).session_timeout_ms
        return timeout_ms

    def member_of_instance(self, instance_id: str) -> Any:
        """Return the static member with that instance ID, or None."""
        member_id = self.static_members.get(instance_id)
        return None if member_id is None else self.members.get(member_id)

    def members_in_table_order(self) -> list[Any]:
        """Return the members in the iteration order of Kafka's table of members."""
        return in_table_order(self.members.values(), hash_of_member, self.most_members)

    def target_of(self, member_id: str) -> Any:
        return self.targets.get(member_id, self.no_target)

    @property
    def is_reconciled(self) -> bool:
        """Whether every member has exactly its target of the group epoch."""
        members = len(self.members)
        return not members or (self.target_epoch == self.epoch and self.settled == members)

    # Epochs

    def subscribed_names(self) -> Iterable[str]:
        """Return the topics that the group reads."""
        return self.names

    def current_hash(self) -> int:
        """Return the hash of the topics that the group reads as they are now.

        Members that join or leave rarely change it: the last one is kept with the version of the topics and the names.
        """
        topics, names, hashed = self.coordinator.topics, frozenset(self.subscribed_names()), self.hashed_topics
        if hashed is not None and hashed[0] == topics.version and hashed[1] == names:
            return hashed[2]
        existing = map(topics.by_name, names)
        metadata_hash = group_hash(topic for topic in existing if topic is not None)
        self.hashed_topics = topics.version, names, metadata_hash
        return metadata_hash

    def next_epoch(self) -> Any:
        """Return the value of the record that gives the group a new epoch."""
        return GroupEpoch(self.epoch + 1, self.current_hash())

    def is_target_due(self, now_ms: int) -> bool:
        """Return whether a target is due and the last one is old enough."""
        return self.target_epoch < self.epoch and not self.is_target_young(now_ms)

    def is_target_young(self, now_ms: int) -> bool:
        """Return whether the assignment interval since the last target has not passed (KIP-1263)."""
        interval_ms: int = self.config.assignment_interval_ms
        due_ms = self.target_timestamp_ms + interval_ms
        return bool(self.target_timestamp_ms and interval_ms) and self.coordinator.wall_ms(now_ms) < due_ms

    def remember_topic_changes(self) -> None:
        """Prepare the removal of a member, which computes a new hash.

        Kafka nevertheless checks the changed topics at the next heartbeat.
        """
        version = self.coordinator.topics.version
        if self.checked_version not in (None, version):
            self.checked_version = version if self.current_hash() == self.metadata_hash else None

    def changes_without(self, member: Any) -> Iterable[tuple[Any, str, Any]]:
        """Return further changes that are necessary because a member was removed: type, name and value."""
        return ()

    # Commits, expiration and deletion

    @property
    def is_empty(self) -> bool:
        return not self.members

    @property
    def version(self) -> int:
        return self.epoch

    def refuses_delete(self) -> ErrorCode:
        return ErrorCode.non_empty_group if self.members else _NONE

    def refuses_offset_delete(self) -> ErrorCode:
        """Return NONE: the topics that the group reads are always known."""
        return _NONE

    def ages_since_ms(self, topic: str, committed: CommittedOffset) -> int | None:
        """Return the time retention starts at, or None while the group reads the topic."""
        return None if self.is_in_use(topic) else committed.commit_timestamp_ms

    def check_commit(
        self, member_id: str, epoch: int, partitions: Iterable[CommittedPartition], *, knows_epochs: bool = True
    ) -> ErrorCode:
        """Return NONE, UNKNOWN_MEMBER_ID, UNSUPPORTED_VERSION, STALE_MEMBER_EPOCH or ILLEGAL_GENERATION.

        An older epoch is accepted if the member has had each of the partitions since then. No session is extended. Only
        members that use the classic protocol receive ILLEGAL_GENERATION. Source: KIP-1251.

        Args:
            knows_epochs: Whether the version of the request has member epochs.
        """
        if epoch < 0 and not self.members:
            return _NONE
        member = self.members.get(member_id)
        if member is None:
            return ErrorCode.unknown_member_id
        if not knows_epochs and not member.is_classic:
            return ErrorCode.unsupported_version
        current = member.current
        if epoch == current.epoch:
            return _NONE
        if epoch < current.epoch and self._has_owned_since(current, epoch, partitions):
            return _NONE
        return ErrorCode.illegal_generation if member.is_classic else ErrorCode.stale_member_epoch

    def _has_owned_since(self, current: Any, epoch: int, partitions: Iterable[CommittedPartition]) -> bool:
        for topic, topic_id, partition in partitions:
            given_epoch = self.given_at(current, topic, topic_id, partition)
            if given_epoch is None or given_epoch > epoch:
                return False
        return True

    def given_at(self, current: Any, topic: str, topic_id: UUID | None, partition: int) -> int | None:
        """Return the epoch of the assignment that added the partition, or None if the member does not own it."""
        raise NotImplementedError

    def check_fetch(self, member_id: str | None, epoch: int) -> ErrorCode:
        """Return NONE (also without a member), UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH or ILLEGAL_GENERATION.

        An epoch without a member ID is UNKNOWN_SERVER_ERROR: Kafka looks up the member null, and fails.
        """
        if member_id is None:
            return _NONE if epoch < 0 else ErrorCode.unknown_server_error
        member = self.members.get(member_id)
        if member is None:
            return ErrorCode.unknown_member_id
        if epoch == member.current.epoch:
            return _NONE
        return ErrorCode.illegal_generation if member.is_classic else ErrorCode.stale_member_epoch

    # Records

    def record_keys(self) -> list[bytes]:
        """Return the keys of all records in Kafka's order."""
        kinds = self.kinds
        named: list[tuple[IntEnum, str | None]] = [(kinds.CURRENT, name) for name in self.members]
        named += [(kinds.TARGET, name) for name in self.members]
        named.append((kinds.TARGET_EPOCH, None))
        named += [(kinds.MEMBER, name) for name in self.members]
        return [key_of(self.group_id, kind, name) for kind, name in (*named, *self.last_keys())]

    def last_keys(self) -> Sequence[tuple[Any, str | None]]:
        """Return the last records to delete, including that of the group epoch: their types and names."""
        raise NotImplementedError

    def apply(self, change: Change) -> object:
        """Apply a record and return the value that it replaces, or None."""
        kind, name, value = change
        kinds = self.kinds
        if name is None:
            if kind is kinds.GROUP_EPOCH:
                return self._set_epoch(value)
            return self._set_target_epoch(value) if kind is kinds.TARGET_EPOCH else self._set_other(change)
        if kind is kinds.CURRENT:
            return self._set_current(name, value)
        if kind is kinds.TARGET:
            return self._set_target(name, value)
        return self._set_member(name, value) if kind is kinds.MEMBER else self._set_other(change)

    def _set_other(self, change: Change) -> object:
        """Apply a record of a type that only this protocol has."""
        return None

    def record_of(self, change: Change) -> Record:
        return key_of(self.group_id, change.kind, change.name), self.records.value_of(change)

    def on_written(self) -> None:
        """Note that changes of the group are written."""

    def begin(self, now_ms: int) -> None:
        """Start to serve the group after it was loaded. The caller starts the timers of its members."""
        self.appear()

    def _set_epoch(self, value: Any) -> Any:
        old_epoch = GroupEpoch(self.epoch, self.metadata_hash)
        self.epoch, self.metadata_hash = value or GroupEpoch(FIRST_EPOCH)
        return old_epoch

    def _set_target_epoch(self, value: TargetEpoch | None) -> TargetEpoch:
        old_epoch = TargetEpoch(self.target_epoch, self.target_timestamp_ms)
        self.target_epoch, self.target_timestamp_ms = value or TargetEpoch(-1)
        # If no member has such a new epoch yet, skip the search: it takes longer the more members there are.
        members = self.members.values() if self.target_epoch <= self.newest_epoch else ()
        self.settled = sum([member.has_reached(self.target_epoch) for member in members])
        return old_epoch

    def _set_target(self, member_id: str, target: Any) -> Any:
        return set_value(self.targets, member_id, target)

    def _set_member(self, member_id: str, value: Any) -> Any:
        member = self.members.get(member_id)
        old_metadata = None if member is None else member.metadata
        if old_metadata is not None:
            self._count(old_metadata, -1)
            instance_id: str | None = getattr(old_metadata, "instance_id", None)  # members of share groups have none
            if instance_id is not None and self.static_members.get(instance_id) == member_id:
                del self.static_members[instance_id]
        if value is None:
            if member is not None:
                self.settled -= member.has_reached(self.target_epoch)
                self._disown(member)
                del self.members[member_id]
            return old_metadata
        self._count(value, 1)
        instance_id = getattr(value, "instance_id", None)
        if instance_id is not None:
            self.static_members[instance_id] = member_id
        if member is None:
            self._add(member_id, value)
        else:
            self._replace_metadata(member, value)
        return old_metadata

    def new_member(self, member_id: str, metadata: Any) -> Any:
        raise NotImplementedError

    def _add(self, member_id: str, metadata: Any) -> Any:
        member = self.members[member_id] = self.new_member(member_id, metadata)
        self.most_members = max(self.most_members, len(self.members))
        self.settled += member.has_reached(self.target_epoch)
        return member

    def _replace_metadata(self, member: Any, metadata: Any) -> None:
        member.metadata = metadata

    def _count(self, metadata: Any, by: int) -> None:
        """Count the subscription of a member, by 1 or -1."""
        for name in metadata.topic_names:
            add_to(self.names, name, by)

    def _set_current(self, member_id: str, value: Any) -> Any:
        member = self.members.get(member_id)
        if member is None:
            if value is None:
                return None
            # In a compacted log the metadata of a member can follow its assignment.
            member = self._add(member_id, self.unknown)
        old_assignment, first = member.current, member.first
        self.settled -= member.has_reached(self.target_epoch)
        self._replace_current(member, first if value is None else value)
        self.newest_epoch = max(self.newest_epoch, member.current.epoch)
        self.settled += member.has_reached(self.target_epoch)
        return None if old_assignment is first else old_assignment

    def _replace_current(self, member: Any, assignment: Any) -> None:
        self._disown(member)
        member.current = assignment
        self._own(member)

    def _own(self, member: Any) -> None:
        """Note what a member owns or has to revoke, if other members must wait for it."""

    def _disown(self, member: Any) -> None:
        """Remove what `_own` has added."""


hash_of_member: Final[Callable[[Any], int]] = attrgetter("java_hash")


def add_to(counter: Counter[str], name: str, by: int) -> None:
    """Add `by` to a count; remove it from the counter when it reaches zero."""
    counter[name] += by
    if not counter[name]:
        del counter[name]


def set_value(values: dict[str, Any], name: str, value: Any) -> Any:
    """Store a value, or delete the entry for None; return the previous value."""
    if value is None:
        return values.pop(name, None)
    old_value = values.get(name)
    values[name] = value
    return old_value
