"""View of a share group (KIP-932) for tests: its members, the holders of records, and the fates of records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from kohort.control.control_errors import ControlError, NotFoundError
from kohort.control.groups.any_group import AnyGroup
from kohort.control.groups.lab_dead_letters import read_dead_letter
from kohort.control.groups.redelivery import BEYOND_ALL, take_back
from kohort.control.groups.share_records import ShareRecords
from kohort.control.history.share_fates import (
    ACCEPTED,
    ACQUIRED,
    ARCHIVED,
    DEAD_LETTER_FAILED,
    DEAD_LETTER_WRITTEN,
    EXPIRED,
    REJECTED,
    Acceptance,
    fates,
    last_fate,
)
from kohort.control.numbers import as_setting
from kohort.control.suggesting import suggest_names
from kohort.control.waiting import PATIENCE_S
from kohort.coordinator.share_partitions.share_partition import Progress
from kohort.groups.explain import explain_missing
from kohort.groups.explain_records import explain_record
from kohort.groups.shared_records import offsets
from kohort.groups.type_words import GROUP_TYPES, SHARE
from kohort.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from kohort.broker.cluster.group_events import Recorded
    from kohort.control.groups.lab_dead_letters import DeadLetter
    from kohort.control.numbers import Seconds
    from kohort.groups.group_view import GroupView
    from kohort.groups.shared_records import InFlightRecords, SharePartitionState
    from kohort.storage.topic import Partition, Topic


@suggest_names
class ShareGroup(AnyGroup):
    """A share group. Its coordinator knows the members; the leader of each partition knows who holds which records.

    A leader loads its state with the first fetch. Before that, `partitions` reports `not loaded` and the stored state.
    All properties and methods raise ControlError if the group has another type.
    """

    _types = (SHARE,)

    # State

    @property
    def partitions(self) -> list[SharePartitionState]:
        """The state of each partition: its start, its progress, and the number of acquired records."""
        records = self._records()
        return [] if records is None else list(records.partitions())

    def start_offset(self, topic: str, partition: int = 0) -> int | None:
        """Return the share-partition start offset (SPSO), or None if it has not been decided yet."""
        return self._state_of(topic, partition).start_offset

    @property
    def lag(self) -> dict[TopicPartition, int]:
        """The number of unfinished records by topic and partition, as far as it is known."""
        return {topic_partition: lag for topic_partition, lag in self._lags().items() if lag is not None}

    @property
    def is_settled(self) -> bool:
        """Whether each member has reached the newest target assignment, and that covers all partitions."""
        group = self._find_group()
        return (
            group is not None
            and bool(group.members)
            and group.target_epoch == group.epoch
            and all(member.current.epoch == group.epoch for member in group.members.values())
            and all(self._is_ready(group, name) for name in group.names)
            and group.assigns_all
        )

    @property
    def is_caught_up(self) -> bool:
        """Whether every record was accepted, rejected or archived."""
        return self._is_done_with(None, None)

    def in_flight(self, topic: str | None = None, partition: int | None = None) -> list[InFlightRecords]:
        """Return the records from the start of a partition to the last delivered one; equal neighbours are combined.

        Covers all partitions, those of a topic, or one partition.
        """
        records = self._records()
        if records is None:
            return []
        return [
            part
            for topic_partition in self._selected(records, topic, partition)
            for part in records.in_flight(*topic_partition)
        ]

    def held(self, topic: str | None = None, partition: int | None = None) -> list[InFlightRecords]:
        """Return the records that members hold now."""
        return [records for records in self.in_flight(topic, partition) if records.member_id]

    def delivery_count(self, topic: str, partition: int, offset: int) -> int:
        """Return how often a record was delivered to this group, or 0 if it never was.

        Raises:
            ControlError: The record is finished, and no recorded event has its delivery count.
        """
        state = self._state_of(topic, partition)
        for records in self.in_flight(topic, partition):
            if records.first_offset <= offset <= records.last_offset:
                return records.delivery_count
        fate = last_fate(self.events, (ACQUIRED,), topic, partition, offset)
        if fate is not None:
            return fate.delivery_count
        if state.start_offset is None or offset >= state.start_offset:
            return 0
        raise ControlError(
            f"group {self.id} has finished offset {offset} of {topic}-{partition}, whose start offset is "
            f"{state.start_offset}, and no recorded event has its delivery count"
        )

    def explain_record(self, topic: str, partition: int, offset: int) -> str:
        """Return a sentence that explains why a record is not delivered, or that it is available."""
        topic_partition, records, view = self._topic_partition(topic, partition), self._records(), self._view()
        if records is None or view is None:
            return explain_missing(self.id, GROUP_TYPES[SHARE].noun, GROUP_TYPES[SHARE].created_by).headline
        fate = last_fate(self.events, (ACCEPTED, REJECTED, ARCHIVED), topic, partition, offset)
        dead_letter = last_fate(self.events, (DEAD_LETTER_WRITTEN, DEAD_LETTER_FAILED), topic, partition, offset)
        return explain_record(self._with_history(view), records.state_of(*topic_partition), offset, fate, dead_letter)

    @property
    def dead_letter_topic(self) -> str:
        """The setting `errors.deadletterqueue.topic.name`; empty if it is not set."""
        return self._laboratory.cluster.group_configs.share_config(self.id).dead_letter_topic

    @property
    def dead_letters(self) -> list[DeadLetter]:
        """The records of this group in its dead-letter topic, partition by partition (KIP-1191).

        The list is empty if the group has no `dead_letter_topic`, or if the topic does not exist: then
        `explain_record` returns why a dead letter was not written.
        """
        topic = self.dead_letter_topic
        if topic not in self._laboratory.topics:
            return []
        letters = (read_dead_letter(record, self.id) for record in self._laboratory.topics.iterate(topic))
        return [letter for letter in letters if letter is not None]

    # Changes

    def configure(self, configs: Mapping[str, object]) -> None:
        """Set group configs by Kafka's names: `{"share.delivery.count.limit": 3}`. Other configs keep their values.

        The group need not exist yet.

        Raises:
            ControlError: A name is not a group config, or a value is outside of the broker's limits.
        """
        group_configs = self._laboratory.cluster.group_configs
        new_configs = dict(group_configs.of(self.id)) | {name: as_setting(value) for name, value in configs.items()}
        try:
            refusal = group_configs.configure(self.id, new_configs)
        except OSError as error:
            raise ControlError(f"cannot store the settings of group {self.id}: {error}") from error
        if refusal is not None:
            raise ControlError(f"cannot configure group {self.id}: {refusal.message}")

    def redeliver(
        self,
        topic: str | None = None,
        partition: int | None = None,
        *,
        first_offset: int = 0,
        last_offset: int = BEYOND_ALL,
        member: str | None = None,
    ) -> int:
        """Make records that members hold available again, as if their locks had expired, and return their number.

        Arguments restrict this to a topic, a partition, offsets or a member (by member id or client id). Records that
        have reached the group's delivery count limit are archived instead.
        """
        records, count_taken = self._records(), 0

        def act(now_ms: int) -> None:
            nonlocal count_taken
            if records is None:
                return
            for topic_partition in self._selected(records, topic, partition):
                loaded = records.loaded(*topic_partition)
                if loaded is not None and loaded.progress is Progress.ACTIVE:
                    count_taken += take_back(
                        loaded, first_offset, last_offset, partial(self._is_called, member), now_ms
                    )

        self._laboratory.brokers.act(act)
        return count_taken

    # Waiting

    async def wait_accepted(
        self,
        count: int | None = None,
        *,
        topic: str | None = None,
        partition: int | None = None,
        up_to: int | None = None,
        timeout: Seconds = PATIENCE_S,
    ) -> None:
        """Wait until `count` records were accepted, or all below offset `up_to` of a partition, or all records.

        Stored acknowledgements count, in all partitions or in those of `topic` and `partition`.

        Raises:
            TimeoutError: With the accepted records, and those that were rejected or archived.
        """
        laboratory = self._laboratory
        if up_to is not None and topic is None:
            raise ControlError("up_to requires topic, because it is an offset of a partition")
        acceptance = Acceptance(self.events, topic, partition if up_to is None else partition or 0)

        def listen(recorded: Recorded) -> None:
            if recorded.event.group_id == self.id:
                acceptance.take(recorded.event)

        def is_so() -> bool:
            if count is not None and acceptance.accepted < count:
                return False
            if up_to is not None:
                return self._is_accepted_up_to(str(topic), partition or 0, up_to, acceptance)
            return count is not None or (not acceptance.lost and self._is_done_with(topic, partition))

        leave = laboratory.recorder.listen(listen)
        try:
            await laboratory.waiters.until(is_so, timeout, lambda: self._not_accepted(acceptance))
        finally:
            leave()

    # Details

    def _with_history(self, view: GroupView) -> GroupView:
        records, share = self._records(), view.share
        assert records is not None, "the view is of a share group"
        assert share is not None, "the view is of a share group"
        share = replace(
            share,
            partitions=tuple(records.partitions()),
            in_flight=tuple(
                part for topic_partition in records.tracked_partitions() for part in records.in_flight(*topic_partition)
            ),
            expired_locks=Counter(fate.member_id for fate in fates(self.events, (EXPIRED,))),
        )
        return replace(super()._with_history(view), share=share)

    def _is_ready(self, group: Any, name: str) -> bool:
        """Return whether all partitions of a topic can be assigned; True if the topic does not exist."""
        topic = self._laboratory.cluster.topics.by_name(name)
        return topic is None or len(group.states.ready(topic.topic_id)) == len(topic.partitions)

    def _records(self) -> ShareRecords | None:
        group = self._find_group()
        return None if group is None else ShareRecords(self._laboratory.cluster, group, self._laboratory.clock.now_ms())

    def _topic_partition(self, topic: str, partition: int) -> tuple[Topic, Partition]:
        known_topic = self._laboratory.topics.find(topic)
        known_partition = known_topic.partition(partition)
        if known_partition is None:
            raise NotFoundError(f"{topic} has partitions 0 to {len(known_topic.partitions) - 1}, not {partition}")
        return known_topic, known_partition

    def _state_of(self, topic: str, partition: int) -> SharePartitionState:
        topic_partition, records = self._topic_partition(topic, partition), self._records()
        if records is None:
            raise NotFoundError(f"share group {self.id} does not exist or has no coordinator")
        return records.state_of(*topic_partition)

    def _selected(
        self, records: ShareRecords, topic: str | None, partition: int | None
    ) -> list[tuple[Topic, Partition]]:
        if topic is None:
            return list(records.tracked_partitions())
        if partition is not None:
            return [self._topic_partition(topic, partition)]
        known_topic = self._laboratory.topics.find(topic)
        return [(known_topic, known_partition) for known_partition in known_topic.partitions]

    def _is_called(self, name: str | None, member_id: str) -> bool:
        if name in (None, member_id):
            return True
        group = self._find_group()
        member = None if group is None else group.members.get(member_id)
        return member is not None and member.metadata.client_id == name

    def _is_done_with(self, topic: str | None, partition: int | None) -> bool:
        lags = self._lags()
        meant = [
            lag
            for topic_partition, lag in lags.items()
            if topic in (None, topic_partition[0]) and partition in (None, topic_partition[1])
        ]
        return bool(meant) and all(lag == 0 for lag in meant)

    def _lags(self) -> dict[TopicPartition, int | None]:
        records = self._records()
        if records is None:
            return {}
        return {(topic.name, part.index): records.lag_of(topic, part) for topic, part in records.tracked_partitions()}

    def _remaining(self) -> str:
        parts = [str(part) for part in self.partitions if part.lag != 0]
        return "; ".join([*parts, *map(str, self.held())]) or "its members subscribe to no existing topic"

    def _is_accepted_up_to(self, topic: str, partition: int, up_to: int, acceptance: Acceptance) -> bool:
        start = self._state_of(topic, partition).start_offset
        if start is None or any(records.first_offset < up_to for records in acceptance.lost):
            return False
        accepted = [records for records in self.in_flight(topic, partition) if records.state == "acknowledged"]
        for records in accepted:
            if records.first_offset <= start:
                start = max(start, records.last_offset + 1)
        return start >= up_to

    def _not_accepted(self, acceptance: Acceptance) -> str:
        lost = [
            f"{fate.topic}-{fate.partition} {offsets(fate.first_offset, fate.last_offset)} ({fate.what})"
            for fate in acceptance.lost
        ]
        never = f"; can no longer be accepted: {', '.join(lost)}" if lost else ""
        return f"{self} has accepted {acceptance.accepted} records{never}; left: {self._remaining()}"
