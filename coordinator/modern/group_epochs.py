"""Changes of the group epoch because of subscriptions or topics."""

from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.hashing import group_hash
from kohort.coordinator.modern.modern_group import ModernGroup
from kohort.coordinator.modern.modern_values import GroupEpoch, TargetEpoch


def bump(group: ModernGroup, changes: GroupChanges) -> None:
    changes.make(group.epoch_kind, None, GroupEpoch(group.epoch + 1, current_hash(group)))


def bump_after_removal(group: ModernGroup, changes: GroupChanges) -> None:
    """Bump the group epoch after members were removed, and the target epoch with it if none is left."""
    bump(group, changes)
    close_if_empty(group, changes)


def close_if_empty(group: ModernGroup, changes: GroupChanges) -> None:
    """Raise the target epoch of a group without members to its epoch, as of Kafka 4.4 (newer-release §3 rule 4)."""
    if not group.members and group.coordinator.settings.rules.raises_target_epoch_of_empty_groups:
        changes.make(group.target_epoch_kind, None, TargetEpoch(group.epoch))


def current_hash(group: ModernGroup) -> int:
    topics = map(group.coordinator.topics.by_name, group.subscribed_names())
    return group_hash(topic for topic in topics if topic is not None)


def is_target_due(group: ModernGroup, interval_ms: int, wall_ms: int) -> bool:
    """Return whether a target is due and the last one is old enough (KIP-1263)."""
    return group.target_epoch < group.epoch and not is_target_young(group, interval_ms, wall_ms)


def is_target_young(group: ModernGroup, interval_ms: int, wall_ms: int) -> bool:
    return bool(group.target_timestamp_ms and interval_ms) and wall_ms < group.target_timestamp_ms + interval_ms


def notice_topics(group: ModernGroup, changes: GroupChanges) -> bool:
    """Bump the group epoch if subscribed topics have changed. Return whether the topics were checked.

    Kafka checks them when a subscribed topic has changed, and once after a load (`onMetadataUpdate`,
    `hasMetadataExpired`). Other topics change nothing.
    """
    version = group.coordinator.topics.version
    if group.checked_version == version:
        return False
    was_checked = group.checked_version is not None
    group.checked_version = version
    if current_hash(group) != group.metadata_hash:
        bump(group, changes)
        changes.epoch_cause = "topic_metadata_changed"
        return True
    return not was_checked


def remember_topic_changes(group: ModernGroup) -> None:
    """Prepare the removal of a member, which computes a new hash.

    Kafka nevertheless checks the changed topics at the next heartbeat.
    """
    version = group.coordinator.topics.version
    if group.checked_version not in (None, version):
        group.checked_version = version if current_hash(group) == group.metadata_hash else None
