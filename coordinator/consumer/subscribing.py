"""Updates of a member's metadata, and the group epochs that result (consumer-groups §5.3, §12.2)."""

from typing import NamedTuple

from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.consumer.resolving import resolve_if_due
from kohort.coordinator.consumer.targets import is_homogeneous, preferred_assignor
from kohort.coordinator.consumer.values import Kind, MemberMetadata
from kohort.coordinator.modern.epoch_heartbeat import SeesTopic, sees_all
from kohort.coordinator.modern.group_changes import GroupChanges


class Subscribed(NamedTuple):
    """Changes that a heartbeat made."""

    changed: bool  # whether the member's subscription has changed
    homogeneous: bool  # whether the assignor treats all subscriptions as equal


def subscribe(
    group: ConsumerGroup,
    changes: GroupChanges,
    member_id: str,
    old_metadata: MemberMetadata,
    metadata: MemberMetadata,
    now_ms: int,
    sees_topic: SeesTopic = sees_all,
) -> Subscribed:
    """Store the new metadata of a member, which is added if it is new.

    The group gets a new epoch if the names have changed, if the pattern has changed and the matches of the new one are
    known, or if topics were created, deleted or expanded. A new pattern counts when it is resolved.

    Kafka compares subscriptions only if the epoch or the topics have changed. Otherwise the previous result is kept: a
    new member that subscribes to nothing receives partitions like the others (`subscriptionType`).
    """
    were_homogeneous = is_homogeneous(group)
    new_regex = bool(metadata.topic_regex) and metadata.topic_regex not in group.regex_counts
    is_new = member_id not in group.members
    rules = group.coordinator.settings.rules
    can_change_assignor = rules.bumps_epoch_for_assignors and (
        len(group.assignors) > 1 or metadata.assignor != old_metadata.assignor
    )
    old_assignor = preferred_assignor(group) if can_change_assignor else ""
    if metadata != old_metadata or is_new:
        changes.make(Kind.MEMBER, member_id, metadata)
    regex_changed = metadata.topic_regex != old_metadata.topic_regex
    names_changed = metadata.topic_names != old_metadata.topic_names
    resolve_if_due(group, now_ms, sees_topic, new_regex=new_regex)
    if regex_changed:
        _forget_unused(group, changes, old_metadata.topic_regex)
    bumped = names_changed or (regex_changed and (not metadata.topic_regex or metadata.topic_regex in group.regexes))
    if bumped:
        changes.bump()
        group.checked_version = group.coordinator.topics.version
        changes.epoch_cause = "" if is_new else "metadata_changed"
        is_checked = True
    else:
        is_checked = changes.notice_topics()
        # Kafka compares two maps, which order tied assignors differently (`hasPreferredServerAssignorChanged`).
        if (
            can_change_assignor
            and not changes.epoch_cause
            and preferred_assignor(group, metadata.assignor) != old_assignor
        ):
            changes.bump()
            changes.epoch_cause = "" if is_new else "metadata_changed"
            is_checked = True
    homogeneous = is_homogeneous(group) if is_checked else were_homogeneous
    return Subscribed(names_changed or regex_changed, homogeneous)


def _forget_unused(group: ConsumerGroup, changes: GroupChanges, regex: str) -> None:
    if regex and regex not in group.regex_counts and regex in group.regexes:
        changes.make(Kind.REGEX, regex, None)
