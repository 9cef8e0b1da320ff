"""Views of members of streams groups (KIP-1071) for tests, with tasks instead of partitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kohort.control.groups.group_members import GroupMember, Partitions, remaining_ms
from kohort.coordinator.groups.group import STREAMS
from kohort.coordinator.streams.streams_states import StreamsMemberState

if TYPE_CHECKING:
    from kohort.coordinator.streams.streams_group import StreamsGroup
    from kohort.coordinator.streams.streams_group_values import OwnedTasks
    from kohort.coordinator.streams.streams_member import StreamsMember
    from kohort.coordinator.streams.streams_values import Subtopology, TaskSets


@dataclass(frozen=True)
class MemberTasks:
    """Tasks by role. Task ids are those of Kafka Streams: `0_3` is partition 3 of subtopology 0."""

    active: tuple[str, ...] = ()
    standby: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.active or self.standby)

    def __str__(self) -> str:
        roles = (("active", self.active), ("standby", self.standby))
        return "; ".join(f"{role} {' '.join(tasks)}" for role, tasks in roles if tasks) or "nothing"


@dataclass(frozen=True)
class TaskMember(GroupMember):
    """A member of a streams group at the moment of the call: a thread of an application."""

    process_id: str  # the process of the thread: members of one process share its state
    topology_epoch: int  # the epoch of the topology that it sent
    tasks: MemberTasks  # assigned tasks
    pending: MemberTasks  # tasks that it must revoke and has not revoked yet
    target_tasks: MemberTasks  # tasks of its target assignment


def task_member(group: StreamsGroup, member: StreamsMember, now_ms: int, is_alive: bool) -> TaskMember:
    metadata, current = member.metadata, member.current
    target = group.target_of(member.member_id)
    return TaskMember(
        member_id=member.member_id,
        instance_id=metadata.instance_id,
        client_id=metadata.client_id,
        client_host=metadata.client_host.lstrip("/"),
        session_timeout_ms=group.coordinator.streams_config(group.group_id).session_timeout_ms,
        rebalance_timeout_ms=metadata.rebalance_timeout_ms,
        is_leader=False,
        is_alive=is_alive,
        waits_for="tasks" if current.state is StreamsMemberState.UNRELEASED_TASKS else "",
        partitions=_read_by(group, current.assigned.active),
        speaks=STREAMS,
        epoch=current.epoch,
        state=current.state.name.title().replace("_", ""),
        target=_read_by(group, target.active),
        revoking=_read_by(group, current.revoking.active),
        topics=tuple(sorted(group.sources)),
        topic_regex="",
        assignor="",
        session_ends_in_ms=remaining_ms(member.session, now_ms),
        revocation_ends_in_ms=remaining_ms(member.revocation, now_ms),
        process_id=metadata.process_id,
        topology_epoch=metadata.topology_epoch,
        tasks=member_tasks(current.assigned),
        pending=member_tasks(current.revoking),
        target_tasks=member_tasks(target),
    )


def member_tasks(tasks: OwnedTasks | TaskSets) -> MemberTasks:
    return MemberTasks(tuple(_names(tasks.active)), tuple(_names(tasks.standby)))


def _names(tasks: Mapping[str, Iterable[int]]) -> Iterator[str]:
    for subtopology_id in sorted(tasks):
        for partition in sorted(tasks[subtopology_id]):
            yield f"{subtopology_id}_{partition}"


def _read_by(group: StreamsGroup, tasks: Mapping[str, Iterable[int]]) -> Partitions:
    """Return the partitions that tasks read, by topic; a topic can have fewer partitions than there are tasks."""
    subtopologies = () if group.topology is None else group.topology.subtopologies
    partitions_read = {}
    for subtopology in subtopologies:
        for name in topics_read(subtopology) if subtopology.subtopology_id in tasks else ():
            topic = group.coordinator.topics.by_name(name)
            count = 0 if topic is None else topic.partitions
            partitions_read[name] = tuple(
                number for number in sorted(tasks[subtopology.subtopology_id]) if number < count
            )
    return {name: partitions for name, partitions in sorted(partitions_read.items()) if partitions}


def topics_read(subtopology: Subtopology) -> tuple[str, ...]:
    return (*subtopology.source_topics, *(topic.name for topic in subtopology.repartition_source_topics))
