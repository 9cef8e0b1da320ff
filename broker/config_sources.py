"""Where the value of a topic's setting comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.storage.topic_configs import TOPIC_CONFIGS

if TYPE_CHECKING:
    from kohort.broker.settings import Settings
    from kohort.storage.topics import Topic

DYNAMIC_TOPIC_CONFIG, STATIC_BROKER_CONFIG, DEFAULT_CONFIG = 1, 4, 5
"""Sources of a value as the protocol numbers them (KIP-226)."""

_FINER_FIRST = {
    "log.retention.ms": ("log.retention.minutes", "log.retention.hours"),
    "log.roll.ms": ("log.roll.hours",),
}
"""Settings that count in the place of one that is not given."""


def given_synonym(settings: Settings, name: str) -> str | None:
    """The broker setting, given at start, that a topic's setting has its default from; None: it is Kafka's."""
    synonym = TOPIC_CONFIGS[name].synonym
    if synonym is None:
        return None
    return next((each for each in (synonym, *_FINER_FIRST.get(synonym, ())) if each in settings.given), None)


def source_of(settings: Settings, topic: Topic, name: str) -> int:
    """Where the value of a topic's setting comes from."""
    if name in topic.configs:
        return DYNAMIC_TOPIC_CONFIG
    return DEFAULT_CONFIG if given_synonym(settings, name) is None else STATIC_BROKER_CONFIG
