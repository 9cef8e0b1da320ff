"""Creation of the parts of a cluster that depend on settings: coordinators and authorization."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.broker.cluster.topic_view import ClusterTopics
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.coordinator_settings import GroupSettings
from kohort.coordinator.transactions.transaction_coordinator import TransactionCoordinator
from kohort.coordinator.transactions.transaction_settings import TransactionSettings
from kohort.protocol.releases import HEARTBEATS_NEED_SYNC, OFFSET_VALUES, USUAL_OFFSET_VALUE, rules_of

if TYPE_CHECKING:
    from kohort.broker.cluster.access import Access
    from kohort.broker.cluster.group_events import GroupEvents
    from kohort.broker.cluster.offsets_topic import OffsetsTopic
    from kohort.broker.cluster.shared_state import SharedState
    from kohort.broker.settings.broker_settings import Settings
    from kohort.coordinator.effects import Effect


def new_group_coordinator(state: SharedState) -> GroupCoordinator:
    """Create a coordinator without partitions. It assigns the existing topics, with the settings of the group."""
    settings = state.settings
    coordinator = GroupCoordinator(
        group_settings(settings),
        state.purgatory,
        lambda: str(state.new_uuid()),
        partitions=settings.offsets_topic_num_partitions,
        epoch_ms=state.clock.epoch_ms,
    )
    coordinator.topics = ClusterTopics(state.topics, settings.broker_rack)
    coordinator.configs = state.group_configs.of_types
    if settings.group_streams_topology_description_plugin_class:
        # Only brokers with the setting import it. Like in Kafka, each broker has descriptions of its own.
        from kohort.coordinator.streams.topology_descriptions import InMemoryDescriptions, TopologyDescriptions

        coordinator.topology_descriptions = TopologyDescriptions(InMemoryDescriptions())
    return coordinator


def new_transaction_coordinator(state: SharedState, effects: list[Effect]) -> TransactionCoordinator:
    settings = state.settings
    return TransactionCoordinator(
        transaction_settings(settings),
        state.purgatory,
        lambda: state.topics.next_producer_id(),
        partitions=settings.transaction_state_log_num_partitions,
        epoch_ms=state.clock.epoch_ms,
        effects=effects,
    )


def new_access(state: SharedState, offsets_topic: OffsetsTopic, group_events: GroupEvents) -> Access:
    """Create the authorization with the stored ACLs. Its module is loaded only if required.

    Raises:
        DataDirectoryError: If an ACL is invalid.
    """
    from kohort.broker.cluster.access import Access, kept_acls

    return Access(state, offsets_topic, group_events, [] if state.directory is None else kept_acls(state.directory))


def group_settings(settings: Settings) -> GroupSettings:
    return GroupSettings(
        group_min_session_timeout_ms=settings.group_min_session_timeout_ms,
        group_max_session_timeout_ms=settings.group_max_session_timeout_ms,
        group_initial_rebalance_delay_ms=settings.group_initial_rebalance_delay_ms,
        group_max_size=settings.group_max_size,
        heartbeats_need_sync=settings.kohort_as_kafka in HEARTBEATS_NEED_SYNC,
        rules=rules_of(settings.kohort_as_kafka),
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
        group_streams_max_size=settings.group_streams_max_size,
        group_coordinator_rebalance_protocols=settings.group_coordinator_rebalance_protocols,
    )


def transaction_settings(settings: Settings) -> TransactionSettings:
    return TransactionSettings(**{name: getattr(settings, name) for name in TransactionSettings._fields})
