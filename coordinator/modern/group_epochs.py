"""When a group has another epoch: for what its members want, and for what has become of their topics."""

from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.hashing import group_hash
from kohort.coordinator.modern.modern_group import ModernGroup
from kohort.coordinator.modern.modern_values import GroupEpoch


def bump(group: ModernGroup, changes: GroupChanges) -> None:
    """The next group epoch, with the hash of what is subscribed to now."""
    changes.make(group.epoch_kind, None, GroupEpoch(group.epoch + 1, current_hash(group)))


def current_hash(group: ModernGroup) -> int:
    """The hash of the topics that somebody subscribes to, as they are now."""
    topics = map(group.coordinator.topics.by_name, group.subscribed_names())
    return group_hash(topic for topic in topics if topic is not None)


def is_target_due(group: ModernGroup, interval_ms: int, wall_ms: int) -> bool:
    """Whether a target is due, and the last one is not too young (KIP-1263)."""
    return group.target_epoch < group.epoch and not is_target_young(group, interval_ms, wall_ms)


def is_target_young(group: ModernGroup, interval_ms: int, wall_ms: int) -> bool:
    """Whether less than an interval has passed since the last target was computed."""
    return bool(group.target_timestamp_ms and interval_ms) and wall_ms < group.target_timestamp_ms + interval_ms


def notice_topics(group: ModernGroup, changes: GroupChanges) -> bool:
    """Gives the group another epoch if topics that it subscribes to have changed.

    Returns whether they have been looked at. Kafka looks if a topic that somebody subscribes to has changed, and once
    after a load (`onMetadataUpdate`, `hasMetadataExpired`); other topics change nothing.
    """
    version = group.coordinator.topics.version
    if group.checked_version == version:
        return False
    is_known = group.checked_version is not None
    group.checked_version = version
    if current_hash(group) != group.metadata_hash:
        bump(group, changes)
        changes.epoch_cause = "topic_metadata_changed"
        return True
    return not is_known


def keep_in_mind_what_changed(group: ModernGroup) -> None:
    """Before a member is taken out, which makes the hash anew.

    Kafka looks at topics that have changed with the next heartbeat all the same.
    """
    version = group.coordinator.topics.version
    if group.checked_version not in (None, version):
        group.checked_version = version if current_hash(group) == group.metadata_hash else None
