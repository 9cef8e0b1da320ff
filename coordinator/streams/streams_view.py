"""Conversion of a streams group (KIP-1071) to a `GroupView`."""

from collections.abc import Iterable, Mapping

from kohort.coordinator.groups.group import STREAMS
from kohort.coordinator.groups.view_parts import IsAlive, next_target_in_ms, remaining_ms, view_of_modern_group
from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.coordinator.streams.streams_group_values import OwnedTasks
from kohort.coordinator.streams.streams_member import StreamsMember
from kohort.coordinator.streams.streams_replies import shutdown_status
from kohort.coordinator.streams.streams_states import StreamsMemberState
from kohort.coordinator.streams.streams_targets import DELAYED_AT_FIRST, DELAYED_BY_INTERVAL, NUM_STANDBY_REPLICAS
from kohort.coordinator.streams.streams_values import StatusCode, Subtopology, TaskSets
from kohort.groups.group_members import MemberTasks, Partitions, TaskMember, task_names
from kohort.groups.group_view import GroupView, StreamsView, TopicProblem
from kohort.groups.topology import LabSubtopology, LabTopology


def view_of(group: StreamsGroup, now_ms: int, is_alive: IsAlive) -> GroupView:
    members = (_member(group, member, now_ms, is_alive) for member in group.members.values())
    return view_of_modern_group(group, members, now_ms, streams=_streams(group, now_ms))


def _streams(group: StreamsGroup, now_ms: int) -> StreamsView:
    configured = group.configured
    problems = None
    if configured is not None:
        problems = tuple(
            TopicProblem(status.code.name, status.detail, status.code is StatusCode.MISSING_INTERNAL_TOPICS)
            for status in configured.status
        )
    return StreamsView(
        topology=_topology(group),
        problems=problems,
        status=_status(group, now_ms),
        initial_delay_in_ms=remaining_ms(group.initial_delay, now_ms),
        shutdown_requested_by=group.shutdown_requested_by,
        standby_replicas=int(dict(group.configs).get(NUM_STANDBY_REPLICAS, 0)),
        is_stateful=configured is not None and bool(configured.stateful),
    )


def _topology(group: StreamsGroup) -> LabTopology | None:
    """Return the topology according to the group's log."""
    topology, configured = group.topology, group.configured
    if topology is None:
        return None
    tasks = configured.tasks if configured is not None and configured.ready else {}
    ordered = sorted(topology.subtopologies, key=lambda subtopology: subtopology.subtopology_id)
    return LabTopology(
        topology.epoch,
        topology.epoch == group.validated_topology_epoch,
        tuple(
            LabSubtopology(
                subtopology.subtopology_id,
                subtopology.source_topics,
                tuple(topic.name for topic in subtopology.repartition_source_topics),
                subtopology.repartition_sink_topics,
                tuple(topic.name for topic in subtopology.state_changelog_topics),
                tasks.get(subtopology.subtopology_id),
            )
            for subtopology in ordered
        ),
    )


def _status(group: StreamsGroup, now_ms: int) -> dict[str, str]:
    configured = group.configured
    status = [] if configured is None else list(configured.status)
    if group.members and group.is_delayed:
        status.append(DELAYED_AT_FIRST)
    elif group.members and next_target_in_ms(group, now_ms):
        status.append(DELAYED_BY_INTERVAL)
    return {entry.code.name: entry.detail for entry in (*status, *shutdown_status(group))}


def _member(group: StreamsGroup, member: StreamsMember, now_ms: int, is_alive: IsAlive) -> TaskMember:
    metadata, current = member.metadata, member.current
    target = group.target_of(member.member_id)
    return TaskMember(
        member_id=member.member_id,
        instance_id=metadata.instance_id,
        client_id=metadata.client_id,
        client_host=metadata.client_host.lstrip("/"),
        session_timeout_ms=group.session_timeout_of(member),
        rebalance_timeout_ms=metadata.rebalance_timeout_ms,
        is_alive=is_alive(group, member),
        waits_for="tasks" if current.state is StreamsMemberState.UNRELEASED_TASKS else "",
        partitions=_partitions_read(group, current.assigned.active),
        speaks=STREAMS,
        epoch=current.epoch,
        state=current.state.name.title().replace("_", ""),
        target=_partitions_read(group, target.active),
        revoking=_partitions_read(group, current.revoking.active),
        topics=tuple(sorted(group.sources)),
        session_ends_in_ms=remaining_ms(member.session, now_ms),
        revocation_ends_in_ms=remaining_ms(member.revocation, now_ms),
        process_id=metadata.process_id,
        topology_epoch=metadata.topology_epoch,
        tasks=_tasks(current.assigned),
        pending=_tasks(current.revoking),
        target_tasks=_tasks(target),
    )


def _tasks(tasks: OwnedTasks | TaskSets) -> MemberTasks:
    return MemberTasks(tuple(task_names(tasks.active)), tuple(task_names(tasks.standby)))


def _partitions_read(group: StreamsGroup, tasks: Mapping[str, Iterable[int]]) -> Partitions:
    """Return the partitions that tasks read, by topic; a topic can have fewer partitions than there are tasks."""
    subtopologies = () if group.topology is None else group.topology.subtopologies
    partitions_read = {}
    for subtopology in subtopologies:
        for name in _topics_read(subtopology) if subtopology.subtopology_id in tasks else ():
            topic = group.coordinator.topics.by_name(name)
            count = 0 if topic is None else topic.partitions
            partitions_read[name] = tuple(
                number for number in sorted(tasks[subtopology.subtopology_id]) if number < count
            )
    return {name: partitions for name, partitions in sorted(partitions_read.items()) if partitions}


def _topics_read(subtopology: Subtopology) -> tuple[str, ...]:
    return (*subtopology.source_topics, *(topic.name for topic in subtopology.repartition_source_topics))
