"""Which settings of a broker Kafka 4.3 can change while it runs. Here none is changed; a dry run hears so.

Source: the lists in Kafka's `DynamicBrokerConfig`.
"""

from kohort.broker.settings.broker_settings import SETTINGS
from kohort.broker.settings.unsupported import FOREIGN
from kohort.storage.topic_configs import TOPIC_CONFIGS

_DYNAMIC = frozenset(
    [
        *(config.synonym for config in TOPIC_CONFIGS.values()),
        "advertised.listeners",
        "background.threads",
        "follower.replication.throttled.rate",
        "leader.replication.throttled.rate",
        "listener.security.protocol.map",
        "listeners",
        "log.cleaner.backoff.ms",
        "log.cleaner.dedupe.buffer.size",
        "log.cleaner.io.buffer.load.factor",
        "log.cleaner.io.buffer.size",
        "log.cleaner.io.max.bytes.per.second",
        "log.cleaner.threads",
        "max.connection.creation.rate",
        "max.connections",
        "max.connections.per.ip",
        "max.connections.per.ip.overrides",
        "metric.reporters",
        "num.io.threads",
        "num.network.threads",
        "num.recovery.threads.per.data.dir",
        "num.replica.fetchers",
        "producer.id.expiration.ms",
        "transaction.partition.verification.enable",
        "unclean.leader.election.enable",
    ]
)


def is_fixed(name: str) -> bool:
    """Whether it is a setting of Kafka's that needs a restart there."""
    return name not in _DYNAMIC and (name in SETTINGS or name in FOREIGN)


def is_known(name: str) -> bool:
    """Whether Kafka has a setting of that name for brokers."""
    return (name in SETTINGS and not name.startswith("kohort.")) or name in FOREIGN or name in _DYNAMIC
