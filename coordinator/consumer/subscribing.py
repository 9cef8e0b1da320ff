"""What a member says of itself, and when that gives its group another epoch (consumer-groups §5.3, §12.2)."""

from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.consumer.consumer_leaving import bump, current_hash
from kohort.coordinator.consumer.request_changes import Changes
from kohort.coordinator.consumer.resolving import resolve_if_due
from kohort.coordinator.consumer.static_members import Found
from kohort.coordinator.consumer.values import Kind, MemberMetadata


def subscribe(group: ConsumerGroup, changes: Changes, found: Found, wanted: MemberMetadata, now_ms: int) -> bool:
    """Takes over what a member says of itself. Returns whether its subscription changed.

    The group has another epoch if the names have changed, if the pattern is another one whose topics are known, or if
    topics have come, gone or grown. A pattern that nobody had before counts when it is resolved.
    """
    before = found.metadata
    new_regex = bool(wanted.topic_regex) and wanted.topic_regex not in group.regex_counts
    is_new = found.member_id not in group.members
    if wanted != before or is_new:
        changes.make(Kind.MEMBER, found.member_id, wanted)
    regex_changed = wanted.topic_regex != before.topic_regex
    names_changed = wanted.topic_names != before.topic_names
    if regex_changed:
        _forget_unused(group, changes, before.topic_regex)
    resolve_if_due(group, now_ms, new_regex=new_regex)
    if names_changed or (regex_changed and (not wanted.topic_regex or wanted.topic_regex in group.regexes)):
        bump(group, changes)
        changes.epoch_cause = "" if is_new else "metadata_changed"
    else:
        notice_topics(group, changes)
    return names_changed or regex_changed


def notice_topics(group: ConsumerGroup, changes: Changes) -> None:
    """Gives the group another epoch if topics that it subscribes to have changed since somebody looked."""
    version = group.coordinator.topics.version
    if group.checked_version == version:
        return
    if current_hash(group) != group.metadata_hash:
        bump(group, changes)
        changes.epoch_cause = "topic_metadata_changed"
    group.checked_version = version


def _forget_unused(group: ConsumerGroup, changes: Changes, regex: str) -> None:
    if regex and regex not in group.regex_counts and regex in group.regexes:
        changes.make(Kind.REGEX, regex, None)
