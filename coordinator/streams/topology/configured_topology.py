"""Result of configuring a topology with the existing topics."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kohort.coordinator.streams.streams_values import Status, Subtopology, TopicInfo


class InvalidTopology(Exception):
    """Topology that every group rejects, with Kafka's message: STREAMS_INVALID_TOPOLOGY."""


class BrokenTopology(Exception):
    """Contradictory topology that Kafka does not expect: UNKNOWN_SERVER_ERROR without a message."""


class UnsuitableTopics(Exception):
    """Existing topics do not fit: the group is not ready, and its members receive a status."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.detail)
        self.status = status


@dataclass(frozen=True, slots=True)
class ConfiguredTopology:
    """Topology with partition counts. It is empty if topics are missing or do not fit (status 1 and 2)."""

    # sorted by id, with partition counts of repartition and changelog topics
    subtopologies: tuple[Subtopology, ...] = ()
    tasks: Mapping[str, int] = field(default_factory=dict)  # number of tasks of each subtopology
    stateful: frozenset[str] = frozenset()  # subtopologies with a state store, whose tasks may have standby copies
    ready: bool = True  # whether tasks may be assigned
    status: tuple[Status, ...] = ()  # why it is not ready
    missing_internal: tuple[TopicInfo, ...] = ()  # topics to create, with their partition counts
