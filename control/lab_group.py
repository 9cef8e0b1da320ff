"""A classic group or a consumer group as a test sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kohort.control.any_group import AnyGroup
from kohort.control.control_errors import ControlError, unknown
from kohort.control.denied import denied
from kohort.control.explain import explain
from kohort.control.explain_consumers import explain_consumers
from kohort.control.explanation import Explanation
from kohort.control.group_members import GroupMember, classic_member, consumer_member
from kohort.control.lab_offsets import EARLIEST, commit, lag_of, offsets_at
from kohort.control.numbers import Seconds
from kohort.control.waiting import PATIENCE_S
from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.classic.states import CLASSIC
from kohort.coordinator.consumer.consumer_group import CONSUMER, ConsumerGroup
from kohort.coordinator.consumer.targets import preferred_assignor
from kohort.protocol.topic_partition import TopicPartition


@dataclass(frozen=True)
class Migration:
    """How far a group is between the classic and the consumer protocol (KIP-848), at the moment somebody looked."""

    protocol: str
    """`classic` or `consumer`: the group's; empty: there is no such group."""
    classic_members: int
    consumer_members: int

    def is_at(self, protocol: str) -> bool:
        """Whether the group and all its members speak a protocol, and it has members."""
        others = self.consumer_members if protocol == CLASSIC else self.classic_members
        return self.protocol == protocol and not others and self.classic_members + self.consumer_members > 0

    def __str__(self) -> str:
        if not self.protocol:
            return "no group"
        return f"a {self.protocol} group of {self.classic_members} classic and {self.consumer_members} consumer members"


class Group(AnyGroup):
    """A classic group or a consumer group (KIP-848), which may change its protocol while one looks.

    Every question raises ControlError where it is a share group or a streams group.
    """

    # What there is

    @property
    def type(self) -> str:
        """`classic` or `consumer`; empty where there is no such group."""
        group = self._found()
        if group is None:
            return ""
        return CONSUMER if isinstance(group, ConsumerGroup) else CLASSIC

    @property
    def generation(self) -> int:
        """Counts the rebalances; 0 before the first. Of a consumer group the group epoch."""
        group = self._found()
        return group.version if group is not None else 0

    @property
    def assignment_epoch(self) -> int:
        """The epoch that the target assignment was computed for; of a classic group its generation."""
        group = self._found()
        return group.target_epoch if isinstance(group, ConsumerGroup) else self.generation

    @property
    def protocol(self) -> str:
        """The assignor that was chosen; empty: none."""
        group = self._found()
        if isinstance(group, ConsumerGroup):
            return preferred_assignor(group) if group.members else ""
        return (group.protocol_name if group is not None else None) or ""

    @property
    def size(self) -> int:
        """How many members it has."""
        group = self._found()
        return len(group.members) if group is not None else 0

    @property
    def members(self) -> tuple[GroupMember, ...]:
        """In the order in which they joined."""
        group, laboratory = self._found(), self._laboratory
        if group is None:
            return ()
        now_ms, alive = laboratory.clock.now_ms(), laboratory.is_alive
        if isinstance(group, ConsumerGroup):
            return tuple(consumer_member(group, each, now_ms, alive(group, each)) for each in group.members.values())
        return tuple(classic_member(group, each, now_ms, alive(group, each)) for each in group.members.values())

    @property
    def owners(self) -> dict[TopicPartition, str]:
        """Who has each partition, by member id; who still gives it up has it."""
        return {
            (topic, number): member.member_id
            for member in self.members
            for partitions in (member.partitions, member.revoking)
            for topic, numbers in partitions.items()
            for number in numbers
        }

    @property
    def migration(self) -> Migration:
        """Which protocol the group speaks, and how many members speak which."""
        speaks = [member.speaks for member in self.members]
        return Migration(self.type, speaks.count(CLASSIC), speaks.count(CONSUMER))

    @property
    def offsets(self) -> dict[TopicPartition, int]:
        """What is committed, by topic and partition."""
        group = self._found()
        if group is None or group.offsets is None:
            return {}
        return {(topic, partition): each.offset for topic, partition, each in group.offsets}

    @property
    def lag(self) -> dict[TopicPartition, int]:
        """How many offsets are still to be committed, by topic and partition.

        Of all partitions that the group has committed for or that its members subscribe to by name. Where nothing is
        committed, every record that is there counts. A transaction's marker is an offset, too, as for Kafka's tools.
        """
        return lag_of(self._laboratory, self)

    @property
    def is_caught_up(self) -> bool:
        """Whether there is a lag, and it is 0 everywhere."""
        lag = self.lag
        return bool(lag) and not any(lag.values())

    def explain(self) -> Explanation:
        """Whom it waits for and until when, what each client should do now, and what is badly set; print it."""
        laboratory, group = self._laboratory, self._found()
        now_ms = laboratory.clock.now_ms()
        if isinstance(group, ConsumerGroup):
            explanation = explain_consumers(group, now_ms, laboratory.is_alive, self.events)
            client_ids = {each.metadata.client_id for each in group.members.values()}
        else:
            explanation = explain(group, self.id, now_ms, laboratory.is_alive, self.events)
            client_ids = set() if group is None else {each.client_id for each in group.members.values()}
        return replace(
            explanation, denied=tuple(denied(laboratory.cluster.access, laboratory.faults, self.id, client_ids, now_ms))
        )

    # Offsets

    async def commit(self, offsets: Mapping[TopicPartition, int], timeout: Seconds = PATIENCE_S) -> None:
        """Commits for a group without members, as Kafka's tools do: `{("orders", 0): 5}`.

        Raises ControlError for a group that has members, and for what is no topic, partition or offset.
        """
        await commit(self._laboratory, self, offsets, timeout)

    async def reset(
        self, to: str | int = EARLIEST, topic: str | None = None, timeout: Seconds = PATIENCE_S
    ) -> dict[TopicPartition, int]:
        """Sets a group without members to `earliest`, to `latest` or to an offset, as kafka-consumer-groups does.

        In all partitions that it has committed for; with `topic`, in all partitions of that one. Returns the offsets.
        Raises ControlError as `commit`, and for an offset that is not there.
        """
        offsets = offsets_at(self._laboratory, self, to, topic)
        await self.commit(offsets, timeout)
        return offsets

    # Waiting

    async def wait_migrated(self, to: str, members: int | None = None, timeout: Seconds = PATIENCE_S) -> None:
        """Until the group and all its members speak `classic` or `consumer` and, if `members` is given, are so many.

        Raises TimeoutError, which says how far it is instead, and ControlError for another protocol.
        """
        if to not in (CLASSIC, CONSUMER):
            raise unknown("protocol of groups", to, (CLASSIC, CONSUMER))
        await self._laboratory.waiters.until(
            lambda: self.migration.is_at(to) and members in (None, len(self.members)),
            timeout,
            lambda: f"{self} has not migrated to {to}: it is {self.migration}",
        )

    async def wait_caught_up(self, timeout: Seconds = PATIENCE_S) -> None:
        """Until there is a `lag`, and it is 0 everywhere. Raises TimeoutError, which says where it is not.

        Consumers commit by themselves every 5 s of their own time, unless that is set otherwise.
        """
        await self._laboratory.waiters.until(
            lambda: self.is_caught_up,
            timeout,
            lambda: f"{self} has not caught up: {self._behind()}",
        )

    async def wait_for_offset(self, topic: str, offset: int, partition: int = 0, timeout: Seconds = PATIENCE_S) -> None:
        """Until so much of a partition is committed, or more. Raises TimeoutError, which says what is committed."""
        await self._laboratory.waiters.until(
            lambda: self.offsets.get((topic, partition), -1) >= offset,
            timeout,
            lambda: (
                f"{self} has committed {self.offsets.get((topic, partition), 'nothing')} of "
                f"{topic}-{partition}, not {offset}"
            ),
        )

    # Within

    def _behind(self) -> str:
        behind = [f"{topic}-{partition} by {lag}" for (topic, partition), lag in self.lag.items() if lag]
        return ", ".join(behind) or "it has committed nothing, and its members subscribe to no topic that there is"

    def __str__(self) -> str:
        other = self._other_kind()
        if other:
            return f"group {self.id}, which is a {other} group"
        members = ", ".join(f"{each} ({each.waits_for})" if each.waits_for else str(each) for each in self.members)
        count = "epoch" if self.type == CONSUMER else "generation"
        return f"group {self.id} ({self.state}, {count} {self.generation}, members: {members or 'none'})"

    def _state(self) -> str:
        group = self._found()
        return str(group.state.value) if group is not None else ""

    def _found(self) -> ClassicGroup | ConsumerGroup | None:
        other = self._other_kind()
        if other:
            raise ControlError(f"group {self.id} is a {other} group; ask for it with {other}_group({self.id!r})")
        return self._laboratory.classic_or_consumer_group(self.id)

    def _other_kind(self) -> str:
        """`share` or `streams`, where it is such a group; else empty."""
        if self._laboratory.share_group(self.id) is not None:
            return "share"
        return "streams" if self._laboratory.streams_group(self.id) is not None else ""
