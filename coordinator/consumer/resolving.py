"""Which topics the patterns of a group match, found beside its heartbeats (consumer-groups §12.3, §12.4)."""

from collections.abc import Callable, Generator
from typing import Any, NamedTuple

from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.consumer.patterns import matcher
from kohort.coordinator.consumer.request_changes import ChangeSet
from kohort.coordinator.consumer.values import Kind, ResolvedRegex
from kohort.coordinator.effects import Cause
from kohort.coordinator.modern.beside import SteppedWork
from kohort.coordinator.modern.group_epochs import bump, current_hash
from kohort.protocol.errors import ErrorCode

SeesTopic = Callable[[str], bool]
"""Whether a topic may be found by who asks for a resolution: Kafka leaves out what they may not describe."""


def sees_all(name: str) -> bool:
    """Where nobody is kept from any topic."""
    return True


NAMES_AT_ONCE = 48
"""At most this many names are compared with a pattern before others are served. A slow pattern takes a millisecond for
one of 249 characters."""

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
        host.purgatory.wait(_Resolution(now_ms, group, _resolving(group, sees_topic)))


class _Resolution(SteppedWork[ConsumerGroup]):
    """Comes after the heartbeat that asked for it is answered."""

    __slots__ = ()

    def done(self, result: Any, now_ms: int) -> None:
        """All patterns are through."""
        self.group.resolving = False
        _note(self.group, result, now_ms)


class _Matched(NamedTuple):
    """What patterns match, of the topics that there were at one moment."""

    version: int
    topics: dict[str, tuple[str, ...]]


def _resolving(group: ConsumerGroup, sees_topic: SeesTopic) -> Generator[None, None, _Matched]:
    """Matches all patterns that somebody has now. Those that this process has matched since a topic changed stay.

    Yields after NAMES_AT_ONCE names, and not at all where there are no more.
    """
    host = group.coordinator
    names, version = list(host.topics.names()), host.topics.version
    known = group.regexes if group.matched_version == version and sees_topic is sees_all else {}
    found: dict[str, tuple[str, ...]] = {}
    left = NAMES_AT_ONCE
    for regex in sorted(group.regex_counts):
        before = known.get(regex)
        if before is not None and before.version == version:
            found[regex] = before.topics
            continue
        matches = matcher(regex)
        matched: list[str] = []
        for name in names:
            if matches(name) and sees_topic(name):
                matched.append(name)
            left -= 1
            if not left:
                left = NAMES_AT_ONCE
                yield
        found[regex] = tuple(sorted(matched))
    group.matched_version = version if sees_topic is sees_all else -1
    return _Matched(version, found)


def _note(group: ConsumerGroup, matched: _Matched, now_ms: int) -> None:
    """Notes what each pattern matches. The group has another epoch if that, or a topic, has changed."""
    wall_ms = group.coordinator.wall_ms(now_ms)
    changes = ChangeSet(group)
    changed = False
    for regex, topics in matched.topics.items():
        if regex not in group.regex_counts:
            continue  # nobody has it any more
        before = group.regexes.get(regex)
        changed |= topics != (() if before is None else before.topics)
        changes.make(Kind.REGEX, regex, ResolvedRegex(topics, matched.version, wall_ms))
    if changed or current_hash(group) != group.metadata_hash:
        bump(group, changes)
        group.checked_version = matched.version
        changes.epoch_cause = "regex_changed" if changed else "topic_metadata_changed"
    changes.write(now_ms, Cause("regex_changed"), _ignored)


def _ignored(error: ErrorCode, now_ms: int) -> None:
    """A resolution that could not be written is taken back; the next heartbeat starts another."""
