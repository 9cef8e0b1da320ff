"""The cluster's topics, as coordinators see them."""

from collections.abc import Iterable
from uuid import UUID

from kohort.coordinator.topic_info import TopicInfo
from kohort.storage.topic import Topic
from kohort.storage.topics import Topics


class ClusterTopics:
    """Implements `TopicView`."""

    def __init__(self, topics: Topics, rack: str) -> None:
        """Create a view.

        Args:
            rack: Rack of all nodes; empty for none.
        """
        self._topics = topics
        self._rack = rack

    @property
    def version(self) -> int:
        """Increases when a topic is created or deleted, or gets more partitions."""
        return self._topics.version

    def by_name(self, name: str) -> TopicInfo | None:
        return self._info(self._topics.by_name(name))

    def by_id(self, topic_id: UUID) -> TopicInfo | None:
        return self._info(self._topics.by_id(topic_id))

    def names(self) -> Iterable[str]:
        return (topic.name for topic in self._topics)

    def _info(self, topic: Topic | None) -> TopicInfo | None:
        if topic is None:
            return None
        racks = tuple((self._rack,) * len(partition.replicas) for partition in topic.partitions) if self._rack else ()
        return TopicInfo(topic.topic_id, topic.name, len(topic.partitions), racks)
