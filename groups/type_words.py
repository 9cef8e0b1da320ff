"""Group types and how they differ for a reader, as data."""

from __future__ import annotations

from typing import Final, NamedTuple

CLASSIC: Final = "classic"
CONSUMER: Final = "consumer"
SHARE: Final = "share"
STREAMS: Final = "streams"


class GroupType(NamedTuple):
    """Words and properties of a group type."""

    name: str
    noun: str  # in "share group orders"
    version: str  # counter of its rebalances
    created_by: str  # request that creates a group
    revokes: str  # what members revoke before other members get it; empty if they share everything
    confirmed_by: str  # field of a heartbeat that confirms a revocation
    has_static_members: bool  # whether explanations recommend a `group.instance.id`
    interval_setting: str  # setting whose time a target assignment waits for; empty if explanations do not mention it

    @property
    def has_epochs(self) -> bool:
        return self.version == "epoch"


_EPOCH: Final = "epoch"
GROUP_TYPES: Final = {
    row.name: row
    for row in (
        GroupType(CLASSIC, "group", "generation", "JoinGroup or commit", "", "", True, ""),
        GroupType(
            CONSUMER,
            "group",
            _EPOCH,
            "ConsumerGroupHeartbeat",
            "partitions",
            "TopicPartitions",
            True,
            "group.consumer.assignment.interval.ms",
        ),
        GroupType(SHARE, "share group", _EPOCH, "ShareGroupHeartbeat", "", "", False, ""),
        GroupType(
            STREAMS,
            "streams group",
            _EPOCH,
            "StreamsGroupHeartbeat",
            "tasks",
            "all three lists of tasks",
            True,
            "group.streams.assignment.interval.ms",
        ),
    )
}


def words_of(group_type: str) -> GroupType:
    """Return the row of a type; for an empty name or a type of a newer Kafka that of classic groups."""
    return GROUP_TYPES.get(group_type, GROUP_TYPES[CLASSIC])
