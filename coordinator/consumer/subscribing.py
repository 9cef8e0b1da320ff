"""Subscriptions of members: updates, matches of their patterns, and the group epochs that result.

Patterns are matched with the topics in the background. Source: consumer-groups §5.3, §12.2, §12.3, §12.4.
"""

from collections.abc import Generator
from typing import Any, NamedTuple

from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.consumer.patterns import matcher
from kohort.coordinator.consumer.targets import is_homogeneous
from kohort.coordinator.consumer.values import Kind, MemberMetadata, ResolvedRegex
from kohort.coordinator.effects import Cause
from kohort.coordinator.modern.background_work import SteppedWork
from kohort.coordinator.modern.epoch_heartbeat import SeesTopic, sees_all
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.protocol.errors import ErrorCode

# Names that are compared with a pattern in one slice. A slow pattern takes a millisecond for a name of 249 characters.
NAMES_AT_ONCE = 48

MIN_INTERVAL_MS = 10_000  # minimum time between two resolutions of a group's patterns


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
    old_assignor = group.assignor_name if can_change_assignor else ""
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
            and group.preferred_assignor(metadata.assignor) != old_assignor
        ):
            changes.bump()
            changes.epoch_cause = "" if is_new else "metadata_changed"
            is_checked = True
    homogeneous = is_homogeneous(group) if is_checked else were_homogeneous
    return Subscribed(names_changed or regex_changed, homogeneous)


def _forget_unused(group: ConsumerGroup, changes: GroupChanges, regex: str) -> None:
    if regex and regex not in group.regex_counts and regex in group.regexes:
        changes.make(Kind.REGEX, regex, None)


# Patterns


def resolve_if_due(group: ConsumerGroup, now_ms: int, sees_topic: SeesTopic = sees_all, *, new_regex: bool) -> None:
    """Start a resolution of all patterns of the group if one is due and none is running."""
    if not group.regex_counts or group.resolving:
        return
    host = group.coordinator
    wall_ms = host.wall_ms(now_ms)
    last_ms = max((regex.timestamp_ms for regex in group.regexes.values()), default=None)
    if last_ms is not None and wall_ms <= last_ms + MIN_INTERVAL_MS:
        return
    version = min((regex.version for regex in group.regexes.values()), default=-1)
    if (
        new_regex
        or last_ms is None
        or len(group.regex_counts) != len(group.regexes)
        or version < host.topics.version
        or wall_ms > last_ms + host.settings.group_consumer_regex_refresh_interval_ms
    ):
        group.resolving = True
        host.purgatory.wait(_Resolution(now_ms, group, _resolve(group, sees_topic)))


class _Resolution(SteppedWork[ConsumerGroup]):
    """Runs after the heartbeat that started it."""

    __slots__ = ()

    def on_result(self, result: Any, now_ms: int) -> None:
        self.group.resolving = False
        _note(self.group, result, now_ms)

    def on_dropped(self, now_ms: int) -> None:
        self.group.resolving = False  # the group is restored if the write that replaced it fails


class _Matched(NamedTuple):
    """Matches of patterns with the topics of one version."""

    version: int
    topics: dict[str, tuple[str, ...]]


def _resolve(group: ConsumerGroup, sees_topic: SeesTopic) -> Generator[None, None, _Matched]:
    """Match all patterns. Results of this process are reused while the topics have not changed.

    Yields after NAMES_AT_ONCE names.
    """
    host = group.coordinator
    names, version = list(host.topics.names()), host.topics.version
    cached = group.regexes if group.matched_version == version and sees_topic is sees_all else {}
    matches_by_regex: dict[str, tuple[str, ...]] = {}
    names_left = NAMES_AT_ONCE
    for regex in sorted(group.regex_counts):
        resolved = cached.get(regex)
        if resolved is not None and resolved.version == version:
            matches_by_regex[regex] = resolved.topics
            continue
        matches = matcher(regex)
        matched: list[str] = []
        for name in names:
            if matches(name) and sees_topic(name):
                matched.append(name)
            names_left -= 1
            if not names_left:
                names_left = NAMES_AT_ONCE
                yield
        matches_by_regex[regex] = tuple(sorted(matched))
    group.matched_version = version if sees_topic is sees_all else -1
    return _Matched(version, matches_by_regex)


def _note(group: ConsumerGroup, matched: _Matched, now_ms: int) -> None:
    wall_ms = group.coordinator.wall_ms(now_ms)
    changes = GroupChanges(group)
    changed = False
    for regex, topics in matched.topics.items():
        if regex not in group.regex_counts:
            continue  # no member uses it any more
        resolved = group.regexes.get(regex)
        changed |= topics != (() if resolved is None else resolved.topics)
        changes.make(Kind.REGEX, regex, ResolvedRegex(topics, matched.version, wall_ms))
    if changed or group.current_hash() != group.metadata_hash:
        changes.bump()
        group.checked_version = matched.version
        changes.epoch_cause = "regex_changed" if changed else "topic_metadata_changed"
    changes.write(now_ms, Cause("regex_changed"), _ignored)


def _ignored(error: ErrorCode, now_ms: int) -> None:
    """Ignore the result: if the write fails, the resolution is undone and the next heartbeat starts another."""
