"""Values of a heartbeat request (streams-groups §2)."""

from collections.abc import Generator, Iterable

from kohort.coordinator.at_once import at_once
from kohort.coordinator.streams.streams_group_values import Pairs, UserEndpoint
from kohort.coordinator.streams.streams_values import (
    CopartitionGroup,
    Subtopology,
    Tasks,
    TaskSets,
    TopicInfo,
    Topology,
)
from kohort.protocol.messages import streams_group_heartbeat as wire


def topology_of(topology: wire.Topology) -> Topology:
    return at_once(reading_topology(topology))


def reading_topology(topology: wire.Topology) -> Generator[None, None, Topology]:
    """Convert a topology like `topology_of`. Yield after each subtopology."""
    subtopologies = []
    for subtopology in topology.subtopologies:
        subtopologies.append(_subtopology(subtopology))
        yield
    return Topology(topology.epoch, tuple(subtopologies))


def _subtopology(subtopology: wire.Subtopology) -> Subtopology:
    return Subtopology(
        subtopology.subtopology_id,
        subtopology.source_topics,
        subtopology.source_topic_regex,
        tuple(map(_topic, subtopology.state_changelog_topics)),
        subtopology.repartition_sink_topics,
        tuple(map(_topic, subtopology.repartition_source_topics)),
        tuple(map(_copartition_group, subtopology.copartition_groups)),
    )


def _topic(topic: wire.TopicInfo) -> TopicInfo:
    configs = tuple((config.key, config.value) for config in topic.topic_configs)
    return TopicInfo(topic.name, topic.partitions, topic.replication_factor, configs)


def _copartition_group(group: wire.CopartitionGroup) -> CopartitionGroup:
    return CopartitionGroup(group.source_topics, group.source_topic_regex, group.repartition_source_topics)


def reported_tasks(request: wire.StreamsGroupHeartbeatRequest) -> TaskSets | None:
    """Return the tasks that the member reports to own, or None if it does not report them."""
    if request.active_tasks is None or request.standby_tasks is None or request.warmup_tasks is None:
        return None
    return TaskSets(_tasks(request.active_tasks), _tasks(request.standby_tasks), _tasks(request.warmup_tasks))


def names_twice(request: wire.StreamsGroupHeartbeatRequest) -> bool:
    """Return whether a subtopology is named twice in the reported tasks, which makes Kafka fail (seen)."""
    tasks_by_role = (request.active_tasks or (), request.standby_tasks or (), request.warmup_tasks or ())
    return any(len({entry.subtopology_id for entry in tasks}) < len(tasks) for tasks in tasks_by_role)


def _tasks(entries: Iterable[wire.TaskIds]) -> Tasks:
    tasks: dict[str, frozenset[int]] = {}
    for entry in entries:
        tasks[entry.subtopology_id] = tasks.get(entry.subtopology_id, frozenset()).union(entry.partitions)
    return tasks


def endpoint_of(request: wire.StreamsGroupHeartbeatRequest) -> UserEndpoint | None:
    endpoint = request.user_endpoint
    return None if endpoint is None else UserEndpoint(endpoint.host, endpoint.port)


def tags_of(request: wire.StreamsGroupHeartbeatRequest) -> Pairs | None:
    """Return the member's tags, sorted, or None if the request omits them."""
    tags = request.client_tags
    return None if tags is None else tuple(sorted((tag.key, tag.value) for tag in tags))
