"""Which topics the patterns of a group match, found beside its heartbeats (consumer-groups §12.3, §12.4)."""

from collections.abc import Callable

from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.consumer.consumer_leaving import bump, current_hash
from kohort.coordinator.consumer.patterns import matching
from kohort.coordinator.consumer.request_changes import Changes
from kohort.coordinator.consumer.values import Kind, ResolvedRegex
from kohort.coordinator.effects import Cause
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import DelayedOperation

SeesTopic = Callable[[str], bool]
"""Whether a topic may be found by who asks for a resolution: Kafka leaves out what they may not describe."""


def sees_all(name: str) -> bool:
    """Where nobody is kept from any topic."""
    return True


AT_MOST_EVERY_MS = 10_000
"""How long a group's patterns are left alone after they were resolved."""


def resolve_if_due(group: ConsumerGroup, now_ms: int, sees_topic: SeesTopic = sees_all, *, new_regex: bool) -> None:
    """Starts a resolution of all patterns of the group, if one is due and none is under way."""
    if not group.regex_counts or group.resolving:
        return
    host = group.coordinator
    wall_ms = host.wall_ms(now_ms)
    last_ms = max((regex.timestamp_ms for regex in group.regexes.values()), default=None)
    if last_ms is not None and wall_ms <= last_ms + AT_MOST_EVERY_MS:
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
        host.purgatory.wait(_Resolution(now_ms, group, sees_topic))


class _Resolution(DelayedOperation):
    """Comes at once, but after the heartbeat that asked for it is answered."""

    __slots__ = ("_group", "_sees_topic")

    def __init__(self, now_ms: int, group: ConsumerGroup, sees_topic: SeesTopic) -> None:
        super().__init__(now_ms)
        self._group = group
        self._sees_topic = sees_topic

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        """All patterns that somebody has."""
        group = self._group
        group.resolving = False
        if group.coordinator.consumer_groups.get(group.group_id) is group:
            resolve(group, now_ms, self._sees_topic)


def resolve(group: ConsumerGroup, now_ms: int, sees_topic: SeesTopic = sees_all) -> None:
    """Notes what each pattern matches now. The group has another epoch if that, or a topic, has changed."""
    host = group.coordinator
    names, version, wall_ms = list(host.topics.names()), host.topics.version, host.wall_ms(now_ms)
    changes = Changes(group)
    changed = False
    for regex in sorted(group.regex_counts):
        before = group.regexes.get(regex)
        topics = tuple(filter(sees_topic, matching(regex, names)))
        changed |= topics != (() if before is None else before.topics)
        changes.make(Kind.REGEX, regex, ResolvedRegex(topics, version, wall_ms))
    if changed or current_hash(group) != group.metadata_hash:
        bump(group, changes)
        group.checked_version = version
        changes.epoch_cause = "regex_changed" if changed else "topic_metadata_changed"
    changes.write(now_ms, Cause("regex_changed"), _ignored)


def _ignored(error: ErrorCode, now_ms: int) -> None:
    """A resolution that could not be written is taken back; the next heartbeat starts another."""
