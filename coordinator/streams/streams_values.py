"""Topologies, tasks and statuses of streams groups, as immutable values (streams-groups §2, §4)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

Tasks = Mapping[str, frozenset[int]]  # Partitions by subtopology id; each is a task. No subtopology has an empty set.

NO_TASKS: dict[str, frozenset[int]] = {}


@dataclass(frozen=True, slots=True)
class TaskSets:
    """Tasks of a member, by role."""

    active: Tasks = field(default_factory=dict)
    standby: Tasks = field(default_factory=dict)
    warmup: Tasks = field(default_factory=dict)


NO_TASK_SETS = TaskSets()


class TopicInfo(NamedTuple):
    """Internal topic of Kafka Streams, as described by a topology."""

    name: str
    partitions: int = 0  # 0: the coordinator decides
    replication_factor: int = 0  # 0: the broker's default
    topic_configs: tuple[tuple[str, str], ...] = ()


class CopartitionGroup(NamedTuple):
    """Sources of a subtopology that must have the same number of partitions, by index."""

    source_topics: tuple[int, ...] = ()
    source_topic_regex: tuple[int, ...] = ()
    repartition_source_topics: tuple[int, ...] = ()


class Subtopology(NamedTuple):
    """Part of a topology that is connected with the others by repartition topics only."""

    subtopology_id: str
    source_topics: tuple[str, ...] = ()
    source_topic_regex: tuple[str, ...] = ()
    state_changelog_topics: tuple[TopicInfo, ...] = ()
    repartition_sink_topics: tuple[str, ...] = ()
    repartition_source_topics: tuple[TopicInfo, ...] = ()
    copartition_groups: tuple[CopartitionGroup, ...] = ()


class Topology(NamedTuple):
    """Topology of an application, as described by its members."""

    epoch: int = 0
    subtopologies: tuple[Subtopology, ...] = ()


class StatusCode(IntEnum):
    """Status of a member in a heartbeat response."""

    STALE_TOPOLOGY = 0
    MISSING_SOURCE_TOPICS = 1
    INCORRECTLY_PARTITIONED_TOPICS = 2
    MISSING_INTERNAL_TOPICS = 3
    SHUTDOWN_APPLICATION = 4
    ASSIGNMENT_DELAYED = 5
    MISSING_CLIENT_TAGS = 6  # since Kafka 4.4


@dataclass(frozen=True, slots=True)
class Status:
    """Status code with Kafka's message."""

    code: StatusCode
    detail: str
