"""Values of a streams group's records (streams-groups §14). They are immutable."""

from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple

from kohort.coordinator.streams.streams_states import StreamsMemberState
from kohort.coordinator.streams.streams_values import NO_TASKS, Tasks

NOT_VALIDATED = -1  # topology epoch of a group whose topology is not ready

# Topology epochs of a description (KIP-1331): nothing is stored; a plugin was called, and its outcome is unknown.
NO_DESCRIPTION, UNCERTAIN = -1, -2

# by subtopology, partitions and the epoch of the assignment that added each (KIP-1251)
Owned = Mapping[str, Mapping[int, int]]

NOTHING: dict[str, dict[int, int]] = {}

Pairs = tuple[tuple[str, str], ...]  # sorted keys and values


class StreamsKind(IntEnum):
    """Record types, as in a record's key."""

    GROUP_EPOCH = 17
    MEMBER = 19
    TARGET_EPOCH = 20
    TARGET = 21
    CURRENT = 22
    TOPOLOGY = 23


class StreamsEpoch(NamedTuple):
    """Group epoch, and the inputs for which it was created."""

    epoch: int
    metadata_hash: int = 0  # hash of the topics that the topology needs; 0: none
    validated_topology_epoch: int = NOT_VALIDATED  # epoch of the topology if it is ready
    configs: Pairs = ()  # settings that affect assignments
    stored_description: int = NO_DESCRIPTION  # topology epoch of the stored description, or UNCERTAIN
    failed_description: int = NO_DESCRIPTION  # topology epoch of the description that a plugin has rejected for good


class UserEndpoint(NamedTuple):
    """Address for interactive queries of a member's state."""

    host: str
    port: int


class StreamsMetadata(NamedTuple):
    """Metadata that a member sends in its heartbeats."""

    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topology_epoch: int = NOT_VALIDATED
    process_id: str = ""  # the process with the member's thread; members of a process share state
    user_endpoint: UserEndpoint | None = None
    client_tags: Pairs = ()


class OwnedTasks(NamedTuple):
    """Tasks by role that a member owns or has to revoke."""

    active: Owned = NOTHING
    standby: Tasks = NO_TASKS
    warmup: Tasks = NO_TASKS

    @property
    def roles(self) -> tuple[Mapping[str, Mapping[int, int] | frozenset[int]], ...]:
        """Partitions of each role, by subtopology."""
        return self.active, self.standby, self.warmup

    def __bool__(self) -> bool:
        return bool(self.active or self.standby or self.warmup)


NO_OWNED_TASKS = OwnedTasks()


class StreamsAssignment(NamedTuple):
    """Assignment of a member, and its progress towards the target."""

    epoch: int = 0
    previous_epoch: int = 0
    state: StreamsMemberState = StreamsMemberState.STABLE
    assigned: OwnedTasks = NO_OWNED_TASKS
    revoking: OwnedTasks = NO_OWNED_TASKS  # tasks that the member has not revoked yet

    def given_at(self, subtopology_id: str, partition: int) -> int | None:
        """Return the epoch of the assignment that added an active task, or None if the member does not own it."""
        for owned in (self.assigned, self.revoking):
            epoch = owned.active.get(subtopology_id, {}).get(partition)
            if epoch is not None:
                return epoch
        return None
