"""Entry of a group in the response to StreamsGroupDescribe (streams-groups §13)."""

from collections.abc import Iterable

from kohort.coordinator.modern.modern_describing import entry_of
from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.coordinator.streams.streams_group_values import OwnedTasks
from kohort.coordinator.streams.streams_member import StreamsMember
from kohort.coordinator.streams.streams_replies import task_ids
from kohort.coordinator.streams.streams_values import Subtopology as KnownSubtopology
from kohort.coordinator.streams.streams_values import TaskSets
from kohort.coordinator.streams.streams_values import TopicInfo as KnownTopic
from kohort.coordinator.streams.topology_descriptions import DescriptionError
from kohort.protocol.messages.streams_group_describe import (
    Assignment,
    DescribedGroup,
    Member,
    Subtopology,
    Topology,
)
from kohort.protocol.messages.streams_group_heartbeat import Endpoint, KeyValue, TopicInfo

NOT_STORED, PLUGIN_FAILED, DESCRIBED = 1, 2, 3  # status of a topology description that was requested


def add_description(entry: DescribedGroup, group: StreamsGroup) -> None:
    """Add the description of the topology and its status to the entry of a group."""
    descriptions = group.coordinator.topology_descriptions
    entry.topology_description_status = NOT_STORED
    if descriptions is None:
        return
    try:
        entry.topology_description = descriptions.find(group)
    except DescriptionError:
        entry.topology_description_status = PLUGIN_FAILED
        return
    if entry.topology_description is not None:
        entry.topology_description_status = DESCRIBED


def described(group: StreamsGroup) -> DescribedGroup:
    entry: DescribedGroup = entry_of(group, DescribedGroup, _member, topology=_topology(group))
    return entry


def _topology(group: StreamsGroup) -> Topology | None:
    if group.topology is None:
        return None
    decided = group.described
    subtopologies = decided.subtopologies if decided is not None and decided.ready else group.topology.subtopologies
    ordered = sorted(subtopologies, key=lambda subtopology: subtopology.subtopology_id)
    return Topology(epoch=group.topology.epoch, subtopologies=tuple(map(_subtopology, ordered)))


def _subtopology(subtopology: KnownSubtopology) -> Subtopology:
    return Subtopology(
        subtopology_id=subtopology.subtopology_id,
        source_topics=tuple(sorted(subtopology.source_topics)),
        repartition_sink_topics=tuple(sorted(subtopology.repartition_sink_topics)),
        state_changelog_topics=_topics(subtopology.state_changelog_topics),
        repartition_source_topics=_topics(subtopology.repartition_source_topics),
    )


def _topics(topics: Iterable[KnownTopic]) -> tuple[TopicInfo, ...]:
    return tuple(map(_topic, sorted(topics, key=lambda topic: topic.name)))


def _topic(topic: KnownTopic) -> TopicInfo:
    return TopicInfo(
        name=topic.name,
        partitions=topic.partitions,
        replication_factor=topic.replication_factor,
        topic_configs=_pairs(topic.topic_configs),
    )


def _pairs(pairs: Iterable[tuple[str, str]]) -> tuple[KeyValue, ...]:
    return tuple(KeyValue(key=key, value=value) for key, value in pairs)


def _member(group: StreamsGroup, member: StreamsMember) -> Member:
    metadata = member.metadata
    endpoint = metadata.user_endpoint
    return Member(
        member_id=member.member_id,
        member_epoch=member.current.epoch,
        instance_id=metadata.instance_id,
        rack_id=metadata.rack_id,
        client_id=metadata.client_id,
        client_host=metadata.client_host,
        topology_epoch=metadata.topology_epoch,
        process_id=metadata.process_id,
        user_endpoint=None if endpoint is None else Endpoint(host=endpoint.host, port=endpoint.port),
        client_tags=_pairs(metadata.client_tags),
        task_offsets=member.task_offsets,
        task_end_offsets=member.task_end_offsets,
        assignment=_assignment(member.current.assigned),
        target_assignment=_assignment(group.target_of(member.member_id)),
    )


def _assignment(tasks: OwnedTasks | TaskSets) -> Assignment:
    return Assignment(
        active_tasks=task_ids(tasks.active),
        standby_tasks=task_ids(tasks.standby),
        warmup_tasks=task_ids(tasks.warmup),
    )
