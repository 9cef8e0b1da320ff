"""What a heartbeat must and must not say, in Kafka's order (streams-groups §3)."""

from collections.abc import Mapping

from kohort.coordinator.group import STREAMS
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
from kohort.coordinator.streams.streams_group_values import STATIC_LEAVING_EPOCH
from kohort.coordinator.streams.streams_member import StreamsMember
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest, TaskIds


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
SOME_TASKS_UNSAID = _invalid("If one task-type is non-null, all must be non-null.")
UPDATED_TOPOLOGY = _invalid("Topology updates are not supported yet.")
UNFORESEEN = Refusal(ErrorCode.unknown_server_error)
"""What Kafka does not foresee: a topology or tags that make no map, an epoch below 0."""


def check_request(request: StreamsGroupHeartbeatRequest) -> Refusal | None:
    """What can be judged without the group. Blank is empty."""
    return _check_features(request) or _check_ids(request) or _check_epoch_and_tasks(request)


def _check_features(request: StreamsGroupHeartbeatRequest) -> Refusal | None:
    """What Kafka 4.3 does not do yet."""
    if request.instance_id is not None:
        return STATIC
    if request.task_offsets is not None:
        return TASK_OFFSETS
    if request.task_end_offsets is not None:
        return TASK_END_OFFSETS
    if request.warmup_tasks:
        return WARMUP_TASKS
    if request.topology is not None and any(each.source_topic_regex for each in request.topology.subtopologies):
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
    if len({each is None for each in _said_tasks(request)}) > 1:
        return SOME_TASKS_UNSAID
    return TOPOLOGY_AFTER_JOINING if epoch and request.topology is not None else None


def _check_joining(request: StreamsGroupHeartbeatRequest) -> Refusal | None:
    if request.rebalance_timeout_ms == -1:
        return NO_REBALANCE_TIMEOUT
    for tasks, refusal in zip(
        _said_tasks(request), (ACTIVE_ON_JOINING, STANDBY_ON_JOINING, WARMUP_ON_JOINING), strict=True
    ):
        if tasks is None or tasks:
            return refusal
    return _check_topology(request)


def _check_topology(request: StreamsGroupHeartbeatRequest) -> Refusal | None:
    """A changelog has as many partitions as its subtopology has tasks: nobody may say how many."""
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


def _said_tasks(request: StreamsGroupHeartbeatRequest) -> tuple[tuple[TaskIds, ...] | None, ...]:
    """What the member says it has, by role."""
    return request.active_tasks, request.standby_tasks, request.warmup_tasks


def check_epoch(member: StreamsMember, request: StreamsGroupHeartbeatRequest) -> Refusal | None:
    """Whether a member may go on with its epoch.

    One epoch behind is right for a member that has not heard the last answer, as long as it says what it has and has
    nothing else than it was given. Who comes with 0 joins again.
    """
    epoch, current = request.member_epoch, member.current
    if epoch in (0, current.epoch):
        return None
    is_behind = epoch < current.epoch and epoch == current.previous_epoch
    if is_behind and all(map(_is_contained, _said_tasks(request), current.assigned.roles)):
        return None
    return fenced_epoch(STREAMS, epoch, current.epoch)


def _is_contained(said: tuple[TaskIds, ...] | None, tasks: Mapping[str, Mapping[int, int] | frozenset[int]]) -> bool:
    """A subtopology of which the member has nothing counts, too: Kafka looks for its id first."""
    if said is None:
        return False
    return all(
        each.subtopology_id in tasks and all(one in tasks[each.subtopology_id] for one in each.partitions)
        for each in said
    )


FENCED_AS_UNKNOWN = Refusal(
    ErrorCode.fenced_member_epoch,
    "The streams group member is in a unknown state. The member must abandon all its tasks and rejoin.",
)


def check_tasks(request: StreamsGroupHeartbeatRequest, tasks: Mapping[str, int]) -> Refusal | None:
    """Whether the tasks exist that a member says it has. `tasks`: how many each subtopology has."""
    for said in _said_tasks(request):
        for each in said or ():
            count = tasks.get(each.subtopology_id)
            if count is None:
                return _invalid(f"Subtopology {each.subtopology_id} does not exist in the topology.")
            for partition in each.partitions:
                if not 0 <= partition < count:
                    return _invalid(_no_such_task(partition, each.subtopology_id, count))
    return None


def _no_such_task(partition: int, subtopology_id: str, count: int) -> str:
    return (
        f"Task {partition} for subtopology {subtopology_id} is invalid. Number of tasks for this subtopology: {count}"
    )
