"""One node of the cluster: its id, its port, its group coordinator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.broker.ticket import Ticket
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.settings import GroupSettings

if TYPE_CHECKING:
    from kohort.broker.cluster import Cluster


class Node:
    """A broker of the cluster. Nodes share everything but their coordinator and their port."""

    __slots__ = ("cluster", "coordinator", "id", "port")

    def __init__(self, cluster: Cluster, node_id: int) -> None:
        self.id = node_id
        self.cluster = cluster
        self.port = 0
        """Where it listens; known once it does."""
        settings = cluster.settings
        self.coordinator = GroupCoordinator(
            GroupSettings(
                group_min_session_timeout_ms=settings.group_min_session_timeout_ms,
                group_max_session_timeout_ms=settings.group_max_session_timeout_ms,
                group_initial_rebalance_delay_ms=settings.group_initial_rebalance_delay_ms,
                group_max_size=settings.group_max_size,
                offset_metadata_max_bytes=settings.offset_metadata_max_bytes,
                offsets_retention_ms=settings.offsets_retention_minutes * 60_000,
                offsets_retention_check_interval_ms=settings.offsets_retention_check_interval_ms,
            ),
            cluster.purgatory,
            lambda: str(cluster.new_uuid()),
            partitions=settings.offsets_topic_num_partitions,
            epoch_ms=cluster.clock.epoch_ms,
        )

    def address_for(self, ticket: Ticket) -> tuple[str, int]:
        """Host and port under which the client that holds `ticket` reaches this node.

        The host is the one the client dialled, unless `--advertise` names another: whoever reached one node reaches
        the others in the same way.
        """
        return self.cluster.advertise or ticket.listener[0], self.port
