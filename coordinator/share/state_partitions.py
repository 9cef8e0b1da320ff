"""Partitions for which share coordinators keep a state of a group, as in a record of type 15 (share-groups §4).

Values are immutable: each function returns a new one. Only initialized partitions are assigned to members.
"""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import NamedTuple
from uuid import UUID

TopicIdPartition = tuple[UUID, int]  # topic id and partition number


class InitializedTopic(NamedTuple):
    """Initialized partitions of a topic."""

    name: str
    partitions: frozenset[int]


class InitializingTopic(NamedTuple):
    """Partitions of a topic that are being initialized. The log does not contain `since_ms`."""

    name: str
    partitions: frozenset[int]
    since_ms: int


class StatePartitions(NamedTuple):
    """Topics with states, by topic id."""

    initializing: Mapping[UUID, InitializingTopic] = {}
    initialized: Mapping[UUID, InitializedTopic] = {}
    deleting: Mapping[UUID, str] = {}  # names of topics whose states are being deleted, or whose deletion failed

    def ready(self, topic_id: UUID) -> frozenset[int]:
        topic = self.initialized.get(topic_id)
        return topic.partitions if topic is not None else frozenset()

    def covered(self, topic_id: UUID, begun_after_ms: int) -> frozenset[int]:
        """Return the partitions of a topic that are initialized, or initializing since after `begun_after_ms`."""
        topic = self.initializing.get(topic_id)
        if topic is None or topic.since_ms <= begun_after_ms:
            return self.ready(topic_id)
        return self.ready(topic_id) | topic.partitions

    def begin(self, topics: Mapping[UUID, tuple[str, frozenset[int]]], now_ms: int) -> "StatePartitions":
        """Mark partitions as initializing from now on, even if they were before.

        A topic in deletion is not in deletion any more.
        """
        initializing = dict(self.initializing)
        for topic_id, (name, partitions) in topics.items():
            topic = initializing.get(topic_id)
            previous_partitions = topic.partitions if topic is not None else frozenset()
            initializing[topic_id] = InitializingTopic(name, previous_partitions | partitions, now_ms)
        deleting = {topic_id: name for topic_id, name in self.deleting.items() if topic_id not in topics}
        return StatePartitions(initializing, self.initialized, deleting)

    def end(self, partitions: Mapping[UUID, AbstractSet[int]], *, are_ready: bool) -> "StatePartitions":
        """Remove partitions from the initializing ones, and add them to the initialized ones if `are_ready`."""
        initializing, initialized = dict(self.initializing), dict(self.initialized)
        for topic_id, numbers in partitions.items():
            topic = initializing.get(topic_id)
            if topic is None:
                continue  # deleted in the meantime
            remaining = topic.partitions - numbers
            if remaining:
                initializing[topic_id] = topic._replace(partitions=remaining)
            else:
                del initializing[topic_id]
            if are_ready:
                initialized[topic_id] = InitializedTopic(topic.name, self.ready(topic_id) | numbers)
        return StatePartitions(initializing, initialized, self.deleting)

    def all_topics(self) -> dict[UUID, tuple[str, frozenset[int]]]:
        topics: dict[UUID, tuple[str, frozenset[int]]] = {}
        for topic_id, topic in self.initialized.items():
            topics[topic_id] = topic.name, topic.partitions
        for topic_id, begun in self.initializing.items():
            topics[topic_id] = begun.name, self.ready(topic_id) | begun.partitions
        return topics

    def since(self, now_ms: int) -> "StatePartitions":
        """Set the start of all initializations, which the log does not contain."""
        begun = {topic_id: topic._replace(since_ms=now_ms) for topic_id, topic in self.initializing.items()}
        return self._replace(initializing=begun)

    def delete(self, topic_ids: Iterable[UUID]) -> "StatePartitions":
        """Move initialized topics to those in deletion."""
        deleting = {topic_id: self.initialized[topic_id].name for topic_id in topic_ids if topic_id in self.initialized}
        initialized = {topic_id: topic for topic_id, topic in self.initialized.items() if topic_id not in deleting}
        return StatePartitions(self.initializing, initialized, {**self.deleting, **deleting})

    def deleted(self, topic_ids: Iterable[UUID]) -> "StatePartitions":
        deleted_ids = set(topic_ids)
        deleting = {topic_id: name for topic_id, name in self.deleting.items() if topic_id not in deleted_ids}
        return self._replace(deleting=deleting)

    def has_topic(self, topic_id: UUID) -> bool:
        return topic_id in self.initialized or topic_id in self.initializing or topic_id in self.deleting

    def without(self, topic_id: UUID) -> "StatePartitions":
        """Remove a topic that was deleted; the share coordinators drop its states on their own."""
        return StatePartitions(
            {other_id: topic for other_id, topic in self.initializing.items() if other_id != topic_id},
            {other_id: topic for other_id, topic in self.initialized.items() if other_id != topic_id},
            {other_id: name for other_id, name in self.deleting.items() if other_id != topic_id},
        )


NO_STATES = StatePartitions()
