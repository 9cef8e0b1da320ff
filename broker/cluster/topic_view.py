"""The cluster's topics, as coordinators see them."""

from collections.abc import Iterable
from uuid import UUID

from kohort.coordinator.topic_info import TopicInfo
from kohort.storage.topic import Topic
from kohort.storage.topics import Topics


class ClusterTopics:
    """Meets `TopicView`."""

    def __init__(self, topics: Topics, rack: str) -> None:
        """`rack`: of all nodes; empty: they have none."""
        self._topics = topics
        self._rack = rack

    @property
    def version(self) -> int:
        """Grows whenever a topic is created, deleted, or gets more partitions."""
        return self._topics.version

    def by_name(self, name: str) -> TopicInfo | None:
        """The topic of that name."""
        return self._info(self._topics.by_name(name))

    def by_id(self, topic_id: UUID) -> TopicInfo | None:
        """The topic of that id."""
        return self._info(self._topics.by_id(topic_id))

    def names(self) -> Iterable[str]:
        """The names of all topics."""
        return (topic.name for topic in self._topics)

    def _info(self, topic: Topic | None) -> TopicInfo | None:
        if topic is None:
            return None
        racks = tuple((self._rack,) * len(each.replicas) for each in topic.partitions) if self._rack else ()
        return TopicInfo(topic.topic_id, topic.name, len(topic.partitions), racks)
