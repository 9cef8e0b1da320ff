"""Views of classic groups and consumer groups for tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

from kohort.control.control_errors import ControlError, unknown
from kohort.control.explain.denied import denied
from kohort.control.explain.explain_classic import explain
from kohort.control.explain.explain_consumers import explain_consumers
from kohort.control.explain.explanation import Explanation
from kohort.control.groups.any_group import AnyGroup
from kohort.control.groups.group_members import GroupMember, classic_member, consumer_member
from kohort.control.groups.lab_offsets import EARLIEST, commit, lag_of, offsets_at
from kohort.control.numbers import Seconds
from kohort.control.waiting import PATIENCE_S
from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.consumer.targets import preferred_assignor
from kohort.coordinator.groups.group import CLASSIC, CONSUMER
from kohort.protocol.topic_partition import TopicPartition


@dataclass(frozen=True)
class Migration:
    """Progress of a group between the classic and the consumer protocol (KIP-848), at the moment of the call."""

    protocol: str  # the group's protocol: `classic`, `consumer`, or empty if the group does not exist
    classic_members: int
    consumer_members: int

    def is_at(self, protocol: str) -> bool:
        """Return whether the group has members, and it and every member use a protocol."""
        other_members = self.consumer_members if protocol == CLASSIC else self.classic_members
        return self.protocol == protocol and not other_members and self.classic_members + self.consumer_members > 0

    def __str__(self) -> str:
        if not self.protocol:
            return "no group"
        return f"a {self.protocol} group of {self.classic_members} classic and {self.consumer_members} consumer members"


class Group(AnyGroup):
    """A classic group or a consumer group (KIP-848). It may change its protocol at any time.

    All properties and methods raise ControlError if it is a share group or a streams group.
    """

    # State

    @property
    def type(self) -> str:
        """`classic` or `consumer`, or an empty string if the group does not exist."""
        group = self._find_group()
        return "" if group is None else group.group_type

    @property
    def generation(self) -> int:
        """The group's generation, 0 before the first rebalance; in a consumer group the group epoch."""
        group = self._find_group()
        return group.version if group is not None else 0

    @property
    def assignment_epoch(self) -> int:
        """The epoch of the target assignment; in a classic group its generation."""
        group = self._find_group()
        return group.target_epoch if isinstance(group, ConsumerGroup) else self.generation

    @property
    def protocol(self) -> str:
        """The chosen assignor, or an empty string."""
        group = self._find_group()
        if isinstance(group, ConsumerGroup):
            return preferred_assignor(group) if group.members else ""
        return (group.protocol_name if group is not None else None) or ""

    @property
    def size(self) -> int:
        """The number of members."""
        group = self._find_group()
        return len(group.members) if group is not None else 0

    @property
    def members(self) -> tuple[GroupMember, ...]:
        """The members in the order in which they joined."""
        group, laboratory = self._find_group(), self._laboratory
        if group is None:
            return ()
        now_ms, alive = laboratory.clock.now_ms(), laboratory.is_alive
        if isinstance(group, ConsumerGroup):
            return tuple(
                consumer_member(group, member, now_ms, alive(group, member)) for member in group.members.values()
            )
        return tuple(classic_member(group, member, now_ms, alive(group, member)) for member in group.members.values())

    @property
    def owners(self) -> dict[TopicPartition, str]:
        """The member id of the owner of each partition. A member that is revoking a partition still owns it."""
        return {
            (topic, number): member.member_id
            for member in self.members
            for partitions in (member.partitions, member.revoking)
            for topic, numbers in partitions.items()
            for number in numbers
        }

    @property
    def migration(self) -> Migration:
        """The group's protocol, and the number of members that use each protocol."""
        speaks = [member.speaks for member in self.members]
        return Migration(self.type, speaks.count(CLASSIC), speaks.count(CONSUMER))

    @property
    def offsets(self) -> dict[TopicPartition, int]:
        """The committed offsets by topic and partition."""
        group = self._find_group()
        if group is None or group.offsets is None:
            return {}
        return {(topic, partition): commit.offset for topic, partition, commit in group.offsets}

    @property
    def lag(self) -> dict[TopicPartition, int]:
        """The number of offsets that are still to be committed, by topic and partition.

        It covers all partitions with a committed offset and those of topics that members subscribe to by name. Without
        a committed offset every stored record counts. A transaction marker is an offset, too, as for Kafka's tools.
        """
        return lag_of(self._laboratory, self)

    @property
    def is_caught_up(self) -> bool:
        """Whether there is a lag, and it is 0 for all partitions."""
        lag = self.lag
        return bool(lag) and not any(lag.values())

    def explain(self) -> Explanation:
        """Return what the group waits for and until when, what each client should do, and which settings are wrong.

        Print the result to read it.
        """
        laboratory, group = self._laboratory, self._find_group()
        now_ms = laboratory.clock.now_ms()
        if isinstance(group, ConsumerGroup):
            explanation = explain_consumers(group, now_ms, laboratory.is_alive, self.events)
            client_ids = {member.metadata.client_id for member in group.members.values()}
        else:
            explanation = explain(group, self.id, now_ms, laboratory.is_alive, self.events)
            client_ids = set() if group is None else {member.client_id for member in group.members.values()}
        return replace(
            explanation, denied=tuple(denied(laboratory.cluster.access, laboratory.faults, self.id, client_ids, now_ms))
        )

    # Offsets

    async def commit(self, offsets: Mapping[TopicPartition, int], timeout: Seconds = PATIENCE_S) -> None:
        """Commit offsets for a group without members, as Kafka's tools do: `{("orders", 0): 5}`.

        Raises:
            ControlError: The group has members, or a topic, partition or offset is invalid.
        """
        await commit(self._laboratory, self, offsets, timeout)

    async def reset(
        self, to: str | int = EARLIEST, topic: str | None = None, timeout: Seconds = PATIENCE_S
    ) -> dict[TopicPartition, int]:
        """Reset a group without members to `earliest`, to `latest` or to an offset, as kafka-consumer-groups does.

        Applies to all partitions with a committed offset, and with `topic` to all partitions of that topic.

        Returns:
            The committed offsets.

        Raises:
            ControlError: As for `commit`, or the log does not contain the offset.
        """
        offsets = offsets_at(self._laboratory, self, to, topic)
        await self.commit(offsets, timeout)
        return offsets

    # Waiting

    async def wait_migrated(self, to: str, members: int | None = None, timeout: Seconds = PATIENCE_S) -> None:
        """Wait until the group and all its members use protocol `to`, with exactly `members` members if that is given.

        Raises:
            TimeoutError: With the current state of the migration.
            ControlError: `to` is neither `classic` nor `consumer`.
        """
        if to not in (CLASSIC, CONSUMER):
            raise unknown("protocol of groups", to, (CLASSIC, CONSUMER))
        await self._laboratory.waiters.until(
            lambda: self.migration.is_at(to) and members in (None, len(self.members)),
            timeout,
            lambda: f"{self} has not migrated to {to}: it is {self.migration}",
        )

    async def wait_caught_up(self, timeout: Seconds = PATIENCE_S) -> None:
        """Wait until there is a `lag`, and it is 0 for all partitions.

        Consumers commit automatically every 5 s by their own clock, unless they are configured otherwise.

        Raises:
            TimeoutError: With the partitions that have a lag.
        """
        await self._laboratory.waiters.until(
            lambda: self.is_caught_up,
            timeout,
            lambda: f"{self} has not caught up: {self._behind()}",
        )

    async def wait_for_offset(self, topic: str, offset: int, partition: int = 0, timeout: Seconds = PATIENCE_S) -> None:
        """Wait until at least this offset of a partition is committed.

        Raises:
            TimeoutError: With the committed offset.
        """
        await self._laboratory.waiters.until(
            lambda: self.offsets.get((topic, partition), -1) >= offset,
            timeout,
            lambda: (
                f"{self} has committed {self.offsets.get((topic, partition), 'nothing')} of "
                f"{topic}-{partition}, not {offset}"
            ),
        )

    # Details

    def _behind(self) -> str:
        behind = [f"{topic}-{partition} by {lag}" for (topic, partition), lag in self.lag.items() if lag]
        return ", ".join(behind) or "it has no committed offsets, and its members subscribe to no existing topic"

    def __str__(self) -> str:
        other = self._other_type()
        if other:
            return f"group {self.id}, which is a {other} group"
        members = ", ".join(
            f"{member} ({member.waits_for})" if member.waits_for else str(member) for member in self.members
        )
        count = "epoch" if self.type == CONSUMER else "generation"
        return f"group {self.id} ({self.state}, {count} {self.generation}, members: {members or 'none'})"

    def _find_group(self) -> ClassicGroup | ConsumerGroup | None:
        other = self._other_type()
        if other:
            raise ControlError(f"group {self.id} is a {other} group; use {other}_group({self.id!r})")
        return cast("ClassicGroup | ConsumerGroup | None", self._laboratory.find(self.id))

    def _other_type(self) -> str:
        group = self._laboratory.find(self.id)
        return "" if group is None or group.group_type in (CLASSIC, CONSUMER) else group.group_type
