"""Which partitions have a state that a share coordinator keeps for a group; which get or lose one (share-groups §4).

The value of a record of type 15. It is never changed: each function returns another one. Only initialized partitions
are assigned to members.
"""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import NamedTuple
from uuid import UUID

TopicIdPartition = tuple[UUID, int]
"""A topic's id, and the index of one of its partitions."""


class InitializedTopic(NamedTuple):
    """Partitions of a topic that are ready."""

    name: str
    partitions: frozenset[int]


class InitializingTopic(NamedTuple):
    """Partitions of a topic that are being made ready, since a moment that the log does not keep."""

    name: str
    partitions: frozenset[int]
    since_ms: int


class StatePartitions(NamedTuple):
    """By topic id."""

    initializing: Mapping[UUID, InitializingTopic] = {}
    initialized: Mapping[UUID, InitializedTopic] = {}
    deleting: Mapping[UUID, str] = {}
    """Names of topics whose states are being deleted, or could not be."""

    def ready(self, topic_id: UUID) -> frozenset[int]:
        """The partitions of a topic that may be assigned."""
        topic = self.initialized.get(topic_id)
        return topic.partitions if topic is not None else frozenset()

    def covered(self, topic_id: UUID, begun_after_ms: int) -> frozenset[int]:
        """The partitions of a topic that are ready, or are being made ready since after that moment."""
        topic = self.initializing.get(topic_id)
        if topic is None or topic.since_ms <= begun_after_ms:
            return self.ready(topic_id)
        return self.ready(topic_id) | topic.partitions

    def begin(self, topics: Mapping[UUID, tuple[str, frozenset[int]]], now_ms: int) -> "StatePartitions":
        """Partitions of these topics, each with its name, are being made ready from now on, perhaps once more.

        A topic whose state was being deleted is not any more.
        """
        initializing = dict(self.initializing)
        for topic_id, (name, partitions) in topics.items():
            known = initializing.get(topic_id)
            others = known.partitions if known is not None else frozenset()
            initializing[topic_id] = InitializingTopic(name, others | partitions, now_ms)
        deleting = {topic_id: name for topic_id, name in self.deleting.items() if topic_id not in topics}
        return StatePartitions(initializing, self.initialized, deleting)

    def end(self, partitions: Mapping[UUID, AbstractSet[int]], *, are_ready: bool) -> "StatePartitions":
        """Return the states without these partitions of each topic among those that are being made ready.

        Those that were being made ready count as ready if `are_ready`.
        """
        initializing, initialized = dict(self.initializing), dict(self.initialized)
        for topic_id, numbers in partitions.items():
            topic = initializing.get(topic_id)
            if topic is None:
                continue  # it was deleted meanwhile
            left = topic.partitions - numbers
            if left:
                initializing[topic_id] = topic._replace(partitions=left)
            else:
                del initializing[topic_id]
            if are_ready:
                initialized[topic_id] = InitializedTopic(topic.name, self.ready(topic_id) | numbers)
        return StatePartitions(initializing, initialized, self.deleting)

    def known(self) -> dict[UUID, tuple[str, frozenset[int]]]:
        """All topics that are ready or being made ready: names and partitions."""
        found: dict[UUID, tuple[str, frozenset[int]]] = {}
        for topic_id, topic in self.initialized.items():
            found[topic_id] = topic.name, topic.partitions
        for topic_id, begun in self.initializing.items():
            found[topic_id] = begun.name, self.ready(topic_id) | begun.partitions
        return found

    def since(self, now_ms: int) -> "StatePartitions":
        """What is being made ready is so since this moment, for who has just loaded it."""
        begun = {topic_id: topic._replace(since_ms=now_ms) for topic_id, topic in self.initializing.items()}
        return self._replace(initializing=begun)

    def delete(self, topic_ids: Iterable[UUID]) -> "StatePartitions":
        """The states of topics that were ready are being deleted."""
        gone = {topic_id: self.initialized[topic_id].name for topic_id in topic_ids if topic_id in self.initialized}
        initialized = {topic_id: topic for topic_id, topic in self.initialized.items() if topic_id not in gone}
        return StatePartitions(self.initializing, initialized, {**self.deleting, **gone})

    def deleted(self, topic_ids: Iterable[UUID]) -> "StatePartitions":
        """The states of topics are gone."""
        gone = set(topic_ids)
        deleting = {topic_id: name for topic_id, name in self.deleting.items() if topic_id not in gone}
        return self._replace(deleting=deleting)

    def has_topic(self, topic_id: UUID) -> bool:
        """Return whether anything is known of a topic."""
        return topic_id in self.initialized or topic_id in self.initializing or topic_id in self.deleting

    def without(self, topic_id: UUID) -> "StatePartitions":
        """Return the states without a topic that was deleted; its states go with it."""
        return StatePartitions(
            {known: topic for known, topic in self.initializing.items() if known != topic_id},
            {known: topic for known, topic in self.initialized.items() if known != topic_id},
            {known: name for known, name in self.deleting.items() if known != topic_id},
        )


NO_STATES = StatePartitions()
