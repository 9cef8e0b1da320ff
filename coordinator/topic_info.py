"""What coordinators see of a cluster's topics."""

from collections.abc import Iterable
from typing import NamedTuple, Protocol
from uuid import UUID


class TopicInfo(NamedTuple):
    """A topic as it is now."""

    topic_id: UUID
    name: str
    partitions: int
    racks: tuple[tuple[str, ...], ...] = ()
    """Racks of each partition's replicas, sorted; empty where no node has a rack."""


class TopicView(Protocol):
    """The topics of the cluster."""

    @property
    def version(self) -> int:
        """Grows whenever a topic is created, deleted, or gets more partitions."""
        ...

    def by_name(self, name: str) -> TopicInfo | None:
        """The topic of that name."""
        ...

    def by_id(self, topic_id: UUID) -> TopicInfo | None:
        """The topic of that id."""
        ...

    def names(self) -> Iterable[str]:
        """The names of all topics."""
        ...


class NoTopics:
    """A cluster without topics: what a coordinator sees until it is given any."""

    version = 0

    def by_name(self, name: str) -> TopicInfo | None:
        """None."""
        return None

    def by_id(self, topic_id: UUID) -> TopicInfo | None:
        """None."""
        return None

    def names(self) -> Iterable[str]:
        """Nothing."""
        return ()
