"""The topology of a streams group as a test sees it, and what keeps its tasks from being handed out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kohort.coordinator.streams.streams_replies import shutdown_status
from kohort.coordinator.streams.streams_targets import DELAYED_AT_FIRST, DELAYED_BY_INTERVAL

if TYPE_CHECKING:
    from kohort.coordinator.streams.streams_group import StreamsGroup


@dataclass(frozen=True)
class LabSubtopology:
    """A part of a topology that is connected with the others by repartition topics only."""

    id: str
    source_topics: tuple[str, ...]
    repartition_source_topics: tuple[str, ...]
    repartition_sink_topics: tuple[str, ...]
    state_changelog_topics: tuple[str, ...]
    tasks: int | None
    """How many there are; None: not known, as topics are missing or do not fit, or nobody has looked yet."""


@dataclass(frozen=True)
class LabTopology:
    """What an application does, as the group's first member described it."""

    epoch: int
    is_ready: bool
    """Whether all its topics are there and fit."""
    subtopologies: tuple[LabSubtopology, ...]
    """By id."""

    @property
    def tasks(self) -> int:
        """How many tasks there are, as far as that is known."""
        return sum(each.tasks or 0 for each in self.subtopologies)


def topology_of(group: StreamsGroup) -> LabTopology | None:
    """None: nobody has brought one, as far as the group's log tells."""
    topology, configured = group.topology, group.configured
    if topology is None:
        return None
    tasks = configured.tasks if configured is not None and configured.ready else {}
    ordered = sorted(topology.subtopologies, key=lambda each: each.subtopology_id)
    return LabTopology(
        topology.epoch,
        topology.epoch == group.validated_topology_epoch,
        tuple(
            LabSubtopology(
                each.subtopology_id,
                each.source_topics,
                tuple(topic.name for topic in each.repartition_source_topics),
                each.repartition_sink_topics,
                tuple(topic.name for topic in each.state_changelog_topics),
                tasks.get(each.subtopology_id),
            )
            for each in ordered
        ),
    )


def statuses_of(group: StreamsGroup, now_ms: int) -> dict[str, str]:
    """What members are told beside their tasks, by Kafka's name, with Kafka's sentence; as it is for all of them."""
    configured = group.configured
    found = [] if configured is None else list(configured.status)
    if group.members and group.is_delayed:
        found.append(DELAYED_AT_FIRST)
    elif group.members and interval_left_ms(group, now_ms) > 0:
        found.append(DELAYED_BY_INTERVAL)
    return {each.code.name: each.detail for each in (*found, *shutdown_status(group))}


def interval_left_ms(group: StreamsGroup, now_ms: int) -> int:
    """How long the next target has to wait for the assignment interval; 0: it is not due, or need not wait."""
    if group.target_epoch >= group.epoch:
        return 0
    interval_ms = group.coordinator.streams_config(group.group_id).assignment_interval_ms
    return max(0, group.target_timestamp_ms + interval_ms - group.coordinator.wall_ms(now_ms))
