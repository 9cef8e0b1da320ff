"""The coordinators' view of a cluster's topics."""

from collections.abc import Iterable
from typing import NamedTuple, Protocol
from uuid import UUID


class TopicInfo(NamedTuple):
    """Current state of a topic."""

    topic_id: UUID
    name: str
    partitions: int
    racks: tuple[tuple[str, ...], ...] = ()  # sorted racks of each partition's replicas, empty if no node has a rack


class TopicView(Protocol):
    """The topics of the cluster."""

    @property
    def version(self) -> int:
        """Number that increases whenever a topic is created, deleted, or gets more partitions."""
        ...

    def by_name(self, name: str) -> TopicInfo | None: ...

    def by_id(self, topic_id: UUID) -> TopicInfo | None: ...

    def names(self) -> Iterable[str]: ...


class NoTopics:
    """A cluster without topics, the default of a coordinator."""

    version = 0

    def by_name(self, name: str) -> TopicInfo | None:
        return None

    def by_id(self, topic_id: UUID) -> TopicInfo | None:
        return None

    def names(self) -> Iterable[str]:
        return ()
