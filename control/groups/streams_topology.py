"""Topology of a streams group for tests, and the reasons for unassigned tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kohort.coordinator.streams.streams_replies import shutdown_status
from kohort.coordinator.streams.streams_targets import DELAYED_AT_FIRST, DELAYED_BY_INTERVAL

if TYPE_CHECKING:
    from kohort.coordinator.streams.streams_group import StreamsGroup


@dataclass(frozen=True)
class LabSubtopology:
    """A part of a topology that is connected with the other parts by repartition topics only."""

    id: str
    source_topics: tuple[str, ...]
    repartition_source_topics: tuple[str, ...]
    repartition_sink_topics: tuple[str, ...]
    state_changelog_topics: tuple[str, ...]
    tasks: int | None  # number of tasks; None while topics are missing, do not match, or have not been checked yet


@dataclass(frozen=True)
class LabTopology:
    """The processing topology of an application, as the group's first member described it."""

    epoch: int
    is_ready: bool  # whether all its topics exist and match
    subtopologies: tuple[LabSubtopology, ...]  # in the order of their ids

    @property
    def tasks(self) -> int:
        return sum(part.tasks or 0 for part in self.subtopologies)


def topology_of(group: StreamsGroup) -> LabTopology | None:
    """Return the topology, or None if no member has sent one, according to the group's log."""
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


def statuses_of(group: StreamsGroup, now_ms: int) -> dict[str, str]:
    """Return the status that members receive with their tasks: Kafka's name and sentence for each."""
    configured = group.configured
    status = [] if configured is None else list(configured.status)
    if group.members and group.is_delayed:
        status.append(DELAYED_AT_FIRST)
    elif group.members and interval_left_ms(group, now_ms) > 0:
        status.append(DELAYED_BY_INTERVAL)
    return {entry.code.name: entry.detail for entry in (*status, *shutdown_status(group))}


def interval_left_ms(group: StreamsGroup, now_ms: int) -> int:
    """Return the time that the next target must wait for the assignment interval, or 0."""
    if group.target_epoch >= group.epoch:
        return 0
    interval_ms = group.coordinator.streams_config(group.group_id).assignment_interval_ms
    return max(0, group.target_timestamp_ms + interval_ms - group.coordinator.wall_ms(now_ms))
