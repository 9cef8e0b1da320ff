"""What a heartbeat says, as values (streams-groups §2)."""

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


def topology_of(said: wire.Topology) -> Topology:
    """The topology that who joins brings."""
    return at_once(reading_topology(said))


def reading_topology(said: wire.Topology) -> Generator[None, None, Topology]:
    """As `topology_of`; yields after each subtopology."""
    subtopologies = []
    for each in said.subtopologies:
        subtopologies.append(_subtopology(each))
        yield
    return Topology(said.epoch, tuple(subtopologies))


def _subtopology(said: wire.Subtopology) -> Subtopology:
    return Subtopology(
        said.subtopology_id,
        said.source_topics,
        said.source_topic_regex,
        tuple(map(_topic, said.state_changelog_topics)),
        said.repartition_sink_topics,
        tuple(map(_topic, said.repartition_source_topics)),
        tuple(map(_copartition_group, said.copartition_groups)),
    )


def _topic(said: wire.TopicInfo) -> TopicInfo:
    configs = tuple((each.key, each.value) for each in said.topic_configs)
    return TopicInfo(said.name, said.partitions, said.replication_factor, configs)


def _copartition_group(said: wire.CopartitionGroup) -> CopartitionGroup:
    return CopartitionGroup(said.source_topics, said.source_topic_regex, said.repartition_source_topics)


def reported_tasks(request: wire.StreamsGroupHeartbeatRequest) -> TaskSets | None:
    """The tasks that the member says it has; None where it does not say."""
    if request.active_tasks is None or request.standby_tasks is None or request.warmup_tasks is None:
        return None
    return TaskSets(_tasks(request.active_tasks), _tasks(request.standby_tasks), _tasks(request.warmup_tasks))


def names_twice(request: wire.StreamsGroupHeartbeatRequest) -> bool:
    """Whether tasks that the member has are said in two parts, over which Kafka fails where it looks at them (seen)."""
    said = (request.active_tasks or (), request.standby_tasks or (), request.warmup_tasks or ())
    return any(len({each.subtopology_id for each in tasks}) < len(tasks) for tasks in said)


def _tasks(said: Iterable[wire.TaskIds]) -> Tasks:
    found: dict[str, frozenset[int]] = {}
    for each in said:
        found[each.subtopology_id] = found.get(each.subtopology_id, frozenset()).union(each.partitions)
    return found


def endpoint_of(request: wire.StreamsGroupHeartbeatRequest) -> UserEndpoint | None:
    """Where the member can be asked, if it says so."""
    said = request.user_endpoint
    return None if said is None else UserEndpoint(said.host, said.port)


def tags_of(request: wire.StreamsGroupHeartbeatRequest) -> Pairs | None:
    """The member's tags, sorted, as many as it names; None where it does not say."""
    said = request.client_tags
    return None if said is None else tuple(sorted((each.key, each.value) for each in said))
