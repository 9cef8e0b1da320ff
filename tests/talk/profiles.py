"""The settings that a conversation may ask for: `# profile: …`. Everything not listed is Kafka's default."""

from collections.abc import Callable
from typing import NamedTuple

from kohort.broker.cluster.broker_cluster import BrokerCluster
from kohort.broker.settings.broker_settings import IN_MEMORY_PLUGIN
from kohort.coordinator.streams.topology_descriptions import (
    DescriptionError,
    InMemoryDescriptions,
    TopologyDescriptions,
)
from kohort.protocol.messages.streams_group_topology_description_update import TopologyDescription


class Profile(NamedTuple):
    """Settings of a conversation's broker."""

    settings: dict[str, str]
    nodes: int = 1
    settings_4_4: dict[str, str] = {}  # noqa: RUF012  # further settings with Kafka 4.4; never changed
    prepare: Callable[[BrokerCluster], None] | None = None  # changes a new cluster before it serves requests


class FailingDescriptions(InMemoryDescriptions):
    """Plugin that fails for nodes named `permanent` and `transient`, and to delete groups named `group2…`."""

    def store(self, group_id: str, topology_epoch: int, description: TopologyDescription) -> None:
        names = {node.name for subtopology in description.subtopologies for node in subtopology.nodes}
        if "permanent" in names:
            raise DescriptionError("no room", is_permanent=True)
        if "transient" in names:
            raise DescriptionError("busy")
        super().store(group_id, topology_epoch, description)

    def delete(self, group_id: str) -> None:
        if group_id.startswith("group2"):
            raise DescriptionError("stuck")
        super().delete(group_id)


def _use_failing_descriptions(cluster: BrokerCluster) -> None:
    for coordinator in cluster.coordinators:
        coordinator.topology_descriptions = TopologyDescriptions(FailingDescriptions())


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
    "share-dead-letters": Profile(SHARE, settings_4_4={"errors.deadletterqueue.auto.create.topics.enable": "true"}),
    "share-off": Profile(QUICK | {"group.share.assignment.interval.ms": "0"}),
    "streams": Profile(STREAMS),
    "streams-initial-delay": Profile(STREAMS | {"group.streams.initial.rebalance.delay.ms": "1000"}),
    "streams-max-size-2": Profile(STREAMS | {"group.streams.max.size": "2"}),
    "streams-described": Profile(
        STREAMS, settings_4_4={"group.streams.topology.description.plugin.class": IN_MEMORY_PLUGIN}
    ),
    "streams-described-badly": Profile(STREAMS, prepare=_use_failing_descriptions),
    "streams-off": Profile(QUICK | {"group.coordinator.rebalance.protocols": "classic,consumer"}),
    "migration-disabled": Profile(CONSUMER | {"group.consumer.migration.policy": "disabled"}),
}
