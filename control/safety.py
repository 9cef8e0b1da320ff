"""The safety oracle: what must never be, whatever a test does to a cluster.

Two members own a partition in one generation; a member's commit goes backwards, is for another's partition, or lies
beyond the end of the log; a commit from a fenced generation is accepted; a partition stays unowned for longer than a
budget. Commits in transactions are looked at, too: one of an aborted transaction is as if it had never been.

An OffsetCommit that names no generation is no member's: an operator's who sets a group back, or of who assigns
partitions to itself. That may go back, as may commits after offsets, a group or a topic were deleted. What a member has
given up and nobody owns yet it may still commit, as a cooperative consumer does while it revokes. A topic that nobody
has written to has no end to be beyond.

In groups of the consumer protocol, and mixed ones, a partition is given to a member before another one has given it up;
a member owns something without an epoch, or is beyond its group's; a commit is accepted from who is no member, owns
nothing, or names an epoch of the future or one before it had the partition (`consumer_safety.py`). Streams groups are
looked at in the same way, by their active tasks (`streams_safety.py`).

In share groups a record is held by two, is delivered again after it was accepted, or is skipped (`share_safety.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import UUID

from kohort.control.consumer_safety import OWNERSHIP_APIS as CONSUMERS_APIS
from kohort.control.consumer_safety import ConsumerSafety
from kohort.control.epoch_owners import allowed_by
from kohort.control.group_members import SHARE
from kohort.control.numbers import whole
from kohort.control.share_safety import ShareSafety
from kohort.control.streams_safety import STREAMS_HEARTBEAT, StreamsSafety
from kohort.coordinator.classic.classic_group import CONSUMER, ClassicGroup
from kohort.coordinator.classic.states import State
from kohort.protocol.consumer_protocol import assigned_partitions
from kohort.protocol.errors import ErrorCode
from kohort.protocol.topic_partition import TopicPartition, name_of

if TYPE_CHECKING:
    from kohort.broker.cluster.group_events import Recorded
    from kohort.control.brokers import Brokers
    from kohort.control.exchange import Exchange
    from kohort.control.recorder import Recorder
    from kohort.coordinator.consumer.consumer_group import ConsumerGroup
    from kohort.coordinator.streams.streams_group import StreamsGroup

OWNERSHIP_APIS = CONSUMERS_APIS | {STREAMS_HEARTBEAT}
"""APIs whose answers and requests say who owns what."""


@dataclass
class Budget:
    """What is allowed after all. A test that provokes a violation says so."""

    unowned_ms: int | None = None
    """How long a subscribed partition may be nobody's in a group that has members; None: for ever."""
    two_owners: bool = False
    """Whether a leader may give a partition to two members (its mistake, not the broker's)."""
    backwards: bool = False
    """Whether commits may go back, as after a seek."""
    others_partitions: bool = False
    """Whether a member may commit for a partition that another one owns."""
    beyond_end: bool = False
    """Whether a member may commit an offset that the log has not reached."""

    def __post_init__(self) -> None:
        if self.unowned_ms is not None:
            whole(self.unowned_ms, "unowned_ms", 0)


@dataclass
class _Transaction:
    """Offsets that count when the transaction is committed."""

    epoch: int
    offsets: dict[tuple[str, TopicPartition], tuple[int, UUID | None]] = field(default_factory=dict)


@dataclass
class SafetyMonitor:
    """Watches every group of a laboratory. `violations` are sentences; a plugin fails the test with them."""

    brokers: Brokers
    find_group: Callable[[str], ClassicGroup | None]
    """A classic group by its id, wherever it is coordinated."""
    find_consumer_group: Callable[[str], ConsumerGroup | None]
    """A group of the consumer protocol by its id, wherever it is coordinated."""
    find_streams_group: Callable[[str], StreamsGroup | None]
    """A streams group by its id, wherever it is coordinated."""
    budget: Budget = field(default_factory=Budget)
    violations: list[str] = field(default_factory=list)
    _committed: dict[tuple[str, TopicPartition], tuple[int, UUID | None]] = field(default_factory=dict)
    """The offset, and the id of the topic, which one that was deleted and made anew has not."""
    _in_transactions: dict[int, _Transaction] = field(default_factory=dict)
    """By producer id."""
    _owners: dict[str, tuple[int, Mapping[TopicPartition, list[str]]]] = field(default_factory=dict)
    """The generation of the group's last assignment, and who owns what since."""
    _unowned_since: dict[tuple[str, TopicPartition], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._consumers = ConsumerSafety(self.brokers, self.find_consumer_group, self._note)
        self._shares = ShareSafety(self.brokers.cluster.topics.by_name, self._note)
        self._streams = StreamsSafety(self.find_streams_group, self._note)

    def start(self, recorder: Recorder) -> None:
        """Watches from now on."""
        recorder.listen(self._hear)

    def committed(self, exchange: Exchange, response: Any) -> None:
        """An OffsetCommit or TxnOffsetCommit is about to be answered; called by the laboratory for each."""
        accepted = {
            (topic.name, _id_of(topic), part.partition_index)
            for topic in response.topics
            for part in topic.partitions
            if part.error_code is ErrorCode.none
        }
        for topic in exchange.request.topics:
            for part in topic.partitions:
                if (topic.name, _id_of(topic), part.partition_index) in accepted:
                    topic_partition = (topic.name or str(_id_of(topic)), part.partition_index)
                    self._accepted(exchange, topic_partition, part.committed_offset)

    def given(self, exchange: Exchange, response: Any) -> None:
        """One of `OWNERSHIP_APIS` is about to be answered."""
        groups = self._streams if exchange.facts.api == STREAMS_HEARTBEAT else self._consumers
        groups.answered(exchange, response, two_owners=self.budget.two_owners)

    def ended(self, exchange: Exchange, response: Any) -> None:
        """An EndTxn is about to be answered: what was committed in the transaction counts now, or never does."""
        if response.error_code is ErrorCode.none:
            transaction = self._in_transactions.pop(exchange.request.producer_id, None)
            if transaction is not None and exchange.request.committed:
                self._committed.update(transaction.offsets)

    def began_anew(self, exchange: Exchange, response: Any) -> None:
        """An AlterShareGroupOffsets or DeleteShareGroupOffsets is about to be answered: records are delivered anew."""
        for topic in exchange.request.topics:
            self._shares.forget(exchange.facts.group, topic.topic_name)

    def forgotten(self, exchange: Exchange, response: Any) -> None:
        """An OffsetDelete is about to be answered: what follows need not be more than what was deleted."""
        for topic in response.topics:
            for part in topic.partitions:
                if part.error_code is ErrorCode.none:
                    self._committed.pop((exchange.facts.group, (topic.name, part.partition_index)), None)

    def set_by_test(self, group_id: str, offsets: Mapping[TopicPartition, int]) -> None:
        """A test has committed for a group: what follows need not be more than what was there."""
        for topic_partition, offset in offsets.items():
            topic = self.brokers.cluster.topics.by_name(topic_partition[0])
            self._committed[group_id, topic_partition] = offset, topic.topic_id if topic is not None else None

    def finish(self) -> list[str]:
        """Looks once more at what is still unowned. Returns all violations."""
        now_ms = self.brokers.clock.now_ms()
        for (group_id, topic_partition), since_ms in list(self._unowned_since.items()):
            self._unowned(group_id, topic_partition, now_ms - since_ms)
        self._unowned_since.clear()
        return self.violations

    # Within

    def _note(self, violation: str) -> None:
        self.violations.append(violation)

    def _accepted(self, exchange: Exchange, topic_partition: TopicPartition, offset: int) -> None:
        facts = exchange.facts
        if exchange.in_consumer_group:
            self._look_at_epoch(self._consumers, exchange, topic_partition)
        elif exchange.in_streams_group:
            self._look_at_epoch(self._streams, exchange, topic_partition)
        else:
            self._look_at_generation(exchange, topic_partition)
        topic = self.brokers.cluster.topics.by_name(topic_partition[0])
        topic_id = topic.topic_id if topic is not None else None
        partition = topic.partition(topic_partition[1]) if topic is not None else None
        end = partition.log.log_end_offset if partition is not None else 0
        if 0 < end < offset and facts.generation >= 0 and not self.budget.beyond_end:
            self.violations.append(
                f"{facts} committed {offset} for {name_of(topic_partition)}, whose log ends at {end}"
                + allowed_by("beyond_end")
            )
        transaction = self._transaction_of(exchange)
        key = facts.group, topic_partition
        before, of = self._committed.get(key, (-1, topic_id))
        if transaction is not None:
            before, of = transaction.offsets.get(key, (before, of))
        is_members = facts.generation >= 0 or transaction is not None  # older clients name no generation in one
        if 0 <= offset < before and of == topic_id and is_members and not self.budget.backwards:
            self.violations.append(
                f"{facts} set {name_of(topic_partition)} back from {before} to {offset}" + allowed_by("backwards")
            )
        (self._committed if transaction is None else transaction.offsets)[key] = offset, topic_id

    def _look_at_epoch(
        self, groups: ConsumerSafety | StreamsSafety, exchange: Exchange, topic_partition: TopicPartition
    ) -> None:
        wrong = groups.check_commit(exchange, *topic_partition)
        if wrong is None and not self.budget.others_partitions:
            wrong = groups.foreign(exchange, *topic_partition)
            wrong = None if wrong is None else wrong + allowed_by("others_partitions")
        if wrong is not None:
            self.violations.append(f"{exchange.facts} committed {name_of(topic_partition)} {wrong}")

    def _look_at_generation(self, exchange: Exchange, topic_partition: TopicPartition) -> None:
        facts = exchange.facts
        if facts.generation >= 0 and facts.generation != exchange.generation_then:
            self.violations.append(
                f"{facts} committed {name_of(topic_partition)} in generation {facts.generation}, "
                f"when the group was at {exchange.generation_then}"
            )
        self._look_at_owner(exchange, topic_partition)

    def _look_at_owner(self, exchange: Exchange, topic_partition: TopicPartition) -> None:
        """A partition that is nobody's is let pass: its last owner may be revoking it."""
        facts = exchange.facts
        generation, owners = self._owners.get(facts.group, (-1, {}))
        others = owners.get(topic_partition, [])
        group = self.find_group(facts.group)
        names = {*facts.instances, *facts.members}
        if group is not None:  # a static member need not name its instance
            names |= {each.group_instance_id or "" for id_ in facts.members if (each := group.members.get(id_))}
        is_another = bool(others) and names.isdisjoint(others)
        if is_another and facts.generation == generation and not self.budget.others_partitions:
            self.violations.append(
                f"{facts} committed {name_of(topic_partition)}, which belongs to {' and '.join(others)}"
                + allowed_by("others_partitions")
            )

    def _transaction_of(self, exchange: Exchange) -> _Transaction | None:
        """The transaction in which a commit was made; None: in none. With another epoch a new one has begun."""
        if exchange.facts.api != "TxnOffsetCommit":
            return None
        producer_id, epoch = exchange.request.producer_id, exchange.request.producer_epoch
        transaction = self._in_transactions.get(producer_id)
        if transaction is None or transaction.epoch != epoch:
            transaction = self._in_transactions[producer_id] = _Transaction(epoch)
        return transaction

    def _hear(self, recorded: Recorded) -> None:
        event = recorded.event
        if event.group_type == SHARE:
            self._shares.hear(recorded)
            return
        if event.kind == "assignment_stored" and event.group_id is not None:
            group = self.find_group(event.group_id)
            if group is not None and group.protocol_type == CONSUMER:
                self._look_at(group)
        elif event.kind in ("group_deleted", "offsets_expired") and event.group_id is not None:
            for key in [key for key in self._committed if key[0] == event.group_id]:
                del self._committed[key]
        if event.kind == "group_deleted" and event.group_id is not None:
            self._owners.pop(event.group_id, None)
        if event.kind in ("member_removed", "group_deleted") and event.group_id is not None:
            left = self.find_group(event.group_id) or self.find_consumer_group(event.group_id)
            if left is None or not left.members:
                self._nobody_is_left(event.group_id)
        if event.group_id is not None and self.budget.unowned_ms is not None:
            consumers = self.find_consumer_group(event.group_id)
            if consumers is not None and consumers.members:
                self._look_at_consumers(consumers)

    def _look_at(self, group: ClassicGroup) -> None:
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
        self._look_for_unowned(group.group_id, group.subscribed_topics or (), owners, group.state is State.EMPTY)

    def _look_at_consumers(self, group: ConsumerGroup) -> None:
        """A partition is a member's until it has said that it gave it up."""
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
            del self._unowned_since[key]  # its topic was deleted, or nobody subscribes to it any more
        for topic_partition in topic_partitions:
            key = group_id, topic_partition
            if topic_partition not in owned and not is_empty:
                self._unowned_since.setdefault(key, now_ms)
            elif key in self._unowned_since:
                self._unowned(*key, now_ms - self._unowned_since.pop(key))

    def _nobody_is_left(self, group_id: str) -> None:
        """A group without members owes nobody anything."""
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
    """The id by which a request or its answer names a topic; a TxnOffsetCommit has none."""
    topic_id: UUID | None = getattr(topic, "topic_id", None)
    return topic_id
