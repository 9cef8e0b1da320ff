"""Topologies, tasks and statuses of streams groups, as values (streams-groups §2, §4). They are never changed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

Tasks = Mapping[str, frozenset[int]]
"""Partitions by subtopology id; a task is one of them. No subtopology has none."""

NO_TASKS: dict[str, frozenset[int]] = {}


@dataclass(frozen=True, slots=True)
class TaskSets:
    """The tasks of a member, by role."""

    active: Tasks = field(default_factory=dict)
    standby: Tasks = field(default_factory=dict)
    warmup: Tasks = field(default_factory=dict)


NO_TASK_SETS = TaskSets()


@dataclass(frozen=True, slots=True)
class TopicInfo:
    """A topic that Kafka Streams makes for itself, as a topology describes it."""

    name: str
    partitions: int = 0
    """0: the coordinator decides."""
    replication_factor: int = 0
    """0: the broker's default."""
    topic_configs: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class CopartitionGroup:
    """Sources of a subtopology that must have as many partitions as each other, by their indices."""

    source_topics: tuple[int, ...] = ()
    source_topic_regex: tuple[int, ...] = ()
    repartition_source_topics: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Subtopology:
    """A part of a topology that is connected with the others by repartition topics only."""

    subtopology_id: str
    source_topics: tuple[str, ...] = ()
    source_topic_regex: tuple[str, ...] = ()
    state_changelog_topics: tuple[TopicInfo, ...] = ()
    repartition_sink_topics: tuple[str, ...] = ()
    repartition_source_topics: tuple[TopicInfo, ...] = ()
    copartition_groups: tuple[CopartitionGroup, ...] = ()


@dataclass(frozen=True, slots=True)
class Topology:
    """What an application does, as its members describe it."""

    epoch: int = 0
    subtopologies: tuple[Subtopology, ...] = ()


class StatusCode(IntEnum):
    """What a member is told beside its tasks."""

    STALE_TOPOLOGY = 0
    MISSING_SOURCE_TOPICS = 1
    INCORRECTLY_PARTITIONED_TOPICS = 2
    MISSING_INTERNAL_TOPICS = 3
    SHUTDOWN_APPLICATION = 4
    ASSIGNMENT_DELAYED = 5


@dataclass(frozen=True, slots=True)
class Status:
    """A code, and Kafka's sentence about it."""

    code: StatusCode
    detail: str
