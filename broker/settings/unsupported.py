"""Kafka's other broker settings, which have no effect here. Loaded only for a name that is not in `Settings`.

They are accepted, so that a server.properties of Kafka works for kohort, and the log reports that they have no effect.
In such a file Kafka ignores unknown names, and so does kohort, with a warning.
(Those of the newer group protocols are defaults and limits of groups' settings; see group_configs.py.)
"""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple, NoReturn

from kohort.broker.settings.group_configs import BROKER_SETTINGS
from kohort.broker.settings.kafkas_defaults import described
from kohort.broker.settings.setting import Setting, SettingError, integer

# settings that Kafka reads but does not describe, and former ones
_UNDESCRIBED = (
    "controlled.shutdown.max.retries",
    "controlled.shutdown.retry.backoff.ms",
    "controller.performance.always.log.threshold.ms",
    "controller.performance.sample.period.ms",
    "group.consumer.assignor.offload.enable",
    "group.streams.assignor.offload.enable",
    "leader.imbalance.per.broker.percentage",
    "log.initial.task.delay.ms",
    "metadata.log.segment.min.bytes",
    "producer.id.expiration.check.interval.ms",
    "remote.log.manager.task.retry.backoff.max.ms",
    "remote.log.manager.task.retry.backoff.ms",
    "remote.log.manager.task.retry.jitter",
    "sasl.oauthbearer.header.urlencode",
    "server.max.startup.time.ms",
    "unclean.leader.election.interval.ms",
    "unstable.api.versions.enable",
    "unstable.feature.versions.enable",
)

# As of Kafka 4.4: replication, tiered storage, KRaft, quotas, security, and future group protocols.
FOREIGN = frozenset([*_UNDESCRIBED, *described()])

# families whose names contain parts chosen by the user
_PREFIXES = (
    "listener.name.",
    "config.providers.",
    "ssl.",
    "sasl.",
    "rsm.config.",
    "rlmm.config.",
    "principal.builder.",
)


# Settings of releases before 4 and their replacements, empty without one.
_REMOVED = {
    "advertised.host.name": "advertised.listeners",
    "advertised.port": "advertised.listeners",
    "broker.id.generation.enable": "",
    "control.plane.listener.name": "",
    "delegation.token.master.key": "delegation.token.secret.key",
    "group.coordinator.new.enable": "group.coordinator.rebalance.protocols",
    "host.name": "listeners",
    "inter.broker.protocol.version": "",
    "log.message.downconversion.enable": "",
    "log.message.format.version": "",
    "log.message.timestamp.difference.max.ms": (
        "log.message.timestamp.before.max.ms and log.message.timestamp.after.max.ms"
    ),
    "offsets.commit.required.acks": "",
    "port": "listeners",
    "quota.consumer.default": "",
    "quota.producer.default": "",
    "reserved.broker.max.id": "",
}

_REMOVED_FAMILIES = ("zookeeper.", "password.encoder.")

# options that do what an ignored setting does in Kafka
_OPTIONS = {"log.dir": "--data-dir", "log.dirs": "--data-dir"}


class PassedOver(NamedTuple):
    """A name in a file that no supported release of Kafka knows."""

    sentence: str
    is_slip: bool  # whether the name is so similar to one of Kafka's that it is a typo


def is_brokers(name: str) -> bool:
    """Return whether a broker has such a setting in Kafka 4.4 or had it in an older release."""
    return name in FOREIGN or name.startswith((*_PREFIXES, *_REMOVED_FAMILIES)) or name in _REMOVED


def ignored(name: str) -> str:
    """Return the log line for a setting of Kafka that has no effect."""
    option = _OPTIONS.get(name)
    return f"{name} has no effect in kohort" + (f"; use the option {option}" if option else "")


def is_foreign(name: str, value: str) -> bool:
    """Return whether Kafka has a setting with that name.

    Raises:
        SettingError: The value is not an integer although the setting is a default or limit of groups' settings.
    """
    if name not in FOREIGN and not name.startswith(_PREFIXES):
        return False
    if name in BROKER_SETTINGS:
        number = integer(BROKER_SETTINGS[name], "")
        number.name = name
        number.read(value)
    return True


def passed_over(name: str, settings: Mapping[str, Setting[Any]]) -> PassedOver:
    """Return the warning for a name in a file that Kafka does not have, or no longer has."""
    if name in _REMOVED or name.startswith(_REMOVED_FAMILIES):
        instead = _REMOVED.get(name)
        advice = f"; use {instead}" if instead else ""
        return PassedOver(f"{name} is ignored: removed in Kafka 4{advice}", False)
    matches = get_close_matches(name, [*settings, *FOREIGN], 1, A_SLIP)
    if matches:
        return PassedOver(f"{name} is ignored: unknown setting; did you mean {matches[0]}?", True)
    return PassedOver(f"{name} is ignored: unknown setting", False)


A_SLIP = 0.9  # Similarity of a typo. In a file with a user's own names, the default of 0.6 finds too many.


def refuse(name: str, settings: Mapping[str, Setting[Any]]) -> NoReturn:
    """Raise SettingError for a name that Kafka does not have either, with a suggestion."""
    matches = get_close_matches(name, [*settings, *FOREIGN], 1)
    if not matches:
        raise SettingError(f"unknown setting {name}; `kohort settings` lists all settings")
    hint = f", {settings[matches[0]].values.allowed}" if matches[0] in settings else ""
    raise SettingError(f"unknown setting {name}; did you mean {matches[0]}{hint}?")
