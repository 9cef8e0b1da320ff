"""What members of classic groups say of themselves when they join, as far as events tell it."""

from typing import TYPE_CHECKING

from kohort.coordinator.events.owners import still_owned
from kohort.protocol.consumer_protocol import ImpossibleLengthError, subscribed_topics
from kohort.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from kohort.coordinator.shared_values import Protocols


def what_changed(before: "Protocols", after: "Protocols") -> str | None:
    """Which part of what a member says of itself differs. What it owns now, or a note of its assignor, is no part."""
    if [name for name, _ in before] != [name for name, _ in after]:
        return "protocols"
    if any(topics_in(was) != topics_in(now) for (_, was), (_, now) in zip(before, after, strict=True) if was != now):
        return "subscription"
    return None


def topics_in(metadata: bytes) -> frozenset[str] | bytes:
    """The topics that a subscription names; itself, where that cannot be read."""
    try:
        topics = subscribed_topics(metadata)
    except ImpossibleLengthError:
        return metadata
    return metadata if topics is None else topics


def owned_by(protocols: "Protocols") -> frozenset[TopicPartition]:
    """The partitions that a member says it owns."""
    return frozenset().union(*(still_owned(metadata) for _, metadata in protocols))
