"""Values that the log stores for a consumer group. They make up its whole state (consumer-groups §18).

Values are replaced and never modified. That includes the mappings in them.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple
from uuid import UUID

from kohort.coordinator.consumer.consumer_states import MemberState

Owned = Mapping[UUID, Mapping[int, int]]  # assignment epochs by topic and partition (KIP-1251)

NOTHING: dict[UUID, dict[int, int]] = {}


class Kind(IntEnum):
    """Record types; the value is the type in a record's key."""

    GROUP_EPOCH = 3
    PARTITION_METADATA = 4  # written by Kafka 4.0; later brokers only write its tombstone
    MEMBER = 5
    TARGET_EPOCH = 6
    TARGET = 7
    CURRENT = 8
    REGEX = 16


class ClassicMetadata(NamedTuple):
    """Additional metadata of a member that uses the classic protocol in a consumer group."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]


class MemberMetadata(NamedTuple):
    """Subscription and other data that a member sent."""

    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topic_names: tuple[str, ...] = ()  # sorted, without duplicates
    topic_regex: str = ""  # empty without a pattern
    rebalance_timeout_ms: int = -1
    assignor: str | None = None  # server-side assignor that the member prefers
    classic: ClassicMetadata | None = None


class CurrentAssignment(NamedTuple):
    """Partitions of a member, and its progress toward the target."""

    epoch: int = 0
    previous_epoch: int = 0
    state: MemberState = MemberState.STABLE
    assigned: Owned = NOTHING
    revoking: Owned = NOTHING  # partitions that the member has not revoked yet

    def given_at(self, topic_id: UUID, partition: int) -> int | None:
        """Return the epoch of the assignment that added the partition, or None if the member does not own it."""
        for owned in (self.assigned, self.revoking):
            epoch = owned.get(topic_id, {}).get(partition)
            if epoch is not None:
                return epoch
        return None


class ResolvedRegex(NamedTuple):
    """The topics that a pattern matched, with the version of the topics and the wall clock of that time."""

    topics: tuple[str, ...]
    version: int
    timestamp_ms: int
