"""Broker settings as defaults of topics' settings, and the source of a topic's values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.broker.settings.broker_settings import SETTINGS
from kohort.storage.topic_configs import TOPIC_CONFIGS, usual_values

if TYPE_CHECKING:
    from kohort.broker.settings.broker_settings import Settings
    from kohort.storage.topic import Topic

# Sources of a value in the protocol (KIP-226).
DYNAMIC_TOPIC_CONFIG, DYNAMIC_DEFAULT_BROKER_CONFIG, STATIC_BROKER_CONFIG, DEFAULT_CONFIG = 1, 3, 4, 5


# A new Kafka cluster sets it for all brokers, to its value at the start, for eligible leader replicas (KIP-966).
SET_FOR_ALL_BROKERS = "min.insync.replicas"

# Settings that are used if one is not set.
FINER_FIRST = {
    "log.retention.ms": ("log.retention.minutes", "log.retention.hours"),
    "log.roll.ms": ("log.roll.hours",),
    "log.roll.jitter.ms": ("log.roll.jitter.hours",),
}

_MS = {"ms": 1, "minutes": 60_000, "hours": 3_600_000}


def topic_defaults(settings: Settings) -> dict[str, str]:
    """Return the defaults of topics' settings as text, by their names for topics."""
    defaults = usual_values(settings.kohort_as_kafka)
    for name in defaults:
        synonym = TOPIC_CONFIGS[name].synonym
        value = None if synonym is None else _value(settings, synonym)
        if value is not None:
            defaults[name] = value
    return defaults


def _value(settings: Settings, name: str) -> str | None:
    for candidate in (name, *FINER_FIRST.get(name, ())):
        setting = SETTINGS.get(candidate)
        value = None if setting is None else getattr(settings, candidate.replace(".", "_"))
        if setting is not None and value is not None:
            return (
                str(max(value, -1) * _MS[candidate.rsplit(".", 1)[1]]) if name in FINER_FIRST else setting.show(value)
            )
    return None


def synonyms_of(name: str) -> tuple[str, ...]:
    """Return the broker settings that a topic setting is derived from."""
    synonym = TOPIC_CONFIGS[name].synonym
    return () if synonym is None else (synonym, *FINER_FIRST.get(synonym, ()))


def units_of(name: str) -> tuple[str, ...]:
    """Return a broker setting and those for the same in other units, the finest first."""
    for finest, coarser in FINER_FIRST.items():
        if name == finest or name in coarser:
            return finest, *coarser
    return (name,)


def source_of(settings: Settings, topic: Topic, name: str) -> int:
    if name in topic.configs:
        return DYNAMIC_TOPIC_CONFIG
    if name == SET_FOR_ALL_BROKERS:
        return DYNAMIC_DEFAULT_BROKER_CONFIG
    return DEFAULT_CONFIG if settings.explicit.keys().isdisjoint(synonyms_of(name)) else STATIC_BROKER_CONFIG
