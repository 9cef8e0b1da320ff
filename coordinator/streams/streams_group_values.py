"""What the log keeps of a streams group, as values (streams-groups §14). They are never changed."""

from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple

from kohort.coordinator.streams.streams_states import StreamsMemberState
from kohort.coordinator.streams.streams_values import NO_TASKS, Tasks

LEAVING_EPOCH = -1
STATIC_LEAVING_EPOCH = -2
"""A static member goes and wants to come back: there are none (Kafka 4.3)."""

NOT_VALIDATED = -1
"""As a topology's epoch: none is ready."""

Owned = Mapping[str, Mapping[int, int]]
"""By subtopology, partitions and the epoch of the assignment that gave each (KIP-1251)."""

NOTHING: dict[str, dict[int, int]] = {}

Pairs = tuple[tuple[str, str], ...]
"""Keys and values, sorted."""


class StreamsKind(IntEnum):
    """The kinds of records; the value is the type in a record's key."""

    GROUP_EPOCH = 17
    MEMBER = 19
    TARGET_EPOCH = 20
    TARGET = 21
    CURRENT = 22
    TOPOLOGY = 23


class StreamsEpoch(NamedTuple):
    """The group's epoch, and what it was given for."""

    epoch: int
    metadata_hash: int = 0
    """The hash of the topics that the topology needs; 0: none."""
    validated_topology_epoch: int = NOT_VALIDATED
    """The epoch of the topology if all its topics are there and fit."""
    configs: Pairs = ()
    """Settings that assignments depend on."""


class UserEndpoint(NamedTuple):
    """Where a member can be asked for its state."""

    host: str
    port: int


class StreamsMetadata(NamedTuple):
    """What a member says of itself."""

    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topology_epoch: int = NOT_VALIDATED
    process_id: str = ""
    """The process whose thread the member is: members of one process share its state."""
    user_endpoint: UserEndpoint | None = None
    client_tags: Pairs = ()


class OwnedTasks(NamedTuple):
    """Tasks that a member has been given, or is to give up, by role."""

    active: Owned = NOTHING
    standby: Tasks = NO_TASKS
    warmup: Tasks = NO_TASKS

    @property
    def roles(self) -> tuple[Mapping[str, Mapping[int, int] | frozenset[int]], ...]:
        """By subtopology, the partitions of each role."""
        return self.active, self.standby, self.warmup

    def __bool__(self) -> bool:
        return bool(self.active or self.standby or self.warmup)


NO_OWNED_TASKS = OwnedTasks()


class StreamsAssignment(NamedTuple):
    """What a member has, and how far it is on the way to its target."""

    epoch: int = 0
    previous_epoch: int = 0
    state: StreamsMemberState = StreamsMemberState.STABLE
    assigned: OwnedTasks = NO_OWNED_TASKS
    revoking: OwnedTasks = NO_OWNED_TASKS
    """Tasks that it is to give up and has not yet."""

    def given_at(self, subtopology_id: str, partition: int) -> int | None:
        """The epoch of the assignment that gave an active task to the member; None: it does not have it."""
        for owned in (self.assigned, self.revoking):
            epoch = owned.active.get(subtopology_id, {}).get(partition)
            if epoch is not None:
                return epoch
        return None
