"""What the log keeps of a consumer group, as values. A group's whole state is made of them (consumer-groups §18).

Values are never changed: whoever wants another one makes it. Mappings in them are to be treated so, too.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple
from uuid import UUID

from kohort.coordinator.consumer.consumer_states import MemberState

Owned = Mapping[UUID, Mapping[int, int]]
"""By topic, partitions and the epoch of the assignment that gave each (KIP-1251)."""

NOTHING: dict[UUID, dict[int, int]] = {}

LEAVING_EPOCH = -1
STEPPING_OUT_EPOCH = -2
"""A static member goes and wants to come back; also the epoch it has meanwhile."""


class Kind(IntEnum):
    """The kinds of records; the value is the type in a record's key."""

    GROUP_EPOCH = 3
    PARTITION_METADATA = 4
    """Kafka 4.0 writes it; later brokers only write its tombstone."""
    MEMBER = 5
    TARGET_EPOCH = 6
    TARGET = 7
    CURRENT = 8
    REGEX = 16


class ClassicMetadata(NamedTuple):
    """What a member says that speaks the classic protocol within a consumer group."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]


class MemberMetadata(NamedTuple):
    """What a member says of itself."""

    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topic_names: tuple[str, ...] = ()
    """Sorted, each once."""
    topic_regex: str = ""
    """Empty: none."""
    rebalance_timeout_ms: int = -1
    assignor: str | None = None
    """The server-side assignor that it votes for."""
    classic: ClassicMetadata | None = None


class CurrentAssignment(NamedTuple):
    """What a member has, and how far it is on the way to its target."""

    epoch: int = 0
    previous_epoch: int = 0
    state: MemberState = MemberState.STABLE
    assigned: Owned = NOTHING
    revoking: Owned = NOTHING
    """Partitions that it is to give up and has not yet."""

    def given_at(self, topic_id: UUID, partition: int) -> int | None:
        """The epoch of the assignment that gave a partition to the member; None: it does not have it."""
        for owned in (self.assigned, self.revoking):
            epoch = owned.get(topic_id, {}).get(partition)
            if epoch is not None:
                return epoch
        return None


class ResolvedRegex(NamedTuple):
    """The topics that a pattern matched, the version of the topics then, and when that was: wall clock."""

    topics: tuple[str, ...]
    version: int
    timestamp_ms: int
