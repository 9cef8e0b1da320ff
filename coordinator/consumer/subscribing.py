"""What a member says of itself, and when that gives its group another epoch (consumer-groups §5.3, §12.2)."""

from typing import NamedTuple

from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.consumer.request_changes import ChangeSet
from kohort.coordinator.consumer.resolving import SeesTopic, resolve_if_due, sees_all
from kohort.coordinator.consumer.static_members import Found
from kohort.coordinator.consumer.targets import is_homogeneous
from kohort.coordinator.consumer.values import Kind, MemberMetadata
from kohort.coordinator.modern.group_epochs import bump, notice_topics


class Subscribed(NamedTuple):
    """What a heartbeat has changed."""

    changed: bool
    """Whether the member's subscription is another one."""
    homogeneous: bool
    """Whether an assignor is to take all subscriptions for the same."""


def subscribe(
    group: ConsumerGroup,
    changes: ChangeSet,
    found: Found,
    wanted: MemberMetadata,
    now_ms: int,
    sees_topic: SeesTopic = sees_all,
) -> Subscribed:
    """Takes over what a member says of itself.

    The group has another epoch if the names have changed, if the pattern is another one whose topics are known, or if
    topics have come, gone or grown. A pattern that nobody had before counts when it is resolved.

    Kafka compares subscriptions anew only where the epoch or the topics have changed. Otherwise what it knew before
    stands: a newcomer that subscribes to nothing is given partitions like the others (`subscriptionType`).
    """
    before = found.metadata
    were_homogeneous = is_homogeneous(group)
    new_regex = bool(wanted.topic_regex) and wanted.topic_regex not in group.regex_counts
    is_new = found.member_id not in group.members
    if wanted != before or is_new:
        changes.make(Kind.MEMBER, found.member_id, wanted)
    regex_changed = wanted.topic_regex != before.topic_regex
    names_changed = wanted.topic_names != before.topic_names
    resolve_if_due(group, now_ms, sees_topic, new_regex=new_regex)
    if regex_changed:
        _forget_unused(group, changes, before.topic_regex)
    bumped = names_changed or (regex_changed and (not wanted.topic_regex or wanted.topic_regex in group.regexes))
    if bumped:
        bump(group, changes)
        group.checked_version = group.coordinator.topics.version
        changes.epoch_cause = "" if is_new else "metadata_changed"
        looked_again = True
    else:
        looked_again = notice_topics(group, changes)
    homogeneous = is_homogeneous(group) if looked_again else were_homogeneous
    return Subscribed(names_changed or regex_changed, homogeneous)


def _forget_unused(group: ConsumerGroup, changes: ChangeSet, regex: str) -> None:
    if regex and regex not in group.regex_counts and regex in group.regexes:
        changes.make(Kind.REGEX, regex, None)
