"""Kafka's other broker settings: real names, without meaning here. Loaded only for a name that is none of ours.

They are accepted, so that a server.properties that serves a Kafka serves kohort too; the log says that they do nothing.
In such a file Kafka passes over what it does not know, and so does kohort, with a warning.
(Those of the newer group protocols are defaults of groups' settings, and limit them; see group_configs.py.)
"""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple, NoReturn

from kohort.broker.settings.group_configs import BROKER_SETTINGS
from kohort.broker.settings.kafkas_defaults import described
from kohort.broker.settings.setting import Setting, SettingError, integer

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
"""What Kafka reads and tells nobody of, and what it read once."""

FOREIGN = frozenset([*_UNDESCRIBED, *described()])
"""As of Kafka 4.3: replication, tiered storage, KRaft, quotas, security, and the group protocols to come."""

_PREFIXES = (
    "listener.name.",
    "config.providers.",
    "ssl.",
    "sasl.",
    "rsm.config.",
    "rlmm.config.",
    "principal.builder.",
)
"""Families whose names hold parts that a user makes up."""


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
"""What releases before 4 had, and what stands in its place now; empty: nothing."""

_REMOVED_FAMILIES = ("zookeeper.", "password.encoder.")


class PassedOver(NamedTuple):
    """A name in a file that Kafka 4.3 does not know."""

    sentence: str
    is_slip: bool
    """Whether it is so near to one that Kafka knows that this one was meant."""


def is_brokers(name: str) -> bool:
    """Return whether a broker has such a setting in Kafka 4.3 or had it in an older release."""
    return name in FOREIGN or name.startswith((*_PREFIXES, *_REMOVED_FAMILIES)) or name in _REMOVED


def is_foreign(name: str, value: str) -> bool:
    """Whether Kafka has a setting of that name. Raises SettingError for a value that is no number where groups'
    settings have their defaults and limits from it."""
    if name not in FOREIGN and not name.startswith(_PREFIXES):
        return False
    if name in BROKER_SETTINGS:
        number = integer(BROKER_SETTINGS[name], "")
        number.name = name
        number.read(value)
    return True


def passed_over(name: str, known: Mapping[str, Setting[Any]]) -> PassedOver:
    """What is said of a name in a file that Kafka does not have, or has not any more."""
    if name in _REMOVED or name.startswith(_REMOVED_FAMILIES):
        instead = _REMOVED.get(name)
        advice = f"; use {instead}" if instead else ""
        return PassedOver(f"{name} is passed over: Kafka 4 has it no more{advice}", False)
    near = get_close_matches(name, [*known, *FOREIGN], 1, _A_SLIP)
    if near:
        return PassedOver(f"{name} is passed over: there is no such setting; did you mean {near[0]}?", True)
    return PassedOver(f"{name} is passed over: Kafka has no such setting", False)


_A_SLIP = 0.9
"""How alike two names are that differ by a slip. In a file whose other names are somebody's own the usual 0.6 finds too
many."""


def refuse(name: str, known: Mapping[str, Setting[Any]]) -> NoReturn:
    """Raises SettingError for a name that Kafka does not have either, with the one that was probably meant."""
    near = get_close_matches(name, [*known, *FOREIGN], 1)
    if not near:
        raise SettingError(f"there is no setting {name}; `kohort settings` lists those there are")
    hint = f", {known[near[0]].values.allowed}" if near[0] in known else ""
    raise SettingError(f"there is no setting {name}; did you mean {near[0]}{hint}?")
