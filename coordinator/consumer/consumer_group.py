"""A consumer group: state built from its records, and values derived from it (consumer-groups §4).

`apply` applies one record, both when it is written and when a log is replayed. Nothing else changes the state.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING
from uuid import UUID

from kohort.coordinator.consumer.consumer_group_records import CONSUMER_RECORDS
from kohort.coordinator.consumer.consumer_member import FIRST, ConsumerMember
from kohort.coordinator.consumer.consumer_states import GroupState
from kohort.coordinator.consumer.member_epochs import check_commit, check_fetch
from kohort.coordinator.consumer.values import CurrentAssignment, Kind, MemberMetadata, ResolvedRegex
from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Cause
from kohort.coordinator.events.event_state import ConsumerEventState
from kohort.coordinator.groups.group import CONSUMER
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.modern_group import add_to, set_value
from kohort.coordinator.modern.modern_member import ModernMember
from kohort.coordinator.modern.modern_values import Change, CommittedPartition, Record, TargetEpoch
from kohort.coordinator.modern.record_parts import key_of
from kohort.coordinator.modern.subscribing_group import SubscribingGroup
from kohort.coordinator.offsets.offsets import CommittedOffset
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.coordinator.consumer.consumer_host import ConsumerHost

UNKNOWN = MemberMetadata()  # metadata of a member of which only an assignment record has been read so far


class ConsumerGroup(SubscribingGroup):
    """Members, targets and patterns of one group, with indexes for fast lookups."""

    __slots__ = (
        "assignors",
        "classic_count",
        "ids",
        "ids_version",
        "matched_version",
        "owners",
        "regex_counts",
        "regexes",
        "resolving",
        "settled",
        "static_members",
    )

    epoch_kind = Kind.GROUP_EPOCH
    target_epoch_kind = Kind.TARGET_EPOCH
    group_type = CONSUMER

    def __init__(self, coordinator: "ConsumerHost", group_id: str, partition: int) -> None:
        super().__init__(coordinator, group_id, partition)
        self.coordinator: ConsumerHost = coordinator
        self.members: dict[str, ConsumerMember] = {}
        self.regexes: dict[str, ResolvedRegex] = {}
        self.static_members: dict[str, str] = {}  # member ID by group instance ID
        self.owners: dict[UUID, dict[int, str]] = {}  # member ID by topic and partition, until the partition is revoked
        # existing topics by the names and pattern matches of a subscription; see `targets.topic_ids`
        self.ids: dict[tuple[tuple[str, ...], tuple[str, ...]], frozenset[UUID]] = {}
        self.ids_version: int | None = None  # version of the topics for which `ids` is valid
        self.regex_counts: Counter[str] = Counter()  # number of subscribers by pattern
        self.assignors: Counter[str] = Counter()  # votes for server-side assignors
        self.classic_count = 0  # members that use the classic protocol
        self.settled = 0  # members that have reached the target
        self.resolving = False  # whether patterns are being resolved
        # Version of the topics when this process last matched patterns for a caller that sees all topics.
        self.matched_version = -1
        self.event_state: ConsumerEventState | None = None

    @property
    def state(self) -> GroupState:
        """State derived from members and epochs (consumer-groups §4.2)."""
        if not self.members:
            return GroupState.EMPTY
        if self.epoch > self.target_epoch:
            return GroupState.ASSIGNING
        return GroupState.STABLE if self.settled == len(self.members) else GroupState.RECONCILING

    def member_of_instance(self, instance_id: str) -> ConsumerMember | None:
        member_id = self.static_members.get(instance_id)
        return None if member_id is None else self.members[member_id]

    def subscribed_names(self) -> set[str]:
        """Return the topics that members subscribe to by name or pattern."""
        names = set(self.names)
        for regex in self.regexes.values():
            names.update(regex.topics)
        return names

    def names_of(self, metadata: MemberMetadata) -> Iterable[str]:
        """Return the topics that a member subscribes to. A pattern that is not resolved yet matches nothing."""
        resolved = self.regexes.get(metadata.topic_regex) if metadata.topic_regex else None
        if resolved is None:
            return metadata.topic_names
        return {*metadata.topic_names, *resolved.topics}

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self.names or any(topic in regex.topics for regex in self.regexes.values())

    # Expiration and deletion (consumer-groups §15.4, §16.4)

    def refuses_offset_delete(self) -> ErrorCode:
        """Return NONE: the subscriptions are always known."""
        return ErrorCode.none

    def is_in_use(self, topic: str) -> bool:
        return self.is_subscribed_to(topic)

    def ages_since_ms(self, topic: str, committed: CommittedOffset) -> int | None:
        """Return the time retention starts at, or None while a member subscribes to the topic."""
        return None if self.is_subscribed_to(topic) else committed.commit_timestamp_ms

    def record_keys(self) -> list[bytes]:
        """Return the keys of all records in Kafka's order.

        A tombstone for the partition metadata of Kafka 4.0 is always included.
        """
        named = (
            *((Kind.CURRENT, name) for name in self.members),
            *((Kind.TARGET, name) for name in self.members),
            (Kind.TARGET_EPOCH, None),
            *((Kind.MEMBER, name) for name in self.members),
            *((Kind.REGEX, name) for name in self.regexes),
            (Kind.PARTITION_METADATA, None),
            (Kind.GROUP_EPOCH, None),
        )
        return [key_of(self.group_id, kind, name) for kind, name in named]

    def check_commit(
        self, member_id: str, epoch: int, partitions: Iterable[CommittedPartition], *, knows_epochs: bool = True
    ) -> ErrorCode:
        return check_commit(self.members, member_id, epoch, partitions, knows_epochs=knows_epochs)

    def check_fetch(self, member_id: str | None, epoch: int) -> ErrorCode:
        return check_fetch(self.members, member_id, epoch)

    # Records

    def apply(self, change: Change) -> object:
        kind, name, value = change
        if name is None:
            if kind is Kind.GROUP_EPOCH:
                return self._set_epoch(value)
            return self._set_target_epoch(value) if kind is Kind.TARGET_EPOCH else None
        if kind is Kind.CURRENT:
            return self._set_current(name, value)
        if kind is Kind.TARGET:
            return set_value(self.targets, name, value)
        if kind is Kind.MEMBER:
            return self._set_member(name, value)
        return set_value(self.regexes, name, value) if kind is Kind.REGEX else None

    def record_of(self, change: Change) -> Record:
        return key_of(self.group_id, change.kind, change.name), CONSUMER_RECORDS.value_of(change)

    def changed(self, changes: GroupChanges, cause: Cause) -> OnWritten | None:
        return self.coordinator.consumer_observer.changed(changes, cause)

    def taken_back(self, old_members: Mapping[str, ModernMember], now_ms: int) -> None:
        self.coordinator.resume_timers(self, old_members, now_ms)  # type: ignore[arg-type]
        self.coordinator.consumer_observer.taken_back(self)

    def measured_from_us(self) -> int | None:
        return self.coordinator.consumer_observer.measured_from_us()

    def measured_us(self, began_us: int | None) -> int:
        return self.coordinator.consumer_observer.measured_us(began_us)

    def _set_target_epoch(self, value: TargetEpoch | None) -> TargetEpoch:
        old_epoch = super()._set_target_epoch(value)
        self.settled = sum(member.has_reached(self.target_epoch) for member in self.members.values())
        return old_epoch

    def _set_member(self, member_id: str, value: MemberMetadata | None) -> MemberMetadata | None:
        member = self.members.get(member_id)
        old_metadata = None if member is None else member.metadata
        if old_metadata is not None:
            self._count(old_metadata, -1)
            if old_metadata.instance_id is not None and self.static_members.get(old_metadata.instance_id) == member_id:
                del self.static_members[old_metadata.instance_id]
        if value is None:
            if member is not None:
                self.settled -= member.has_reached(self.target_epoch)
                self._disown(member)
                del self.members[member_id]
            return old_metadata
        self._count(value, 1)
        if value.instance_id is not None:
            self.static_members[value.instance_id] = member_id
        if member is None:
            member = self.members[member_id] = ConsumerMember(member_id, value)
            self.most_members = max(self.most_members, len(self.members))
            self.settled += member.has_reached(self.target_epoch)
        else:
            member.metadata = value
        return old_metadata

    def _count(self, metadata: MemberMetadata, by: int) -> None:
        self._count_names(metadata.topic_names, by)
        if metadata.topic_regex:
            add_to(self.regex_counts, metadata.topic_regex, by)
        if metadata.assignor is not None:
            add_to(self.assignors, metadata.assignor, by)
        if metadata.classic is not None:
            self.classic_count += by

    def _set_current(self, member_id: str, value: CurrentAssignment | None) -> CurrentAssignment | None:
        member = self.members.get(member_id)
        if member is None:
            if value is None:
                return None
            # In a compacted log the metadata of a member can follow its assignment.
            member = self.members[member_id] = ConsumerMember(member_id, UNKNOWN)
            self.most_members = max(self.most_members, len(self.members))
            self._count(UNKNOWN, 1)
            self.settled += member.has_reached(self.target_epoch)
        old_assignment = member.current
        new_assignment = FIRST if value is None else value
        self.settled -= member.has_reached(self.target_epoch)
        is_kept = (
            old_assignment.assigned is new_assignment.assigned or old_assignment.assigned == new_assignment.assigned
        )  # a UUID takes long to hash
        if old_assignment.revoking or new_assignment.revoking or not is_kept:
            self._disown(member)
            member.current = new_assignment
            self._own(member)
        else:
            member.current = new_assignment
        self.settled += member.has_reached(self.target_epoch)
        return None if old_assignment is FIRST else old_assignment

    def rebuild_indexes(self) -> None:
        """Rebuild the owners of partitions and instance IDs.

        After a failed write, a log can name a new owner before the old one has released the partition. Source:
        consumer-groups §19.
        """
        self.static_members = {
            member.metadata.instance_id: member.member_id
            for member in self.members.values()
            if member.metadata.instance_id is not None
        }
        self.owners = {}
        for member in self.members.values():
            self._own(member)

    def _own(self, member: ConsumerMember) -> None:
        for owned in (member.current.assigned, member.current.revoking):
            for topic_id, partitions in owned.items():
                if partitions:  # an assignment can contain a topic without partitions
                    self.owners.setdefault(topic_id, {}).update(dict.fromkeys(partitions, member.member_id))

    def _disown(self, member: ConsumerMember) -> None:
        member_id = member.member_id
        for owned in (member.current.assigned, member.current.revoking):
            for topic_id, partitions in owned.items():
                owners = self.owners.get(topic_id, {})
                for partition in partitions:
                    if owners.get(partition) == member_id:
                        del owners[partition]
                if not owners:
                    self.owners.pop(topic_id, None)
