"""The parts of a cluster, made from its settings and joined: nodes with their coordinators, topics, repeated chores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.broker.cluster.node import Node
from kohort.broker.cluster.topic_view import ClusterTopics
from kohort.broker.logs import log
from kohort.broker.settings.topic_defaults import topic_defaults
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.coordinator_settings import GroupSettings
from kohort.coordinator.deleting import Sweep
from kohort.coordinator.transactions.expiring import AbortTimedOut, RemoveExpired
from kohort.coordinator.transactions.transaction_coordinator import TransactionCoordinator
from kohort.coordinator.transactions.transaction_settings import TransactionSettings
from kohort.protocol.releases import HEARTBEATS_NEED_SYNC, OFFSET_VALUES, USUAL_OFFSET_VALUE
from kohort.purgatory import DelayedOperation
from kohort.storage.topics import Topics

if TYPE_CHECKING:
    from kohort.broker.cluster.access import Access
    from kohort.broker.cluster.broker_cluster import BrokerCluster
    from kohort.broker.settings.broker_settings import Settings
    from kohort.storage.disk.directory import DataDirectory


def new_node(cluster: BrokerCluster, node_id: int) -> Node:
    """A node with its two coordinators, which get their partitions later."""
    settings = cluster.settings
    coordinator = GroupCoordinator(
        group_settings(settings),
        cluster.purgatory,
        lambda: str(cluster.new_uuid()),
        partitions=settings.offsets_topic_num_partitions,
        epoch_ms=cluster.clock.epoch_ms,
    )
    transactions = TransactionCoordinator(
        transaction_settings(settings),
        cluster.purgatory,
        lambda: cluster.topics.next_producer_id(),
        partitions=settings.transaction_state_log_num_partitions,
        epoch_ms=cluster.clock.epoch_ms,
        effects=coordinator.effects,
    )
    return Node(cluster, node_id, coordinator, transactions)


def new_topics(cluster: BrokerCluster) -> Topics:
    """No topics yet, with the defaults that the broker's settings give them."""
    settings = cluster.settings
    return Topics(
        [node.id for node in cluster.nodes],
        cluster.new_uuid,
        topic_defaults(settings),
        num_partitions=settings.num_partitions,
        replication_factor=settings.default_replication_factor,
        producer_expiration_ms=settings.producer_id_expiration_ms,
        retention_check_interval_ms=settings.log_retention_check_interval_ms,
        cleaner_backoff_ms=settings.log_cleaner_backoff_ms,
        storage=cluster.directory,
    )


def new_access(cluster: BrokerCluster, directory: DataDirectory | None) -> Access | None:
    """What decides what clients may do, with the ACLs that are kept. Its module is loaded only where it is wanted.

    Raises DataDirectoryError for an ACL that means nothing.
    """
    if not cluster.settings.authorizer_class_name:
        return None
    from kohort.broker.cluster.access import Access, kept_acls

    return Access(cluster, [] if directory is None else kept_acls(directory))


def show_coordinators_topics(cluster: BrokerCluster) -> None:
    """Coordinators of consumer and share groups assign what is there, with the settings of the group."""
    topics = ClusterTopics(cluster.topics, cluster.settings.broker_rack)
    for coordinator in cluster.coordinators:
        coordinator.topics = topics
        coordinator.consumer_config = cluster.group_configs.consumer_config
        coordinator.share_config = cluster.group_configs.share_config
        coordinator.share_persister = lambda: cluster.share_persister


def start_sweeps(cluster: BrokerCluster, now_ms: int) -> None:
    """From now on coordinators drop what has expired."""
    for coordinator in cluster.coordinators:
        cluster.purgatory.wait(Sweep(coordinator, now_ms))
    for node in cluster.nodes:
        cluster.purgatory.wait(AbortTimedOut(node.transactions, now_ms))
        cluster.purgatory.wait(RemoveExpired(node.transactions, now_ms))


def start_upkeep(cluster: BrokerCluster, now_ms: int) -> None:
    """From now on logs drop what is old, and are compacted."""
    upkeep = _Upkeep(cluster)
    cluster.housekeeping.append(upkeep)
    upkeep.wait(now_ms)


class _Upkeep(DelayedOperation):
    """Lets the topics drop what is old and compact what is to be compacted, now and then, for as long as they live."""

    __slots__ = ("_cluster",)

    def __init__(self, cluster: BrokerCluster) -> None:
        super().__init__(0)
        self._cluster = cluster

    def wait(self, now_ms: int) -> None:
        # At least a millisecond, even when there is more to do at once: requests come between. Counted from now: what
        # is due before the clock's time runs in this same turn, and steps longer than the pause would pile up.
        pause_ms = max(self._maintain(now_ms), 1)
        self.deadline_ms = self._cluster.clock.now_ms() + pause_ms
        self.completed = False
        self._cluster.purgatory.wait(self)

    def _maintain(self, now_ms: int) -> int:
        cluster = self._cluster
        try:
            return cluster.topics.maintain(now_ms + cluster.clock.epoch_ms)
        except OSError as problem:
            cluster.storage_failed("making room in logs", problem)
        except Exception:  # other logs are to be looked after all the same
            log.error("making room in logs failed")
        return cluster.settings.log_cleaner_backoff_ms

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        self.wait(now_ms)


def group_settings(settings: Settings) -> GroupSettings:
    """The broker's settings that the group coordinators need."""
    return GroupSettings(
        group_min_session_timeout_ms=settings.group_min_session_timeout_ms,
        group_max_session_timeout_ms=settings.group_max_session_timeout_ms,
        group_initial_rebalance_delay_ms=settings.group_initial_rebalance_delay_ms,
        group_max_size=settings.group_max_size,
        heartbeats_need_sync=settings.kohort_as_kafka in HEARTBEATS_NEED_SYNC,
        offset_metadata_max_bytes=settings.offset_metadata_max_bytes,
        offset_value_version=OFFSET_VALUES.get(settings.kohort_as_kafka, USUAL_OFFSET_VALUE),
        offsets_retention_ms=settings.offsets_retention_minutes * 60_000,
        offsets_retention_check_interval_ms=settings.offsets_retention_check_interval_ms,
        group_consumer_max_size=settings.group_consumer_max_size,
        group_consumer_assignors=settings.group_consumer_assignors,
        group_consumer_migration_policy=settings.group_consumer_migration_policy,
        group_consumer_regex_refresh_interval_ms=settings.group_consumer_regex_refresh_interval_ms,
        group_share_max_size=settings.group_share_max_size,
        group_share_initialize_retry_interval_ms=settings.group_share_initialize_retry_interval_ms,
        group_coordinator_rebalance_protocols=settings.group_coordinator_rebalance_protocols,
    )


def transaction_settings(settings: Settings) -> TransactionSettings:
    """The broker's settings that the transaction coordinators need."""
    return TransactionSettings(**{name: getattr(settings, name) for name in TransactionSettings._fields})
