"""A large topology is worked out ahead of the heartbeat that needs it, in steps: nobody waits for it in one piece."""

from collections.abc import Generator

from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.coordinator.streams.streams_group_records import encoding_topology
from kohort.coordinator.streams.streams_topologies import Prepared, comparing, working_out
from kohort.coordinator.streams.streams_values import Subtopology, Topology

LARGE = 100
"""How many subtopologies and topics a heartbeat works out itself: they take about three milliseconds."""


def preparing(
    coordinator: GroupCoordinator, group_id: str, brought: Topology | None
) -> Generator[None, None, Prepared]:
    """Finds out what a heartbeat needs to know of its group's topology, or of the one that it brings."""
    prepared = yield from _worked_out(coordinator, group_id, brought)
    if brought is None or not _is_large(brought):
        return prepared
    group = coordinator.streams_group(group_id)
    if group is None or group.topology is None:
        return prepared._replace(encoded=(yield from encoding_topology(brought)))
    known = group.topology
    is_equal = yield from comparing(brought, known)
    return prepared._replace(equal_to=known if is_equal else None)


def _worked_out(
    coordinator: GroupCoordinator, group_id: str, brought: Topology | None
) -> Generator[None, None, Prepared]:
    topology = large_topology(coordinator, group_id, brought)
    if topology is None:
        return Prepared(brought)
    version = coordinator.topics.version
    outcome = yield from working_out(coordinator.topics, topology)
    return Prepared(brought, topology, version, outcome)


def large_topology(coordinator: GroupCoordinator, group_id: str, brought: Topology | None) -> Topology | None:
    """The topology that a heartbeat is about to work out, if it is a large one."""
    group = coordinator.streams_group(group_id)
    topology = brought if group is None or group.topology is None else group.topology
    if topology is None or (group is not None and _is_up_to_date(group)):
        return None
    return topology if _is_large(topology) else None


def _is_large(topology: Topology) -> bool:
    return sum(map(_size_of, topology.subtopologies)) > LARGE


def _is_up_to_date(group: StreamsGroup) -> bool:
    return group.configured is not None and group.checked_version == group.coordinator.topics.version


def _size_of(subtopology: Subtopology) -> int:
    topics = len(subtopology.source_topics) + len(subtopology.repartition_sink_topics)
    own_topics = len(subtopology.repartition_source_topics) + len(subtopology.state_changelog_topics)
    return 1 + topics + own_topics
