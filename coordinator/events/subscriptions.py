"""Subscriptions of members of classic groups, as far as events need them."""

from typing import TYPE_CHECKING

from kohort.coordinator.events.owners import still_owned
from kohort.protocol.consumer_protocol import ImpossibleLengthError, subscribed_topics
from kohort.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from kohort.coordinator.shared_values import Protocols


def find_change(old: "Protocols", new: "Protocols") -> str | None:
    """Return the changed part of a member's protocols, or None.

    Owned partitions and data of the assignor do not count.
    """
    if [name for name, _ in old] != [name for name, _ in new]:
        return "protocols"
    if any(
        topics_in(old_metadata) != topics_in(new_metadata)
        for (_, old_metadata), (_, new_metadata) in zip(old, new, strict=True)
        if old_metadata != new_metadata
    ):
        return "subscription"
    return None


def topics_in(metadata: bytes) -> frozenset[str] | bytes:
    """Return the topics of a subscription, or the subscription itself if it is unreadable."""
    try:
        topics = subscribed_topics(metadata)
    except ImpossibleLengthError:
        return metadata
    return metadata if topics is None else topics


def owned_by(protocols: "Protocols") -> frozenset[TopicPartition]:
    """Return the partitions that a member reports as its own."""
    return frozenset().union(*(still_owned(metadata) for _, metadata in protocols))
