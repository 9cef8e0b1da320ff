"""Topics as a coordinator and its clients see them, without a broker."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from kohort.coordinator.topic_info import TopicInfo


class Topics:
    """The topics of a virtual cluster: a `TopicView` for its coordinator, and what clients know."""

    def __init__(self, partitions: dict[str, int]) -> None:
        self.version = 0
        self._topics: dict[str, TopicInfo] = {}
        self._names: dict[UUID, str] = {}  # names of all topics that have ever existed
        for name, count in partitions.items():
            self.create(name, count)

    def create(self, name: str, partitions: int) -> None:
        """Create a topic, or change its number of partitions."""
        self.version += 1
        topic = self._topics.get(name)
        topic_id = UUID(int=self.version) if topic is None else topic.topic_id
        self._topics[name] = TopicInfo(topic_id, name, partitions)
        self._names[topic_id] = name

    def delete(self, name: str) -> None:
        self.version += 1
        del self._topics[name]

    def by_name(self, name: str) -> TopicInfo | None:
        return self._topics.get(name)

    def by_id(self, topic_id: UUID) -> TopicInfo | None:
        return next((topic for topic in self._topics.values() if topic.topic_id == topic_id), None)

    def names(self) -> Iterable[str]:
        return self._topics

    def name_of(self, topic_id: UUID) -> str:
        return self._names[topic_id]

    def topic_ids(self) -> dict[str, UUID]:
        return {name: topic.topic_id for name, topic in self._topics.items()}

    def partitions_of(self, name: str) -> int:
        return self._topics[name].partitions if name in self._topics else 0
