"""The settings that a conversation may ask for: `# profile: …`. Everything not listed is Kafka's default."""

from typing import NamedTuple


class Profile(NamedTuple):
    """Settings of a conversation's broker."""

    settings: dict[str, str]
    nodes: int = 1


QUICK = {"group.initial.rebalance.delay.ms": "0", "group.min.session.timeout.ms": "100"}

CONSUMER = QUICK | {
    "group.consumer.min.session.timeout.ms": "100",
    "group.consumer.min.heartbeat.interval.ms": "50",
    "group.consumer.assignment.interval.ms": "0",
}

GUARDED = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}

SHARE = QUICK | {
    "group.share.min.session.timeout.ms": "100",
    "group.share.min.heartbeat.interval.ms": "50",
    "group.share.assignment.interval.ms": "0",
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.record.lock.duration.ms": "2000",
    "group.share.delivery.count.limit": "3",
}

STREAMS = QUICK | {
    "group.streams.min.session.timeout.ms": "100",
    "group.streams.min.heartbeat.interval.ms": "50",
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.assignment.interval.ms": "0",
}

PROFILES = {
    "default": Profile(QUICK),
    "faithful": Profile({}),
    "initial-delay": Profile(QUICK | {"group.initial.rebalance.delay.ms": "1000"}),
    "max-size-2": Profile(QUICK | {"group.max.size": "2"}),
    "retention": Profile(
        QUICK | {"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "500"},
    ),
    "one-partition-offsets": Profile(QUICK | {"offsets.topic.num.partitions": "1"}),
    "no-auto-create": Profile(QUICK | {"auto.create.topics.enable": "false"}),
    "slow": Profile(QUICK),  # takes minutes where minutes are real
    "cold": Profile(QUICK),  # no client has connected to this broker yet
    "unreplicable": Profile({"offsets.topic.replication.factor": "3"}),
    "restart": Profile(CONSUMER | STREAMS),  # one at a time, where a broker is shared
    "three-brokers": Profile(QUICK, nodes=3),
    "consumer": Profile(CONSUMER),
    "consumer-range-first": Profile(CONSUMER | {"group.consumer.assignors": "range,uniform"}),
    "consumer-max-size-2": Profile(CONSUMER | {"group.consumer.max.size": "2", "group.max.size": "2"}),
    "consumer-guarded": Profile(CONSUMER | GUARDED),
    "consumer-off": Profile(CONSUMER | {"group.coordinator.rebalance.protocols": "classic"}),
    "migration-upgrade": Profile(CONSUMER | {"group.consumer.migration.policy": "upgrade"}),
    "migration-downgrade": Profile(CONSUMER | {"group.consumer.migration.policy": "downgrade"}),
    "share": Profile(SHARE),
    "share-restart": Profile(SHARE),  # one at a time, where a broker is shared
    "share-max-size-2": Profile(SHARE | {"group.share.max.size": "2", "group.share.max.share.sessions": "2"}),
    "share-snapshots": Profile(SHARE | {"share.coordinator.snapshot.update.records.per.snapshot": "2"}),
    "share-stateless": Profile(SHARE | {"share.coordinator.state.topic.replication.factor": "3"}),
    "share-three-brokers": Profile(SHARE, nodes=3),
    "share-off": Profile(QUICK | {"group.share.assignment.interval.ms": "0"}),
    "streams": Profile(STREAMS),
    "streams-initial-delay": Profile(STREAMS | {"group.streams.initial.rebalance.delay.ms": "1000"}),
    "streams-max-size-2": Profile(STREAMS | {"group.streams.max.size": "2"}),
    "streams-off": Profile(QUICK | {"group.coordinator.rebalance.protocols": "classic,consumer"}),
    "migration-disabled": Profile(CONSUMER | {"group.consumer.migration.policy": "disabled"}),
}
