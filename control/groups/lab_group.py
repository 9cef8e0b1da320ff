"""Views of classic groups and consumer groups for tests."""

from __future__ import annotations

from collections.abc import Mapping

from kohort.control.control_errors import unknown
from kohort.control.groups.any_group import AnyGroup, Migration
from kohort.control.groups.lab_offsets import EARLIEST, commit, offsets_at
from kohort.control.numbers import Seconds
from kohort.control.suggesting import suggest_names
from kohort.control.waiting import PATIENCE_S
from kohort.groups.type_words import CLASSIC, CONSUMER
from kohort.protocol.topic_partition import TopicPartition

__all__ = ["Group", "Migration"]


@suggest_names
class Group(AnyGroup):
    """A classic group or a consumer group (KIP-848). It may change its protocol at any time.

    All properties and methods raise ControlError if it is a share group or a streams group.
    """

    _types = (CLASSIC, CONSUMER)

    # State

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
            lambda: self.migration.is_at(to) and members in (None, self.size),
            timeout,
            lambda: f"{self} has not migrated to {to}: it is {self.migration}",
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

    # Internals

    def _describe_mismatch(self, group_type: str) -> str:
        return f"group {self.id} is a {group_type} group; use {group_type}_group({self.id!r})"
