"""A share group (KIP-932) as a test sees it: who is in it, who holds which records, what became of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from kohort.control.control_errors import ControlError, NotFoundError
from kohort.control.denied import denied
from kohort.control.epoch_group import EpochGroup
from kohort.control.explain_shares import explain_record, explain_shares, explanation_of_none
from kohort.control.group_members import GroupMember, share_member
from kohort.control.numbers import as_setting
from kohort.control.redelivery import BEYOND_ALL, take_back
from kohort.control.share_fates import ACQUIRED, Acceptance, last_fate
from kohort.control.share_records import InFlightRecords, SharePartitionState, ShareRecords, offsets
from kohort.control.waiting import PATIENCE_S
from kohort.coordinator.share.simple_assignor import SIMPLE
from kohort.coordinator.share_partitions.share_partition import Progress
from kohort.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from kohort.broker.cluster.group_events import Recorded
    from kohort.control.explanation import Explanation
    from kohort.control.numbers import Seconds
    from kohort.coordinator.share import share_group
    from kohort.storage.topic import Partition, Topic


class ShareGroup(EpochGroup):
    """A share group. Its coordinator knows who is in it; the leader of a partition knows who holds which records.

    A leader knows nothing before somebody fetches from it: `partitions` says `not loaded`, and what was written down
    is shown. Every question raises ControlError where it is a group of another kind.
    """

    # What there is

    @property
    def protocol(self) -> str:
        """The assignor: `simple`, where there are members."""
        group = self._found()
        return SIMPLE if group is not None and group.members else ""

    @property
    def members(self) -> tuple[GroupMember, ...]:
        """In the order in which they joined. Several may have the same partition."""
        group, laboratory = self._found(), self._laboratory
        if group is None:
            return ()
        now_ms, alive = laboratory.clock.now_ms(), laboratory.is_alive
        return tuple(share_member(group, each, now_ms, alive(group, each)) for each in group.members.values())

    @property
    def partitions(self) -> list[SharePartitionState]:
        """Each partition that it shares out: where it begins, how far it is, how many records are held."""
        records = self._records()
        return [] if records is None else list(records.partitions())

    def start_offset(self, topic: str, partition: int = 0) -> int | None:
        """The first offset that is not done with; None: nobody has decided yet where the group begins there."""
        return self._state_of(topic, partition).start_offset

    @property
    def lag(self) -> dict[TopicPartition, int]:
        """How many records are not done with, by topic and partition, where that is known."""
        return {where: lag for where, lag in self._lags().items() if lag is not None}

    @property
    def is_settled(self) -> bool:
        """Whether each member has its share of the newest target, and that has all partitions."""
        group = self._found()
        return (
            group is not None
            and bool(group.members)
            and group.target_epoch == group.epoch
            and all(each.current.epoch == group.epoch for each in group.members.values())
            and all(self._is_ready(group, name) for name in group.names)
            and group.assigns_all
        )

    @property
    def is_caught_up(self) -> bool:
        """Whether nothing is left: every record was accepted, rejected or archived."""
        return self._is_done_with(None, None)

    def in_flight(self, topic: str | None = None, partition: int | None = None) -> list[InFlightRecords]:
        """What lies between the start of a partition and the last record given out, neighbours that are alike as one.

        Of all partitions, or of those of a topic, or of one.
        """
        records = self._records()
        if records is None:
            return []
        return [each for where in self._where(records, topic, partition) for each in records.in_flight(*where)]

    def held(self, topic: str | None = None, partition: int | None = None) -> list[InFlightRecords]:
        """What members hold now."""
        return [each for each in self.in_flight(topic, partition) if each.member_id]

    def delivery_count(self, topic: str, partition: int, offset: int) -> int:
        """How often a record was delivered to this group; 0: never yet.

        Of a record that is done with the recorded events tell. Raises ControlError where they don't.
        """
        state = self._state_of(topic, partition)
        for each in self.in_flight(topic, partition):
            if each.first_offset <= offset <= each.last_offset:
                return each.delivery_count
        fate = last_fate(self.events, (ACQUIRED,), topic, partition, offset)
        if fate is not None:
            return fate.delivery_count
        if state.start_offset is None or offset >= state.start_offset:
            return 0
        raise ControlError(
            f"group {self.id} is done with offset {offset} of {topic}-{partition}, which begins at "
            f"{state.start_offset}; nothing was recorded that tells how often it was delivered"
        )

    def explain(self) -> Explanation:
        """Who holds which records until when, what each partition waits for, what each client should do; print it."""
        laboratory, group, records = self._laboratory, self._found(), self._records()
        if group is None or records is None:
            return explanation_of_none(self.id)
        now_ms = laboratory.clock.now_ms()
        client_ids = {each.metadata.client_id for each in group.members.values()}
        refused = denied(laboratory.cluster.access, laboratory.faults, self.id, client_ids, now_ms)
        return explain_shares(group, records, self.members, self.events, tuple(refused))

    def explain_record(self, topic: str, partition: int, offset: int) -> str:
        """Why a record does not come, or that it may be had, in a sentence."""
        where = self._topic_partition(topic, partition)
        group, records = self._found(), self._records()
        if group is None or records is None:
            return str(explanation_of_none(self.id).headline)
        return explain_record(group, records, *where, offset, self.events)

    # What a test does to it

    def configure(self, configs: Mapping[str, object]) -> None:
        """Gives the group settings of its own, by Kafka's names: `{"share.delivery.count.limit": 3}`. Others stay.

        It need not be there yet. Raises ControlError for what is no setting of groups, or out of the broker's limits.
        """
        known = self._laboratory.cluster.group_configs
        wanted = dict(known.of(self.id)) | {name: as_setting(value) for name, value in configs.items()}
        try:
            refusal = known.configure(self.id, wanted)
        except OSError as problem:
            raise ControlError(f"the settings of group {self.id} cannot be stored: {problem}") from problem
        if refusal is not None:
            raise ControlError(f"group {self.id} cannot be set so: {refusal.message}")

    def redeliver(
        self,
        topic: str | None = None,
        partition: int | None = None,
        *,
        first_offset: int = 0,
        last_offset: int = BEYOND_ALL,
        member: str | None = None,
    ) -> int:
        """Others may have records that members hold, as if their locks had expired. Returns how many records.

        All, or those of a topic, of a partition, of offsets, of a member (a member id or a client id). Records that
        were delivered as often as the group allows are archived instead.
        """
        records, taken = self._records(), 0

        def act(now_ms: int) -> None:
            nonlocal taken
            if records is None:
                return
            for where in self._where(records, topic, partition):
                loaded = records.loaded(*where)
                if loaded is not None and loaded.progress is Progress.ACTIVE:
                    taken += take_back(loaded, first_offset, last_offset, partial(self._is_called, member), now_ms)

        self._laboratory.brokers.act(act)
        return taken

    # Waiting

    async def wait_caught_up(self, timeout: Seconds = PATIENCE_S) -> None:
        """Until nothing is left: every record was accepted, rejected or archived.

        Raises TimeoutError, which says what is left, and who holds it.
        """
        await self._laboratory.waiters.until(
            lambda: self.is_caught_up, timeout, lambda: f"{self} has not caught up: {self._left()}"
        )

    async def wait_accepted(
        self,
        count: int | None = None,
        *,
        topic: str | None = None,
        partition: int | None = None,
        up_to: int | None = None,
        timeout: Seconds = PATIENCE_S,
    ) -> None:
        """Until so many records were accepted; or, of one partition, all below offset `up_to`; or all that there are.

        Counted are acknowledgements that are written down, in a topic or a partition if one is given. Raises
        TimeoutError, which says what was accepted, and names records that were rejected or archived.
        """
        laboratory = self._laboratory
        if up_to is not None and topic is None:
            raise ControlError("up_to is an offset of a partition; say of which topic")
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

    # Within

    def _found(self) -> share_group.ShareGroup | None:
        group = self._laboratory.share_group(self.id)
        if group is None and self._is_another():
            raise ControlError(f"group {self.id} is no share group; ask for it with group({self.id!r})")
        return group

    def _is_another(self) -> bool:
        laboratory = self._laboratory
        return (
            laboratory.classic_or_consumer_group(self.id) is not None or laboratory.streams_group(self.id) is not None
        )

    def _is_ready(self, group: share_group.ShareGroup, name: str) -> bool:
        """Whether all partitions of a topic may be assigned; there is nothing to wait for where there is no topic."""
        topic = self._laboratory.cluster.topics.by_name(name)
        return topic is None or len(group.states.ready(topic.topic_id)) == len(topic.partitions)

    def _records(self) -> ShareRecords | None:
        group = self._found()
        return None if group is None else ShareRecords(self._laboratory.cluster, group, self._laboratory.clock.now_ms())

    def _topic_partition(self, topic: str, partition: int) -> tuple[Topic, Partition]:
        found = self._laboratory.topics.find(topic)
        there = found.partition(partition)
        if there is None:
            raise NotFoundError(f"{topic} has partitions 0 to {len(found.partitions) - 1}, not {partition}")
        return found, there

    def _state_of(self, topic: str, partition: int) -> SharePartitionState:
        where, records = self._topic_partition(topic, partition), self._records()
        if records is None:
            raise NotFoundError(f"there is no share group {self.id}, or nobody coordinates it at the moment")
        return records.state_of(*where)

    def _where(self, records: ShareRecords, topic: str | None, partition: int | None) -> list[tuple[Topic, Partition]]:
        """The partitions that are meant. Raises NotFoundError for those that there are not."""
        if topic is None:
            return list(records.where())
        if partition is not None:
            return [self._topic_partition(topic, partition)]
        found = self._laboratory.topics.find(topic)
        return [(found, each) for each in found.partitions]

    def _is_called(self, wanted: str | None, member_id: str) -> bool:
        if wanted in (None, member_id):
            return True
        group = self._found()
        member = None if group is None else group.members.get(member_id)
        return member is not None and member.metadata.client_id == wanted

    def _is_done_with(self, topic: str | None, partition: int | None) -> bool:
        lags = self._lags()
        meant = [lag for where, lag in lags.items() if topic in (None, where[0]) and partition in (None, where[1])]
        return bool(meant) and all(lag == 0 for lag in meant)

    def _lags(self) -> dict[TopicPartition, int | None]:
        """By topic and partition; None: not known yet."""
        records = self._records()
        if records is None:
            return {}
        return {(topic.name, each.index): records.lag_of(topic, each) for topic, each in records.where()}

    def _left(self) -> str:
        left = [str(each) for each in self.partitions if each.lag != 0]
        return "; ".join([*left, *map(str, self.held())]) or "its members subscribe to no topic that there is"

    def _is_accepted_up_to(self, topic: str, partition: int, up_to: int, acceptance: Acceptance) -> bool:
        start = self._state_of(topic, partition).start_offset
        if start is None or any(each.first_offset < up_to for each in acceptance.lost):
            return False
        accepted = [each for each in self.in_flight(topic, partition) if each.state == "acknowledged"]
        for each in accepted:
            if each.first_offset <= start:
                start = max(start, each.last_offset + 1)
        return start >= up_to

    def _not_accepted(self, acceptance: Acceptance) -> str:
        lost = [
            f"{each.topic}-{each.partition} {offsets(each.first_offset, each.last_offset)} ({each.what})"
            for each in acceptance.lost
        ]
        never = f"; never to be accepted: {', '.join(lost)}" if lost else ""
        return f"{self} has accepted {acceptance.accepted} records{never}; left: {self._left()}"

    def __str__(self) -> str:
        if self._laboratory.share_group(self.id) is None and self._is_another():
            return f"share group {self.id}, which is a group of another kind"
        members = ", ".join(map(str, self.members)) or "none"
        return f"share group {self.id} ({self.state}, epoch {self.generation}, members: {members})"
