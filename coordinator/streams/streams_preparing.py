"""Preparation of a large topology before its heartbeat is handled, in steps, so that other requests are served."""

from collections.abc import Generator

from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.coordinator.streams.streams_group_records import encoding_topology
from kohort.coordinator.streams.streams_topologies import Prepared, comparing, working_out
from kohort.coordinator.streams.streams_values import Subtopology, Topology

LARGE = 100  # subtopologies and topics that a heartbeat processes on its own, which takes about three milliseconds


def preparing(
    coordinator: GroupCoordinator, group_id: str, member_topology: Topology | None
) -> Generator[None, None, Prepared]:
    """Compute what a heartbeat needs about the topology of its group, or about its own one."""
    prepared = yield from _configure_large(coordinator, group_id, member_topology)
    if member_topology is None or not _is_large(member_topology):
        return prepared
    group = coordinator.streams_group(group_id)
    if group is None or group.topology is None:
        return prepared._replace(encoded=(yield from encoding_topology(member_topology)))
    group_topology = group.topology
    is_equal = yield from comparing(member_topology, group_topology)
    return prepared._replace(equal_to=group_topology if is_equal else None)


def _configure_large(
    coordinator: GroupCoordinator, group_id: str, member_topology: Topology | None
) -> Generator[None, None, Prepared]:
    topology = large_topology(coordinator, group_id, member_topology)
    if topology is None:
        return Prepared(member_topology)
    version = coordinator.topics.version
    outcome = yield from working_out(coordinator.topics, topology)
    return Prepared(member_topology, topology, version, outcome)


def large_topology(coordinator: GroupCoordinator, group_id: str, member_topology: Topology | None) -> Topology | None:
    """Return the topology that a heartbeat will have to configure, if it is large."""
    group = coordinator.streams_group(group_id)
    topology = member_topology if group is None or group.topology is None else group.topology
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
