"""Kafka's other broker settings: real names, without meaning here. Loaded only for a name that is none of ours.

They are accepted, so that a server.properties that serves a Kafka serves kohort too; the log says that they do nothing.
(Those of the newer group protocols are defaults of groups' settings, and limit them; see group_configs.py.)
"""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from kohort.broker.settings.group_configs import BROKER_SETTINGS
from kohort.broker.settings.kafkas_defaults import described
from kohort.broker.settings.setting import Setting, SettingError, integer

_UNDESCRIBED = (
    "controlled.shutdown.max.retries",
    "controlled.shutdown.retry.backoff.ms",
    "controller.performance.always.log.threshold.ms",
    "controller.performance.sample.period.ms",
    "group.consumer.assignor.offload.enable",
    "group.share.initialize.retry.interval.ms",
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
    "share.coordinator.cold.partition.snapshot.interval.ms",
    "unclean.leader.election.interval.ms",
    "unstable.api.versions.enable",
    "unstable.feature.versions.enable",
)
"""What Kafka reads and tells nobody of, and what it read once."""

FOREIGN = frozenset([*_UNDESCRIBED, *described()])
"""As of Kafka 4.3: replication, tiered storage, KRaft, quotas, security, and the group protocols to come."""

_PREFIXES = ("listener.name.", "ssl.", "sasl.", "rsm.config.", "rlmm.config.", "principal.builder.")
"""Families whose names hold parts that a user makes up."""


def refuse_unless_foreign(name: str, value: str, known: Mapping[str, Setting[Any]]) -> None:
    """Raises SettingError for a name that Kafka does not have either, with the one that was probably meant.

    And for a value that is no number where groups' settings have their defaults and limits from it.
    """
    if name in FOREIGN or name.startswith(_PREFIXES):
        if name in BROKER_SETTINGS:
            number = integer(BROKER_SETTINGS[name], "")
            number.name = name
            number.read(value)
        return
    near = get_close_matches(name, [*known, *FOREIGN], 1)
    if not near:
        raise SettingError(f"there is no setting {name}; `kohort settings` lists those there are")
    hint = f", {known[near[0]].values.allowed}" if near[0] in known else ""
    raise SettingError(f"there is no setting {name}; did you mean {near[0]}{hint}?")
