"""What is known of a topology once it was compared with the topics that there are."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kohort.coordinator.streams.streams_values import Status, Subtopology, TopicInfo


class InvalidTopology(Exception):
    """A topology that no group accepts, in Kafka's words: STREAMS_INVALID_TOPOLOGY."""


class BrokenTopology(Exception):
    """A topology that contradicts itself in a way that Kafka does not foresee: UNKNOWN_SERVER_ERROR, without words."""


class UnsuitableTopics(Exception):
    """The topics that there are do not fit: the group is not ready, and its members hear why."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.detail)
        self.status = status


@dataclass(frozen=True, slots=True)
class ConfiguredTopology:
    """A topology with the numbers that were decided. Nothing is decided while topics do not fit (status 1 and 2)."""

    subtopologies: tuple[Subtopology, ...] = ()
    """By id, with the partitions of their repartition and changelog topics."""
    tasks: Mapping[str, int] = field(default_factory=dict)
    """The number of tasks of each subtopology."""
    stateful: frozenset[str] = frozenset()
    """Subtopologies with a store, whose tasks may have standby copies."""
    ready: bool = True
    """Whether tasks may be handed out."""
    status: tuple[Status, ...] = ()
    """What keeps it from being ready."""
    missing_internal: tuple[TopicInfo, ...] = ()
    """Topics to be created, with as many partitions."""
