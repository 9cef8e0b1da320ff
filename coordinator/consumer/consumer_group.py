"""A consumer group: state built from its records, and values derived from it (consumer-groups §4).

`apply` applies one record, both when it is written and when a log is replayed. Nothing else changes the state.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from kohort.coordinator.consumer.consumer_config import ConsumerConfig
from kohort.coordinator.consumer.consumer_group_records import CONSUMER_RECORDS
from kohort.coordinator.consumer.consumer_member import FIRST, ConsumerMember
from kohort.coordinator.consumer.consumer_states import GroupState
from kohort.coordinator.consumer.subscribers import Subscribers
from kohort.coordinator.consumer.values import CurrentAssignment, Kind, MemberMetadata, ResolvedRegex
from kohort.coordinator.events.event_state import ConsumerEventState
from kohort.coordinator.groups.group import CONSUMER
from kohort.coordinator.groups.group_placement import java_hash
from kohort.coordinator.java_order import in_table_order
from kohort.coordinator.modern.modern_group import ModernGroup, add_to, set_value
from kohort.coordinator.modern.modern_values import NO_TARGET, Change, Target

if TYPE_CHECKING:
    from kohort.coordinator.groups.group_host import GroupHost

_EMPTY: Final = GroupState.EMPTY
_ASSIGNING: Final = GroupState.ASSIGNING
_RECONCILING: Final = GroupState.RECONCILING
_STABLE: Final = GroupState.STABLE


class ConsumerGroup(ModernGroup):
    """Members, targets and patterns of one group, with indexes for fast lookups."""

    __slots__ = (
        "added",
        "assignors",
        "classic_count",
        "ids",
        "ids_version",
        "matched_version",
        "owners",
        "regex_counts",
        "regexes",
        "resolving",
        "subscribers",
    )

    group_type = CONSUMER
    kinds = Kind
    records = CONSUMER_RECORDS
    unknown = MemberMetadata()
    no_target = NO_TARGET

    def __init__(self, coordinator: "GroupHost", group_id: str, partition: int) -> None:
        super().__init__(coordinator, group_id, partition)
        self.members: dict[str, ConsumerMember] = {}
        self.targets: dict[str, Target] = {}
        self.regexes: dict[str, ResolvedRegex] = {}
        self.added = 0  # number of members that were ever added
        self.owners: dict[UUID, dict[int, str]] = {}  # member ID by topic and partition, until the partition is revoked
        # existing topics by the names and pattern matches of a subscription; see `topic_ids`
        self.ids: dict[tuple[tuple[str, ...], tuple[str, ...]], frozenset[UUID]] = {}
        self.ids_version: int | None = None  # version of the topics for which `ids` is valid
        self.subscribers = Subscribers()
        self.regex_counts: Counter[str] = Counter()  # number of subscribers by pattern
        self.assignors: Counter[str] = Counter()  # votes for server-side assignors
        self.classic_count = 0  # members that use the classic protocol
        self.resolving = False  # whether patterns are being resolved
        # Version of the topics when this process last matched patterns for a caller that sees all topics.
        self.matched_version = -1
        self.event_state: ConsumerEventState | None = None

    @property
    def state(self) -> GroupState:
        """State derived from members and epochs (consumer-groups §4.2)."""
        if not self.members:
            return _EMPTY
        if self.epoch > self.target_epoch:
            return _ASSIGNING
        return _STABLE if self.settled == len(self.members) else _RECONCILING

    @property
    def assignor_name(self) -> str:
        return self.preferred_assignor(None)

    def preferred_assignor(self, own_vote: str | None) -> str:
        """Return the assignor with the most votes, or the first configured one without votes.

        In a tie Kafka takes the first one in its map. When a request of a member triggers the computation, Kafka
        removes the member's vote from a copy and adds it again, which puts an assignor without other votes first.
        """
        votes = self.assignors
        if not votes:
            return self.coordinator.settings.group_consumer_assignors[0]
        ordered = in_table_order(sorted(votes), java_hash)
        ordered.sort(key=lambda name: name != own_vote or votes[name] > 1)
        return max(ordered, key=lambda name: votes[name])

    @property
    def config(self) -> ConsumerConfig:
        config: ConsumerConfig = self.coordinator.configs[CONSUMER](self.group_id)
        return config

    @property
    def max_size(self) -> int:
        return self.coordinator.settings.group_consumer_max_size

    @property
    def may_become_classic(self) -> bool:
        return self.classic_count > 0

    def session_timeout_of(self, member: ConsumerMember) -> int:
        classic = member.metadata.classic
        return self.config.session_timeout_ms if classic is None else classic.session_timeout_ms

    def member_of_instance(self, instance_id: str) -> ConsumerMember | None:
        member_id = self.static_members.get(instance_id)
        return None if member_id is None else self.members[member_id]

    def target_of(self, member_id: str) -> Target:
        return self.targets.get(member_id, NO_TARGET)

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

    def topic_ids(self, metadata: MemberMetadata) -> frozenset[UUID]:
        """Return the existing topics of a member's subscription, cached for all equal subscriptions."""
        topics = self.coordinator.topics
        if self.ids_version != topics.version or len(self.ids) > 2 * len(self.members):
            self.ids.clear()
            self.ids_version = topics.version
        resolved = self.regexes.get(metadata.topic_regex) if metadata.topic_regex else None
        subscription = metadata.topic_names, () if resolved is None else resolved.topics
        ids = self.ids.get(subscription)
        if ids is None:
            existing = (topics.by_name(name) for names in subscription for name in names)
            ids = self.ids[subscription] = frozenset(topic.topic_id for topic in existing if topic is not None)
        return ids

    def is_in_use(self, topic: str) -> bool:
        return topic in self.names or any(topic in regex.topics for regex in self.regexes.values())

    def given_at(self, current: CurrentAssignment, topic: str, topic_id: UUID | None, partition: int) -> int | None:
        return None if topic_id is None else current.given_at(topic_id, partition)

    # Records

    def last_keys(self) -> Sequence[tuple[Kind, str | None]]:
        """Return the last records to delete, always with the partition metadata of Kafka 4.0."""
        return (
            *((Kind.REGEX, name) for name in self.regexes),
            (Kind.PARTITION_METADATA, None),
            (Kind.GROUP_EPOCH, None),
        )

    def changes_without(self, member: ConsumerMember) -> Iterable[tuple[Kind, str, None]]:
        regex = member.metadata.topic_regex
        return ((Kind.REGEX, regex, None),) if regex and not self.regex_counts[regex] and regex in self.regexes else ()

    def begin(self, now_ms: int) -> None:
        super().begin(now_ms)
        self.rebuild_indexes()

    def new_member(self, member_id: str, metadata: MemberMetadata) -> ConsumerMember:
        self.added += 1
        return ConsumerMember(member_id, metadata, self.added)

    def _set_other(self, change: Change) -> Any:
        if change.kind is Kind.REGEX and change.name is not None:
            self.subscribers.forget_topics()
            return set_value(self.regexes, change.name, change.value)
        return None

    def _count(self, metadata: MemberMetadata, by: int) -> None:
        super()._count(metadata, by)
        if metadata.topic_regex:
            add_to(self.regex_counts, metadata.topic_regex, by)
        if metadata.assignor is not None:
            add_to(self.assignors, metadata.assignor, by)
        if metadata.classic is not None:
            self.classic_count += by

    def _set_member(self, member_id: str, value: Any) -> Any:
        self.subscribers.move(member_id)
        self.subscribers.forget(member_id)
        return super()._set_member(member_id, value)

    def _set_target(self, member_id: str, target: Target | None) -> Any:
        self.subscribers.forget(member_id)
        return super()._set_target(member_id, target)

    def _replace_current(self, member: ConsumerMember, assignment: CurrentAssignment) -> None:
        old_assignment = member.current
        if old_assignment is FIRST or assignment is FIRST:
            self.subscribers.move(member.member_id)
        is_kept = old_assignment.assigned is assignment.assigned or old_assignment.assigned == assignment.assigned
        # Skip the indexes if nothing moves: a UUID takes long to hash.
        if old_assignment.revoking or assignment.revoking or not is_kept:
            super()._replace_current(member, assignment)
        else:
            member.current = assignment

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
