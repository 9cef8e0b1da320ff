"""Target assignment of a streams group: the tasks that each member is to own (streams-groups §7)."""

from collections.abc import Mapping
from typing import NamedTuple

from kohort.coordinator.effects import Cause
from kohort.coordinator.groups.group_placement import java_hash
from kohort.coordinator.java_order import in_assignors_order, in_map_order
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.modern_group import hash_of_member
from kohort.coordinator.modern.preparing import targets_of
from kohort.coordinator.streams.streams_config import StreamsConfig
from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.coordinator.streams.streams_group_values import Pairs
from kohort.coordinator.streams.streams_member import FIRST, StreamsMember
from kohort.coordinator.streams.streams_values import NO_TASK_SETS, Status, StatusCode, Tasks, TaskSets
from kohort.coordinator.streams.task_assignor import AssignorMember, assigning
from kohort.coordinator.streams.topology import ConfiguredTopology
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import DelayedOperation

NUM_STANDBY_REPLICAS = "num.standby.replicas"  # the only setting that affects assignments (Kafka 4.3)

DELAYED_AT_FIRST = Status(
    StatusCode.ASSIGNMENT_DELAYED, "Assignment delayed due to the configured initial rebalance delay."
)
DELAYED_BY_INTERVAL = Status(
    StatusCode.ASSIGNMENT_DELAYED, "Assignment delayed due to the configured assignment interval."
)


class Inputs(NamedTuple):
    """Values that determine a target."""

    members: Mapping[str, AssignorMember]
    tasks: Mapping[str, int]
    stateful: frozenset[str]
    standby_replicas: int
    processes: Mapping[str, list[str]]  # member ids of each process


def assignment_configs(config: StreamsConfig) -> Pairs:
    return ((NUM_STANDBY_REPLICAS, str(config.num_standby_replicas)),)


def update_target(
    group: StreamsGroup, changes: GroupChanges, topology: ConfiguredTopology, now_ms: int
) -> tuple[Status, ...]:
    """Compute the target if it is due. Return the status for the member if the target is delayed."""
    if group.is_delayed:
        return (DELAYED_AT_FIRST,)
    if group.target_epoch >= group.epoch:
        return ()
    if group.is_target_young(now_ms):
        return (DELAYED_BY_INTERVAL,)
    compute(group, changes, topology, now_ms)
    return ()


def compute(group: StreamsGroup, changes: GroupChanges, topology: ConfiguredTopology, now_ms: int) -> None:
    """Compute the target for the group's epoch and update the members whose tasks change.

    A computation that takes long continues in the background; see modern/preparing.py. Until it ends, the target stays
    due.
    """
    targets: Mapping[str, TaskSets] | None = {}
    if topology.ready:
        inputs = _inputs(group, topology)
        targets = targets_of(group, inputs, assigning(*inputs), now_ms)
    if targets is None:
        return
    changes.set_targets({member_id: targets.get(member_id, NO_TASK_SETS) for member_id in group.members}, now_ms)


def _inputs(group: StreamsGroup, topology: ConfiguredTopology) -> Inputs:
    """Return the inputs. Their settings are those of the group epoch, which this heartbeat has updated."""
    members = {}
    for member in _in_order(group):
        active, standby = _previous_tasks(group, member)
        members[member.member_id] = AssignorMember(member.metadata.process_id, active, standby)
    replicas = int(dict(group.configs).get(NUM_STANDBY_REPLICAS, 0))
    return Inputs(members, topology.tasks, topology.stateful, replicas, _by_process(group, members))


def _previous_tasks(group: StreamsGroup, member: StreamsMember) -> tuple[Tasks, Tasks]:
    """Return the tasks that the member keeps if possible: those of its target in Kafka 4.3, its own ones in 4.4."""
    if not group.coordinator.settings.rules.assigns_from_current_tasks:
        target = group.target_of(member.member_id)
        return target.active, target.standby
    assigned = member.current.assigned
    return {subtopology_id: frozenset(tasks) for subtopology_id, tasks in assigned.active.items()}, assigned.standby


def _in_order(group: StreamsGroup) -> list[StreamsMember]:
    """Return the members in the order of Kafka's assignor, which decides between equally good ones."""
    assigned = [member for member in group.members.values() if member.current is not FIRST]
    added = [member for member in group.members.values() if member.current is FIRST]
    return in_assignors_order(assigned, added, hash_of_member, group.most_members)


def _by_process(group: StreamsGroup, members: Mapping[str, AssignorMember]) -> dict[str, list[str]]:
    """Return the member ids of each process, in the order of Kafka's map, whose capacity is the number of members."""
    member_ids: dict[str, list[str]] = {}
    for member_id, member in members.items():
        member_ids.setdefault(member.process_id, []).append(member_id)
    computed = group.coordinator.settings.rules.assigns_from_current_tasks
    ordered = in_map_order(member_ids, java_hash, computed=computed, capacity=len(members))
    return {
        process_id: ids if len(ids := member_ids[process_id]) == 1 else in_map_order(ids, java_hash)
        for process_id in ordered
    }


class InitialDelay(DelayedOperation):
    """Rebalance delay after the first member joins an empty group."""

    __slots__ = ("_group",)

    def __init__(self, deadline_ms: int, group: StreamsGroup) -> None:
        super().__init__(deadline_ms)
        self._group = group

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        """Compute the target without a heartbeat, if the group has members and its topology is configured.

        It is not configured if the only heartbeat was the join that created the group (in Kafka,
        `streamsGroupHeartbeat` discards the in-memory state of a new group).
        """
        group = self._group
        topology = group.configured
        is_due = group.is_there and group.members and group.target_epoch < group.epoch
        if topology is None or not is_due or group.is_target_young(now_ms):
            return
        changes = GroupChanges(group)
        compute(group, changes, topology, now_ms)
        changes.write(now_ms, Cause("initial_delay"), _ignore_result)


def _ignore_result(error: ErrorCode, now_ms: int) -> None:
    """Ignore a failed write: the next heartbeat computes a target."""


def delay(group: StreamsGroup, now_ms: int) -> None:
    delay_ms = group.config.initial_rebalance_delay_ms
    if delay_ms > 0 and not group.is_delayed:
        group.initial_delay = InitialDelay(now_ms + delay_ms, group)
        group.coordinator.purgatory.wait(group.initial_delay)
