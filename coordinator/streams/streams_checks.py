"""Checks of StreamsGroupHeartbeat requests, in Kafka's order (streams-groups §3)."""

from collections.abc import Mapping

from kohort.coordinator.groups.group import STREAMS
from kohort.coordinator.modern.group_refusals import (
    GROUP_ID_EMPTY,
    INSTANCE_ID_EMPTY,
    INSTANCE_ID_NULL,
    MEMBER_ID_EMPTY,
    NO_REBALANCE_TIMEOUT,
    RACK_ID_EMPTY,
    Refusal,
    fenced_epoch,
)
from kohort.coordinator.modern.modern_values import STATIC_LEAVING_EPOCH
from kohort.coordinator.streams.streams_member import StreamsMember
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest, TaskIds
from kohort.protocol.releases import Rules


def _invalid(message: str) -> Refusal:
    return Refusal(ErrorCode.invalid_request, message)


STATIC = _invalid("Static membership is not yet supported.")
TASK_OFFSETS = _invalid("TaskOffsets are not supported yet.")
TASK_END_OFFSETS = _invalid("TaskEndOffsets are not supported yet.")
WARMUP_TASKS = _invalid("WarmupTasks are not supported yet.")
PATTERNS = _invalid("Regular expressions for source topics are not supported yet.")
ACTIVE_ON_JOINING = _invalid("ActiveTasks must be empty when (re-)joining.")
STANDBY_ON_JOINING = _invalid("StandbyTasks must be empty when (re-)joining.")
WARMUP_ON_JOINING = _invalid("WarmupTasks must be empty when (re-)joining.")
NO_TOPOLOGY = _invalid("Topology must be non-null when (re-)joining.")
TOPOLOGY_AFTER_JOINING = _invalid("Topology can only be provided when (re-)joining.")
SOME_TASKS_MISSING = _invalid("If one task-type is non-null, all must be non-null.")
UPDATED_TOPOLOGY = _invalid("Topology updates are not supported yet.")
# error of Kafka for requests it does not expect: duplicate keys in a topology or in tags, an epoch below 0
UNFORESEEN = Refusal(ErrorCode.unknown_server_error)


def check_request(request: StreamsGroupHeartbeatRequest, rules: Rules) -> Refusal | None:
    """Check what does not depend on the group. Blank strings count as empty."""
    return _check_features(request, rules) or _check_ids(request) or _check_epoch_and_tasks(request)


def _check_features(request: StreamsGroupHeartbeatRequest, rules: Rules) -> Refusal | None:
    """Reject features that the release does not support."""
    if request.instance_id is not None and not rules.has_static_streams_members:
        return STATIC
    if not rules.stores_task_offsets:
        if request.task_offsets is not None:
            return TASK_OFFSETS
        if request.task_end_offsets is not None:
            return TASK_END_OFFSETS
        if request.warmup_tasks:
            return WARMUP_TASKS
    if request.topology is not None and any(
        subtopology.source_topic_regex for subtopology in request.topology.subtopologies
    ):
        return PATTERNS
    return None


def _check_ids(request: StreamsGroupHeartbeatRequest) -> Refusal | None:
    if not request.member_id.strip():
        return MEMBER_ID_EMPTY
    if not request.group_id.strip():
        return GROUP_ID_EMPTY
    if request.instance_id is not None and not request.instance_id.strip():
        return INSTANCE_ID_EMPTY
    return RACK_ID_EMPTY if request.rack_id is not None and not request.rack_id.strip() else None


def _check_epoch_and_tasks(request: StreamsGroupHeartbeatRequest) -> Refusal | None:
    epoch = request.member_epoch
    if epoch == 0:
        refusal = _check_joining(request)
        if refusal is not None:
            return refusal
    elif epoch == STATIC_LEAVING_EPOCH and request.instance_id is None:
        return INSTANCE_ID_NULL
    elif epoch < STATIC_LEAVING_EPOCH:
        return _invalid(f"MemberEpoch is {epoch}, but must be greater than or equal to -2.")
    if len({tasks is None for tasks in _tasks_by_role(request)}) > 1:
        return SOME_TASKS_MISSING
    return TOPOLOGY_AFTER_JOINING if epoch and request.topology is not None else None


def _check_joining(request: StreamsGroupHeartbeatRequest) -> Refusal | None:
    if request.rebalance_timeout_ms == -1:
        return NO_REBALANCE_TIMEOUT
    for tasks, refusal in zip(
        _tasks_by_role(request), (ACTIVE_ON_JOINING, STANDBY_ON_JOINING, WARMUP_ON_JOINING), strict=True
    ):
        if tasks is None or tasks:
            return refusal
    return _check_topology(request)


def _check_topology(request: StreamsGroupHeartbeatRequest) -> Refusal | None:
    """Reject changelogs with a partition count: they have as many partitions as their subtopology has tasks."""
    if request.topology is None:
        return NO_TOPOLOGY
    for subtopology in request.topology.subtopologies:
        for topic in subtopology.state_changelog_topics:
            if topic.partitions:
                message = (
                    f"Changelog topic {topic.name} must have an undefined partition count, but it is set to "
                    f"{topic.partitions}."
                )
                return Refusal(ErrorCode.streams_invalid_topology, message)
    return None


def _tasks_by_role(request: StreamsGroupHeartbeatRequest) -> tuple[tuple[TaskIds, ...] | None, ...]:
    return request.active_tasks, request.standby_tasks, request.warmup_tasks


def check_epoch(member: StreamsMember, request: StreamsGroupHeartbeatRequest) -> Refusal | None:
    """Check the member epoch of a heartbeat.

    The previous epoch is valid if the member reports its tasks and they are part of its assignment, because the last
    response may have been lost. Epoch 0 means that the member joins again.
    """
    epoch, current = request.member_epoch, member.current
    if epoch in (0, current.epoch):
        return None
    is_behind = epoch < current.epoch and epoch == current.previous_epoch
    if is_behind and all(map(_is_contained, _tasks_by_role(request), current.assigned.roles)):
        return None
    return fenced_epoch(STREAMS, epoch, current.epoch)


def _is_contained(
    reported: tuple[TaskIds, ...] | None, tasks: Mapping[str, Mapping[int, int] | frozenset[int]]
) -> bool:
    """Return whether the reported tasks are among `tasks`. Like Kafka, check subtopologies without partitions too."""
    if reported is None:
        return False
    return all(
        entry.subtopology_id in tasks
        and all(partition in tasks[entry.subtopology_id] for partition in entry.partitions)
        for entry in reported
    )


def check_tasks(request: StreamsGroupHeartbeatRequest, tasks: Mapping[str, int]) -> Refusal | None:
    """Check that the reported tasks exist.

    Args:
        tasks: Number of tasks of each subtopology.
    """
    for reported in _tasks_by_role(request):
        for entry in reported or ():
            count = tasks.get(entry.subtopology_id)
            if count is None:
                return _invalid(f"Subtopology {entry.subtopology_id} does not exist in the topology.")
            for partition in entry.partitions:
                if not 0 <= partition < count:
                    return _invalid(_no_such_task(partition, entry.subtopology_id, count))
    return None


def _no_such_task(partition: int, subtopology_id: str, count: int) -> str:
    return (
        f"Task {partition} for subtopology {subtopology_id} is invalid. Number of tasks for this subtopology: {count}"
    )
