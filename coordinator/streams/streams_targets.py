"""The target assignment of a streams group: which tasks each member is to have (streams-groups §7)."""

from collections.abc import Mapping
from typing import NamedTuple

from kohort.coordinator.effects import Cause
from kohort.coordinator.group_placement import java_hash
from kohort.coordinator.java_order import in_assignors_order, in_map_order
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.group_epochs import is_target_young
from kohort.coordinator.modern.modern_values import TargetEpoch
from kohort.coordinator.modern.preparing import targets_of
from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.coordinator.streams.streams_group_values import Pairs, StreamsKind
from kohort.coordinator.streams.streams_member import FIRST, StreamsMember
from kohort.coordinator.streams.streams_values import NO_TASK_SETS, Status, StatusCode, TaskSets
from kohort.coordinator.streams.task_assignor import AssignorMember, assigning
from kohort.coordinator.streams.topology import ConfiguredTopology
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import DelayedOperation

NUM_STANDBY_REPLICAS = "num.standby.replicas"
"""The one setting that assignments depend on (Kafka 4.3)."""

DELAYED_AT_FIRST = Status(
    StatusCode.ASSIGNMENT_DELAYED, "Assignment delayed due to the configured initial rebalance delay."
)
DELAYED_BY_INTERVAL = Status(
    StatusCode.ASSIGNMENT_DELAYED, "Assignment delayed due to the configured assignment interval."
)


class Inputs(NamedTuple):
    """What a target follows from."""

    members: Mapping[str, AssignorMember]
    tasks: Mapping[str, int]
    stateful: frozenset[str]
    standby_replicas: int
    processes: Mapping[str, list[str]]
    """The members of each process."""


def assignment_configs(group: StreamsGroup) -> Pairs:
    """The settings that assignments depend on, as they are now."""
    replicas = group.coordinator.streams_config(group.group_id).num_standby_replicas
    return ((NUM_STANDBY_REPLICAS, str(replicas)),)


def update_target(
    group: StreamsGroup, changes: GroupChanges, topology: ConfiguredTopology, now_ms: int
) -> tuple[Status, ...]:
    """Computes the target if it is due. Returns what the member is told if it has to wait for that."""
    if group.is_delayed:
        return (DELAYED_AT_FIRST,)
    if group.target_epoch >= group.epoch:
        return ()
    if _is_young(group, now_ms):
        return (DELAYED_BY_INTERVAL,)
    compute(group, changes, topology, now_ms)
    return ()


def _is_young(group: StreamsGroup, now_ms: int) -> bool:
    interval_ms = group.coordinator.streams_config(group.group_id).assignment_interval_ms
    return is_target_young(group, interval_ms, group.coordinator.wall_ms(now_ms))


def compute(group: StreamsGroup, changes: GroupChanges, topology: ConfiguredTopology, now_ms: int) -> None:
    """Computes the target for the group's epoch, and notes it for the members whose tasks change.

    It stays due where that takes long; see modern/preparing.py.
    """
    targets: Mapping[str, TaskSets] | None = {}
    if topology.ready:
        inputs = _inputs(group, topology)
        targets = targets_of(group, inputs, assigning(*inputs), now_ms)
    if targets is None:
        return
    for member_id in group.members:
        target = targets.get(member_id, NO_TASK_SETS)
        if target != group.targets.get(member_id):
            changes.make(StreamsKind.TARGET, member_id, target)
    changes.make(StreamsKind.TARGET_EPOCH, None, TargetEpoch(group.epoch, group.coordinator.wall_ms(now_ms)))


def _inputs(group: StreamsGroup, topology: ConfiguredTopology) -> Inputs:
    """Settings are those of the group's epoch: the same heartbeat has given it another one if they have changed."""
    members = {}
    for member in _in_order(group):
        before = group.target_of(member.member_id)
        members[member.member_id] = AssignorMember(member.metadata.process_id, before.active, before.standby)
    replicas = int(dict(group.configs).get(NUM_STANDBY_REPLICAS, 0))
    return Inputs(members, topology.tasks, topology.stateful, replicas, _by_process(members))


def _in_order(group: StreamsGroup) -> list[StreamsMember]:
    """Members as Kafka's assignor gets them: it decides between members that are equally good by that."""
    known = [member for member in group.members.values() if member.current is not FIRST]
    added = [member for member in group.members.values() if member.current is FIRST]
    return in_assignors_order(known, added, _hash_of, group.most_members)


def _hash_of(member: StreamsMember) -> int:
    return member.java_hash


def _by_process(members: Mapping[str, AssignorMember]) -> dict[str, list[str]]:
    """The members of each process, as Kafka's assignor keeps them: in a map made for as many as there are members."""
    found: dict[str, list[str]] = {}
    for member_id, member in members.items():
        found.setdefault(member.process_id, []).append(member_id)
    ordered = in_map_order(found, java_hash, capacity=len(members))
    return {process_id: in_map_order(found[process_id], java_hash) for process_id in ordered}


class InitialDelay(DelayedOperation):
    """Lets a group that was empty wait for more members before it computes a target."""

    __slots__ = ("_group",)

    def __init__(self, deadline_ms: int, group: StreamsGroup) -> None:
        super().__init__(deadline_ms)
        self._group = group

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        """Computes the target without any heartbeat, unless everybody has left or nobody knows the topics yet.

        Nobody does if there was one heartbeat only, the join that has created the group (Kafka: `streamsGroupHeartbeat`
        leaves what is not written with a group that nobody knows).
        """
        group = self._group
        topology = group.configured
        is_due = group.is_there and group.members and group.target_epoch < group.epoch
        if topology is None or not is_due or _is_young(group, now_ms):
            return
        changes = GroupChanges(group)
        compute(group, changes, topology, now_ms)
        changes.write(now_ms, Cause("initial_delay"), _nobody_waits)


def _nobody_waits(error: ErrorCode, now_ms: int) -> None:
    """If that could not be written the next heartbeat computes a target."""


def delay(group: StreamsGroup, now_ms: int) -> None:
    """A group that was empty gives nobody any task for a while, if it is set so."""
    delay_ms = group.coordinator.streams_config(group.group_id).initial_rebalance_delay_ms
    if delay_ms > 0 and not group.is_delayed:
        group.initial_delay = InitialDelay(now_ms + delay_ms, group)
        group.coordinator.purgatory.wait(group.initial_delay)
