"""Safety oracle: guarantees that a cluster must keep, whatever a test does to it.

Violations are: two members own a partition in one generation; a member's commit goes backwards, is for a partition of
another member, or is beyond the end of the log; a commit from a fenced generation is accepted; a partition has no owner
for longer than a budget. Commits in transactions are checked, too; those of an aborted transaction have no effect.

An OffsetCommit without a generation does not come from a member. It is from an administrator who resets a group, or
from a consumer that assigns partitions to itself. Such a commit may go backwards, as may commits after offsets, a group
or a topic were deleted. A member may still commit for a partition that it has revoked until the partition has a new
owner, as a cooperative consumer does while it revokes. A topic without records has no end to be beyond.

In groups of the consumer protocol, and mixed ones, further violations are: a partition is assigned to a member before
another one has revoked it; a member owns something without an epoch, or is ahead of its group; a commit is accepted
from a client that is not a member, owns nothing, or sends an epoch of the future or one before it had the partition.
Streams groups are checked in the same way, by their active tasks (`epoch_safety.py`).

In share groups violations are: two members hold a record, an accepted record is delivered again, or a record is skipped
(`share_safety.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import UUID

from kohort.control.numbers import whole
from kohort.control.oracle.epoch_safety import EPOCH_TYPES, GENERATION_TYPES, PARTITION_TYPES, EpochSafety, allowed_by
from kohort.control.oracle.last_commits import LastCommit, LastCommits
from kohort.control.oracle.repeated_commit import CheckedCommit
from kohort.control.oracle.share_safety import ShareSafety
from kohort.coordinator.groups.group_types import find_types
from kohort.protocol.consumer_protocol import assigned_partitions
from kohort.protocol.errors import ErrorCode
from kohort.protocol.topic_partition import TopicPartition, name_of

if TYPE_CHECKING:
    from kohort.broker.cluster.group_events import Recorded
    from kohort.control.brokers import Brokers
    from kohort.control.exchange import Exchange
    from kohort.control.history.recorder import Recorder
    from kohort.control.oracle.repeated_commit import RepeatedCommit
    from kohort.coordinator.groups.group import Group

NO_OWNERS: tuple[int, Mapping[TopicPartition, list[str]]] = (-1, {})  # before the first assignment

SHARING_TYPES = find_types(lambda row: row.owned is None)


@dataclass
class Budget:
    """Exceptions from the guarantees, for a test that provokes a violation."""

    # Maximum time without an owner for a subscribed partition of a group with members; None means no limit.
    unowned_ms: int | None = None
    two_owners: bool = False  # whether a leader may assign a partition to two members (its mistake, not the broker's)
    backwards: bool = False  # whether commits may go backwards, as after a seek
    others_partitions: bool = False  # whether a member may commit for a partition that another one owns
    beyond_end: bool = False  # whether a member may commit an offset beyond the end of the log

    def __post_init__(self) -> None:
        if self.unowned_ms is not None:
            whole(self.unowned_ms, "unowned_ms", 0)


@dataclass
class _Transaction:
    """Offsets that take effect when the transaction is committed."""

    epoch: int
    offsets: dict[tuple[str, TopicPartition], tuple[int, UUID | None]] = field(default_factory=dict)


@dataclass
class SafetyMonitor:
    """Monitor of all groups of a laboratory. `violations` are sentences, with which a plugin fails the test."""

    brokers: Brokers
    find: Callable[[str], Group | None]  # finds a group of any type by its id
    budget: Budget = field(default_factory=Budget)
    violations: list[str] = field(default_factory=list)
    _committed: LastCommits = field(default_factory=LastCommits)
    _in_transactions: dict[int, _Transaction] = field(default_factory=dict)  # by producer id
    # The generation of the group's last assignment, and the owners since.
    _owners: dict[str, tuple[int, Mapping[TopicPartition, list[str]]]] = field(default_factory=dict)
    _unowned_since: dict[tuple[str, TopicPartition], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        topics = self.brokers.cluster.topics
        self._epochs = EpochSafety(topics, self.find, self._note)
        self._shares = ShareSafety(topics.by_name, self._note)

    def start(self, recorder: Recorder) -> None:
        recorder.listen(self._on_event)

    def committed(self, exchange: Exchange, response: Any) -> None:
        """Check the accepted offsets of OffsetCommit or TxnOffsetCommit before the response is sent."""
        rejected = {
            (topic.name, _id_of(topic), part.partition_index)
            for topic in getattr(response, "topics", ())  # an encoded response accepts all
            for part in topic.partitions
            if part.error_code is not ErrorCode.none
        }
        new_offsets = None if exchange.offsets is None else iter(exchange.offsets)
        for topic in exchange.request.topics:
            name, topic_id = topic.name, _id_of(topic)
            offsets = []
            for part in topic.partitions:
                offset = part.committed_offset if new_offsets is None else next(new_offsets)
                if not rejected or (name, topic_id, part.partition_index) not in rejected:
                    offsets.append((part.partition_index, offset))
            if offsets:
                self._accepted(exchange, name or str(topic_id), offsets)

    def committed_again(self, commit: RepeatedCommit, response: Any) -> None:
        """Check the offsets of a repeated commit before the response is sent, and the rest if it may have changed."""
        offsets, checked = commit.offsets, commit.checked
        if (
            checked is not None
            and offsets is not None
            and type(response) is bytes  # accepts all
            and checked.basis is self._basis(commit)
            and checked.topics_version == self.brokers.cluster.topics.version
            and checked.removals == self._committed.removals
            and checked.advance(offsets)
        ):
            return
        violations = len(self.violations)
        self.committed(commit, response)
        is_valid = type(response) is bytes and len(self.violations) == violations
        commit.checked = self._checked(commit) if is_valid else None

    def check_owners(self, exchange: Exchange, response: Any) -> None:
        self._epochs.answered(exchange, response, two_owners=self.budget.two_owners)

    def ended(self, exchange: Exchange, response: Any) -> None:
        """Apply or drop the offsets of a transaction before the response of EndTxn is sent."""
        if response.error_code is ErrorCode.none:
            transaction = self._in_transactions.pop(exchange.request.producer_id, None)
            if transaction is not None and exchange.request.committed:
                for key, (offset, topic_id) in transaction.offsets.items():
                    self._committed.store(key, offset, topic_id)

    def reset_share_offsets(self, exchange: Exchange, response: Any) -> None:
        """Forget a share group's records before AlterShareGroupOffsets or DeleteShareGroupOffsets is answered."""
        for topic in exchange.request.topics:
            self._shares.forget(exchange.facts.group, topic.topic_name)

    def delete_offsets(self, exchange: Exchange, response: Any) -> None:
        """Forget deleted offsets before the response of OffsetDelete is sent, so that later commits may be lower."""
        for topic in response.topics:
            for part in topic.partitions:
                if part.error_code is ErrorCode.none:
                    self._committed.remove((exchange.facts.group, (topic.name, part.partition_index)))

    def set_by_test(self, group_id: str, offsets: Mapping[TopicPartition, int]) -> None:
        for topic_partition, offset in offsets.items():
            topic = self.brokers.cluster.topics.by_name(topic_partition[0])
            self._committed.store((group_id, topic_partition), offset, topic.topic_id if topic is not None else None)

    def finish(self) -> list[str]:
        """Check the partitions that are still without an owner, and return all violations."""
        now_ms = self.brokers.clock.now_ms()
        for (group_id, topic_partition), since_ms in list(self._unowned_since.items()):
            self._unowned(group_id, topic_partition, now_ms - since_ms)
        self._unowned_since.clear()
        return self.violations

    # Checks

    def _note(self, violation: str) -> None:
        self.violations.append(violation)

    def _accepted(self, exchange: Exchange, name: str, offsets: Sequence[tuple[int, int]]) -> None:
        """Check the accepted offsets of a topic: pairs of partition and offset."""
        facts, budget = exchange.facts, self.budget
        if exchange.had_epochs:
            for number, _ in offsets:
                self._look_at_epoch(exchange, (name, number))
        else:
            self._look_at_generation(exchange, [(name, number) for number, _ in offsets])
        topic = self.brokers.cluster.topics.by_name(name)
        topic_id = topic.topic_id if topic is not None else None
        transaction = self._transaction_of(exchange)
        # Older clients send no generation in transactions.
        is_members = facts.generation >= 0 or transaction is not None
        for number, offset in offsets:
            partition = topic.partition(number) if topic is not None else None
            end = partition.log.log_end_offset if partition is not None else 0
            if 0 < end < offset and facts.generation >= 0 and not budget.beyond_end:
                self.violations.append(
                    f"{facts} committed {offset} for {name}-{number}, whose log ends at {end}"
                    + allowed_by("beyond_end")
                )
            key = facts.group, (name, number)
            last_commit = self._committed.by_partition.get(key)
            last, last_topic_id = (-1, topic_id) if last_commit is None else (last_commit.offset, last_commit.topic_id)
            if transaction is not None:
                last, last_topic_id = transaction.offsets.get(key, (last, last_topic_id))
            if 0 <= offset < last and last_topic_id == topic_id and is_members and not budget.backwards:
                self.violations.append(
                    f"{facts} set {name}-{number} back from {last} to {offset}" + allowed_by("backwards")
                )
            if transaction is None:
                self._committed.store(key, offset, topic_id)
            else:
                transaction.offsets[key] = offset, topic_id

    def _basis(self, commit: RepeatedCommit) -> object:
        """Return the object by which the owners of a repeated commit's partitions can be recognized."""
        if commit.had_epochs:
            return commit.current_then
        facts = commit.facts
        is_current = facts.generation < 0 or facts.generation == commit.generation_then
        return self._owners.get(facts.group, NO_OWNERS) if is_current else None

    def _checked(self, commit: RepeatedCommit) -> CheckedCommit | None:
        """Return a commit without violations for `committed_again`, or None if it must be checked each time."""
        topics, partitions = self.brokers.cluster.topics, []
        last_commits: dict[TopicPartition, LastCommit] = {}
        for topic_of_commit in commit.request.topics:
            name = topic_of_commit.name
            topic = topics.by_name(name)
            for part in topic_of_commit.partitions:
                topic_partition = name, part.partition_index
                partition = topic.partition(part.partition_index) if topic is not None else None
                last_commit = self._committed.by_partition.get((commit.facts.group, topic_partition))
                is_owner = not commit.had_epochs or self._epochs.is_assigned(commit, *topic_partition)
                if partition is None or last_commit is None or topic_partition in last_commits or not is_owner:
                    return None
                partitions.append(partition)
                last_commits[topic_partition] = last_commit
        basis = self._basis(commit)
        if basis is None or self.budget.others_partitions:
            return None
        return CheckedCommit(basis, topics.version, self._committed.removals, partitions, list(last_commits.values()))

    def _look_at_epoch(self, exchange: Exchange, topic_partition: TopicPartition) -> None:
        wrong = self._epochs.check_commit(exchange, *topic_partition)
        if wrong is None and not self.budget.others_partitions:
            wrong = self._epochs.foreign(exchange, *topic_partition)
            wrong = None if wrong is None else wrong + allowed_by("others_partitions")
        if wrong is not None:
            self.violations.append(f"{exchange.facts} committed {name_of(topic_partition)} {wrong}")

    def _look_at_generation(self, exchange: Exchange, topic_partitions: Sequence[TopicPartition]) -> None:
        facts = exchange.facts
        if facts.generation >= 0 and facts.generation != exchange.generation_then:
            for topic_partition in topic_partitions:
                self.violations.append(
                    f"{facts} committed {name_of(topic_partition)} in generation {facts.generation}, "
                    f"when the group was at {exchange.generation_then}"
                )
        self._look_at_owners(exchange, topic_partitions)

    def _look_at_owners(self, exchange: Exchange, topic_partitions: Sequence[TopicPartition]) -> None:
        """Check the owners of partitions. Without an owner any commit passes: the last owner may be revoking it."""
        facts = exchange.facts
        generation, owners = self._owners.get(facts.group, NO_OWNERS)
        if facts.generation != generation or self.budget.others_partitions:
            return
        group = self._find_of_type(facts.group, GENERATION_TYPES)
        names = {*facts.instances, *facts.members}
        if group is not None:  # a static member need not send its instance id
            names |= {member.group_instance_id or "" for id_ in facts.members if (member := group.members.get(id_))}
        for topic_partition in topic_partitions:
            members = owners.get(topic_partition)
            if members and names.isdisjoint(members):
                self.violations.append(
                    f"{facts} committed {name_of(topic_partition)}, which belongs to {' and '.join(members)}"
                    + allowed_by("others_partitions")
                )

    def _find_of_type(self, group_id: str, group_types: frozenset[str]) -> Any:
        group = self.find(group_id)
        return group if group is not None and group.group_type in group_types else None

    def _transaction_of(self, exchange: Exchange) -> _Transaction | None:
        """Return the transaction of a commit, or None. A new epoch begins a new transaction."""
        if exchange.facts.api != "TxnOffsetCommit":
            return None
        producer_id, epoch = exchange.request.producer_id, exchange.request.producer_epoch
        transaction = self._in_transactions.get(producer_id)
        if transaction is None or transaction.epoch != epoch:
            transaction = self._in_transactions[producer_id] = _Transaction(epoch)
        return transaction

    def _on_event(self, recorded: Recorded) -> None:
        event = recorded.event
        if event.group_type in SHARING_TYPES:
            self._shares.on_event(recorded)
            return
        if event.kind == "assignment_stored" and event.group_id is not None:
            group = self._find_of_type(event.group_id, GENERATION_TYPES)
            if group is not None and group.protocol_type == "consumer":
                self._look_at(group)
        elif event.kind in ("group_deleted", "offsets_expired") and event.group_id is not None:
            self._committed.remove_group(event.group_id)
        if event.kind == "group_deleted" and event.group_id is not None:
            self._owners.pop(event.group_id, None)
        if event.kind in ("member_removed", "group_deleted") and event.group_id is not None:
            group_left = self._find_of_type(event.group_id, PARTITION_TYPES)
            if group_left is None or not group_left.members:
                self._on_empty_group(event.group_id)
        if event.group_id is not None and self.budget.unowned_ms is not None:
            consumers = self._find_of_type(event.group_id, EPOCH_TYPES & PARTITION_TYPES)
            if consumers is not None and consumers.members:
                self._look_at_consumers(consumers)

    def _look_at(self, group: Any) -> None:
        owners: dict[TopicPartition, list[str]] = {}
        for member in group.members.values():
            for topic, partitions in (assigned_partitions(member.assignment) or {}).items():
                for partition in partitions:
                    owners.setdefault((topic, partition), []).append(member.group_instance_id or member.member_id)
        self._owners[group.group_id] = group.generation_id, owners
        if not self.budget.two_owners:
            for (topic, partition), members in owners.items():
                if len(members) > 1:
                    self.violations.append(
                        f"group {group.group_id}, generation {group.generation_id}: {topic}-{partition} belongs to "
                        + " and ".join(members)
                        + allowed_by("two_owners")
                    )
        self._look_for_unowned(group.group_id, group.subscribed_topics or (), owners, group.is_empty)

    def _look_at_consumers(self, group: Any) -> None:
        """Check for partitions without an owner. A member owns a partition until it has confirmed the revocation."""
        topics = self.brokers.cluster.topics
        owned = {
            (topic.name, number)
            for topic_id, numbers in group.owners.items()
            if (topic := topics.by_id(topic_id)) is not None
            for number in numbers
        }
        self._look_for_unowned(group.group_id, group.subscribed_names(), owned, is_empty=False)

    def _look_for_unowned(
        self, group_id: str, names: Iterable[str], owned: Container[TopicPartition], is_empty: bool
    ) -> None:
        now_ms = self.brokers.clock.now_ms()
        topics = self.brokers.cluster.topics
        topic_partitions = {
            (name, partition.index)
            for name in names
            if (topic := topics.by_name(name)) is not None
            for partition in topic.partitions
        }
        for key in [key for key in self._unowned_since if key[0] == group_id and key[1] not in topic_partitions]:
            del self._unowned_since[key]  # its topic was deleted, or has no subscriber any more
        for topic_partition in topic_partitions:
            key = group_id, topic_partition
            if topic_partition not in owned and not is_empty:
                self._unowned_since.setdefault(key, now_ms)
            elif key in self._unowned_since:
                self._unowned(*key, now_ms - self._unowned_since.pop(key))

    def _on_empty_group(self, group_id: str) -> None:
        """Report and clear the unowned partitions of a group, because a group without members needs no owners."""
        now_ms = self.brokers.clock.now_ms()
        for key in [key for key in self._unowned_since if key[0] == group_id]:
            self._unowned(*key, now_ms - self._unowned_since.pop(key))

    def _unowned(self, group_id: str, topic_partition: TopicPartition, length_ms: int) -> None:
        budget_ms = self.budget.unowned_ms
        if budget_ms is not None and length_ms > budget_ms:
            self.violations.append(
                f"group {group_id}: {name_of(topic_partition)} had no owner for {length_ms} ms, "
                f"longer than {budget_ms} ms" + allowed_by("unowned_ms", length_ms)
            )


def _id_of(topic: Any) -> UUID | None:
    topic_id: UUID | None = getattr(topic, "topic_id", None)
    return topic_id
